"""The parts of a configuration that had no effect in a run, as its counts tell at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any, Final, NamedTuple

import msgspec

from actors.factory.domains import no_effect_of
from actors.runtime.simulation import Simulation
from actors.store.course import Step
from prism.agents import DECIDED, MOVED
from prism.config import InterventionConfig
from prism.config.interventions import PLACE as INTERVENTIONS
from prism.config.interventions import planned
from prism.no_effect import TIMEOUT, NoEffect
from prism.quoting import as_text
from prism.statechart import Behaviour, RowDefinition, Statechart
from prism.statechart.outline import inner_states, outline
from prism.wording import counted

TEXT_MAX = 60
"""The most characters of a post's text."""
NAMED_MAX = 4
"""The most people, settings or indicators that are named."""


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
    """Return the interventions of a run so far, in the order in which they happened."""
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


ROUNDS_MIN: Final = 2
"""The fewest rounds of a run: in one, some rows are not due yet."""


def no_effect_in(simulation: Simulation, done: Sequence[DoneIntervention]) -> list[NoEffect]:
    """Return the parts of the configuration that had no effect in the run so far."""
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

    Args:
        rows: `{(from_state, to_state, trigger, source): updates}`.
        visited: the states that agents have been in.
        known: states of which something is told already, so that their rows are left out.
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
