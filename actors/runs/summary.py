"""The summary of a run, which is `summary.json`, and the parts of its configuration that had no effect."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any, Final, NamedTuple

import msgspec

from actors.core.phase import DONE, DONE_WITH_FALLBACKS
from actors.core.snapshot import Exchange
from actors.factory.domains import no_effect_of
from actors.factory.oracle_backends import calibration_label
from actors.runtime.simulation import Simulation
from actors.store.course import Step
from prism.agents import DECIDED, FALLBACKS, MOVED
from prism.answers import run_in_words
from prism.config import InterventionConfig
from prism.config.interventions import PLACE as INTERVENTIONS
from prism.config.interventions import planned
from prism.domain import Domain, said_by
from prism.llm import ModelOracle, OracleStatistics
from prism.llm.spending import statistics_of
from prism.no_effect import TIMEOUT, NoEffect, NotAsConfigured, remarks
from prism.quoting import as_text
from prism.sharing.audit import SharingSummary
from prism.social.measures import unlike_configured
from prism.statechart import Behaviour, RowDefinition, Statechart
from prism.statechart.outline import inner_states, outline
from prism.wording import counted

STOPPED = "stopped"


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a run.

    All follows from config, seed and answers, except for `stopped_by`, `resumes`, `ticks_replayed`, `shards`,
    `latency_s_*` and `wall_*`.

    Args:
        in_words: the outcome and its limits, a sentence each; empty for a domain without its own words.
        digest: the run's digest, 32 hexadecimal digits; equal digests mean equal runs.
        status: `done`; `done_with_fallbacks` if some choices were made without the oracle; or `stopped` before the
            last tick, as `stopped_by` says.
        activations: triggers answered by agents.
        oracle_questions: ambiguous choices. Some came from a tape, or were not asked.
        oracle_calls: calls to the oracle, those made again after a failure included.
        decisions_by_source: transitions by what decided them: rule, oracle, llm, fallback, timeout.
        decisions_by_method: the oracle's own decisions by how they were found: embedded, json, logprobs,
            systemone.
        unmoved_by_source: turns without a transition, by the reason.
        oracle_retries: times that a question was asked again, because a call failed; `retries_by_reason`: why.
        fallback_share: share of the oracle's decisions that are fallbacks or timeouts; 0 to 1.
        guard_errors: `{row: times its guard raised}`.
        interventions: those that were carried out, and the reactions to their posts.
        not_as_configured: settings that did not become true, and guards that raised errors.
        no_effect: states, rows, delays, attributes, measures and interventions that had no effect.
        llm: statistics of the language model, in this run or, from a tape, in the recorded one; None without a model.
            They are of the whole run, except the percentiles of latencies, which are of its last process.
        sharing: the judgements that questions have shared; None without `oracle.sharing.by`.
        latency_s_p50: from a question's arrival at the oracle to its answer; `latency_s_p95`: the same.
        wall_s: the time that the last process of the run took; `wall_activations`: activations in its new ticks.
        resumes: times that the run was resumed.
        ticks_replayed: ticks that the last process did again, because they were in the journal but in no checkpoint.
        shards: the work and the exchange of the shards in the last process of the run; None without `run.shards`.
        world: the domain's own entries, such as posts and cascades; `summary.json` has them beside the other keys.
    """

    in_words: list[str]
    digest: str
    status: str
    stopped_by: str | None
    seed: int
    agents: int
    ticks: int
    rounds: int
    activations: int
    transitions: int
    agents_by_state: dict[str, int]
    states_visited: list[str]
    transitions_by_trigger: dict[str, int]
    decisions_by_source: dict[str, int]
    decisions_by_method: dict[str, int]
    unmoved_by_source: dict[str, int]
    oracle_questions: int
    oracle_calls: int
    oracle_calls_per_1000_activations: float
    oracle_retries: int
    retries_by_reason: dict[str, int]
    fallback_share: float
    fallbacks_by_reason: dict[str, int]
    crashes: int
    agents_quarantined: int
    guard_errors: dict[str, int]
    interventions: list[DoneIntervention]
    not_as_configured: list[NotAsConfigured]
    no_effect: list[NoEffect]
    sharing: SharingSummary | None
    latency_s_p50: float
    latency_s_p95: float
    llm: OracleStatistics | None
    wall_s: float
    wall_activations: int
    resumes: int
    ticks_replayed: int
    shards: Exchange | None
    world: dict[str, Any]

    @property
    def is_done(self) -> bool:
        return self.status != STOPPED

    @property
    def remarks(self) -> list[str]:
        return remarks(msgspec.to_builtins({name: getattr(self, name) for name in ("not_as_configured", "no_effect")}))

    @property
    def fallbacks(self) -> int:
        return sum(self.fallbacks_by_reason.values())

    def to_json(self) -> bytes:
        fields = msgspec.to_builtins(self)
        world = fields.pop("world")
        return msgspec.json.format(msgspec.json.encode({**fields, **world}), indent=2) + b"\n"

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> Summary:
        """Return the summary that `summary.json` holds.

        Raises:
            msgspec.ValidationError: a field is missing, or not as this version writes it.
        """
        own = {name: value for name, value in fields.items() if name in cls.__struct_fields__}
        world = {name: value for name, value in fields.items() if name not in own}
        return msgspec.convert({**own, "world": world}, cls)


def summarise(simulation: Simulation, wall_s: float, stopped_by: str | None = None, *, resumes: int = 0) -> Summary:
    """Return the summary of a simulation that has ended. `wall_s`: the time that this process took."""
    counters, oracle, ticks = simulation.counters, simulation.oracle.statistics, simulation.engine.tick
    config, domain, model = simulation.config, simulation.domain, simulation.oracle.oracle
    decisions, world = counters.decisions_by_source(), domain.world.totals()
    asked = sum(count for source, count in decisions.items() if source in DECIDED)
    fallback_share = _ratio(sum(count for source, count in decisions.items() if source in FALLBACKS), asked)
    rounds, beyond = divmod(ticks, config.simulation.ticks_per_round)
    in_words = run_in_words(
        world,
        agents=domain.size,
        rounds=rounds,
        ticks_beyond=beyond,
        simulated_s=ticks * config.simulation.tick_seconds,
        calibration=calibration_label(config),
        fallbacks=fallback_share,
        own=_own_words(domain, rounds),
    )
    interventions = interventions_done(simulation)
    llm = None
    if isinstance(model, ModelOracle):
        llm = statistics_of(oracle.spent, oracle.call_latencies, config.llm.prices)
    fallbacks = oracle.fallbacks + Counter(late=simulation.engine.open_questions.late)
    return Summary(
        digest=simulation.engine.digest.hexdigest(),
        status=(DONE_WITH_FALLBACKS if fallbacks else DONE) if ticks == simulation.ticks else STOPPED,
        stopped_by=stopped_by,
        seed=config.simulation.seed,
        agents=domain.size,
        ticks=ticks,
        rounds=rounds,
        activations=counters.activations,
        transitions=counters.transitions,
        agents_by_state=counters.agents_by_state(),
        states_visited=counters.states_visited(),
        transitions_by_trigger=counters.transitions_by_trigger(),
        decisions_by_source=decisions,
        decisions_by_method=dict(sorted(oracle.methods.items())),
        unmoved_by_source=counters.unmoved_by_source(),
        oracle_questions=counters.questions,
        oracle_calls=oracle.calls,
        oracle_calls_per_1000_activations=_ratio(1000 * oracle.calls, counters.activations),
        oracle_retries=sum(oracle.retries.values()),
        retries_by_reason=dict(sorted(oracle.retries.items())),
        fallbacks_by_reason=dict(sorted(fallbacks.items())),
        crashes=simulation.supervisor.crashes,
        agents_quarantined=simulation.supervisor.quarantined,
        guard_errors=simulation.guard_errors(),
        not_as_configured=[*_unlike_configured(simulation)],
        interventions=interventions,
        no_effect=no_effect_in(simulation, interventions),
        sharing=None if (shared := simulation.oracle.sharing) is None else shared.summary(simulation.oracle.statistics),
        in_words=in_words,
        fallback_share=fallback_share,
        world=world,
        latency_s_p50=oracle.latencies.percentile(0.50),
        latency_s_p95=oracle.latencies.percentile(0.95),
        llm=llm,
        wall_s=round(wall_s, 3),
        wall_activations=counters.activations - counters.activations_recorded,
        resumes=resumes,
        ticks_replayed=simulation.engine.ticks_replayed,
        shards=simulation.engine.exchange,
    )


def _unlike_configured(simulation: Simulation) -> Iterator[NotAsConfigured]:
    """Yield the settings that did not become true, the rows whose guard raised, and the agents that are out."""
    yield from unlike_configured(simulation.domain.world.totals())
    for note in said_by(simulation.domain).notes():
        place, _, message = note.partition(": ")
        yield NotAsConfigured(place=place, message=message or note)
    for row, count in simulation.guard_errors().items():
        yield NotAsConfigured(
            place=row, message=f"its guard raised {counted(count, 'error')}, each of which counted as false"
        )
    if out := simulation.supervisor.quarantined:
        agents = counted(out, "agent crashed too often and was", "agents crashed too often and were")
        yield NotAsConfigured(place="population", message=f"{agents} left out from then on")


def _ratio(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0


def _own_words(domain: Domain, rounds: int) -> str:
    """Return the domain's sentences about its run; may be empty. If the domain fails, the summary is still written."""
    try:
        return said_by(domain).in_words(rounds)
    except Exception as error:  # noqa: BLE001  # a user's own code, and the run is over
        return f"The domain could not say what happened: its in_words ended with {type(error).__name__}."


TEXT_MAX = 60  # the most characters of a post's text
NAMED_MAX = 4  # the most people, settings or indicators that are named


class DoneIntervention(msgspec.Struct, frozen=True, kw_only=True):
    """An intervention that was carried out."""

    tick: int  # the tick at whose beginning it happened
    round: int  # its round, from 1 on
    index: int  # its place in the configuration's list, from 0 on
    kind: str  # the kind of intervention, such as `publish`
    what: str  # its object, in words
    # likes of a published post, and replies to it and reshares of it; None for another intervention
    reactions: int | None = None


def interventions_done(simulation: Simulation) -> list[DoneIntervention]:
    config, engine = simulation.config, simulation.engine
    places = {id(each): index for index, each in enumerate(config.interventions)}
    length = config.simulation.ticks_per_round
    return [
        DoneIntervention(
            tick=tick,
            round=tick // length + 1,
            index=places[id(each)],
            kind=each.kind,
            what=what(each),
            reactions=engine.reactions.of(number) if each.publish is not None else None,
        )
        for number, (tick, each) in enumerate(planned(config.interventions, length))
        if tick < engine.tick
    ]


def what(each: InterventionConfig) -> str:
    """Return the object of an intervention, without its kind, in one line."""
    if each.publish is not None:
        text = " ".join((each.publish.text or f"post {each.publish.post} of the file").split())
        return f'by {each.publish.author}: "{text if len(text) <= TEXT_MAX else text[: TEXT_MAX - 3] + "..."}"'
    if each.set is not None:
        return _some([f"{path}={as_text(value)}" for path, value in each.set.items()])
    if each.shock is not None:
        return _some([f"{name} {points:+g}" for name, points in each.shock.items()])
    if each.silence is not None:
        until = "" if each.until_round is None else f" until round {each.until_round:,}"
        return _some([str(agent) for agent in each.silence]) + until
    ties = each.follow or each.unfollow or ()
    return counted(len(ties), "tie") if len(ties) > NAMED_MAX else _some([f"{one} to {other}" for one, other in ties])


def _some(texts: list[str]) -> str:
    more = len(texts) - NAMED_MAX
    return ", ".join(texts[:NAMED_MAX]) + (f" and {more:,} more" if more > 0 else "")


ROUNDS_MIN: Final = 2  # the fewest rounds of a run: in one, some rows are not due yet


def no_effect_in(simulation: Simulation, done: Sequence[DoneIntervention]) -> list[NoEffect]:
    found = [*no_effect_of(simulation.config, simulation.domain)]
    known = {each.place for each in found}
    if simulation.engine.tick // simulation.config.simulation.ticks_per_round >= ROUNDS_MIN:
        behaviour = getattr(simulation.domain, "behaviour", simulation.domain.chart)
        never = unused(behaviour, simulation.counters.rows, simulation.counters.states_visited(), known)
        found = [*(each for each in never if each.place not in known), *found]
    for each in done:
        place = f"{INTERVENTIONS}[{each.index}]"
        if each.reactions == 0 and place not in known:
            message = f"nobody liked, answered or reshared the post of tick {each.tick:,}"
            found.append(NoEffect(kind="intervention", place=place, message=message))
    return found


def unused(
    behaviour: Behaviour[Any] | Statechart[Any],
    rows: Mapping[tuple[str, str, str, str], int],
    visited: Sequence[str],
    known: Set[str],
) -> Iterator[NoEffect]:
    """Yield the states that nobody entered, and by state the rows that nobody took.

    `rows`: `{(from_state, to_state, trigger, source): updates}`; `known`: states of which something is told already, so
    that their rows are left out.
    """
    chart: Statechart[Any] = behaviour.chart if isinstance(behaviour, Behaviour) else behaviour
    waits = behaviour.delays if isinstance(behaviour, Behaviour) else {}
    delays = {state.value: each.trigger for state, each in waits.items()}
    for state in (each for each in type(chart.initial) if each in chart.states and each.value not in visited):
        yield NoEffect(kind="state", place=state.value, message="nobody entered this state")
    steps = Counter[Step]()
    for (before, after, trigger, source), count in rows.items():
        if source in MOVED:
            steps[Step(before, trigger, after, source in DECIDED)] += count
    never: dict[str, list[str]] = {}
    for covered in covered_rows(behaviour, steps):
        sources = [state for state in covered.sources if state in visited]
        # Where it ends no delay, this trigger only frees agents who are stuck.
        frees = covered.row.trigger == TIMEOUT and TIMEOUT not in [delays.get(state) for state in sources]
        if sources and not covered.times and not frees and known.isdisjoint(sources):
            place, _, row = covered.name.partition(" ")
            never.setdefault(place, []).append(row)
    for place, names in never.items():
        message = f"{counted(len(names), 'row was', 'rows were')} never taken: {'; '.join(names)}"
        yield NoEffect(kind="row", place=place, message=message)


class CoveredRow(NamedTuple):
    """A row of a chart, as its author wrote it."""

    name: str
    times: int  # how often it was taken
    sources: tuple[str, ...]  # the innermost states in which it holds
    row: RowDefinition
    is_shared: bool = False  # True if the count includes other rows that lead the same way


def covered_rows(behaviour: Behaviour[Any] | Statechart[Any], steps: Mapping[Step, int]) -> list[CoveredRow]:
    """Return every row in the order of the chart.

    A journal names the states before and after, the trigger, and whether a choice was decided. Rows that agree in all
    of these share their count.
    """
    definition, found = outline(behaviour).definition, list[CoveredRow]()
    leaves = inner_states(definition)
    entered = {path[-1].name: path[-1].entered for path in definition.walk()}
    for path in definition.walk():
        state, rows = path[-1].name, path[-1].transitions
        for row in rows:
            # A row is taken by decisions alone, by rules alone, or by both (None): the journal separates the two kinds
            # only if there is a row of each for the same trigger and target. A row for the oracle that is the only
            # option counts as taken by a rule, because nothing is left to ask.
            alike = [bool(each.oracle) for each in rows if (each.trigger, each.target) == (row.trigger, row.target)]
            target, is_decided = entered.get(row.target, ""), bool(row.oracle) if len({*alike}) > 1 else None
            when, label = f" when {row.when}" if row.when else "", f"  ({row.label})" if row.label else ""
            times = sum(
                count
                for step, count in steps.items()
                if step.before in leaves[state]
                and step.trigger == row.trigger
                and step.after == (target or step.after)
                and (is_decided is None or step.is_decided == is_decided)
            )
            found.append(
                CoveredRow(
                    f"{state} --{row.trigger}--> {row.target or 'as the oracle decides'}{when}{label}",
                    times,
                    leaves[state],
                    row,
                    is_shared=(len(alike) if is_decided is None else alike.count(is_decided)) > 1,
                )
            )
    return found
