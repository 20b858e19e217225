"""Shared judgements beside full asking: calls, and the error, which is known here because the model is.

The model is a server on a real socket whose answers are a logit of what a prompt says: ideology, age, region, topics in
common, the follow, the likes, interactions of them, and noise that belongs to the whole prompt, which no field has. So
the judgement that each person would have got can be worked out for all of them, asked or not, and with it the true
divergence of what was shared.

    python -m benchmarks.sharing [--people 1000 10000] [--ticks 96] [--coverage 100] [--seeds 5] [--noise 0.1]
        [--audit 0.01] [--full 10000] [--ways archetype ...] [--seed 42] [--outcomes 40]
"""

from __future__ import annotations

import argparse
import logging
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean, stdev
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, Final, NamedTuple

import anyio
import numpy as np
import structlog
from xxhash import xxh3_64_intdigest

import actors
from actors.factory.domains import build_domain
from actors.factory.oracle_backends import open_oracle
from actors.oracle.queue import WaitingQuestion
from actors.pages.sharing_words import interval
from actors.runtime.simulation import Simulation
from actors.studies.causes.futures import Futures
from actors.studies.causes.shared_outcomes import LEAST, AskedEach, shared_outcomes
from actors.studies.causes.track import STATES
from prism.config import Config, load_config
from prism.divergence import jensen_shannon, jensen_shannon_rows
from prism.statechart import AgentState
from prism.statechart.oracle import UNTRUSTED
from tests.standin import ModelServer, ServerSettings

ATTRIBUTES: Final = {
    "ideology": {"type": "float", "min": -1.0, "max": 1.0, "prompt": True},
    "age": {"type": "int", "min": 18, "max": 80, "prompt": True},
    "region": {"type": "text", "values": ["north", "south", "coast"], "prompt": True},
}
WAYS: Final[dict[str, dict[str, Any]]] = {
    "none": {"by": "none"},
    "archetype": {"by": "archetype", "audit": 0.0},
    "archetype, audit": {"by": "archetype"},
}
KEY: Final = {"topic_match": "2 bins", "followed": "exact", "region": "exact", "ideology": "3 bins", "likes": "log2"}
"""The key of archetypes. Age is left out, so that there is something to find."""

_FIELDS: Final = re.compile(
    r"interests: (?P<interests>[^\n]*)|ideology: (?P<ideology>\S+)|age: (?P<age>\d+)|region: \"(?P<region>\w+)\"|"
    r"^likes: (?P<likes>\d+)|^you follow the author: \"(?P<followed>\w+)\"|^topics: (?P<topics>[^\n]*)",
    re.MULTILINE,
)


class Model:
    """The logit that answers, and counts what it is asked.

    Args:
        noise: the standard deviation of the part of a utility that belongs to the whole prompt.
    """

    def __init__(self, noise: float) -> None:
        self._noise = noise

    def weigh(self, state: str, options: Sequence[str]) -> list[float]:
        """Return the weights of the options, by what the state says."""
        found = {name: text for each in _FIELDS.finditer(state) for name, text in each.groupdict().items() if text}
        words = re.compile(r"\w[\w ]*")
        interests, topics = set(words.findall(found.get("interests", ""))), words.findall(found.get("topics", ""))
        match = sum(topic in interests for topic in topics) / len(topics) if topics else 0.0
        ideology, age = float(found.get("ideology", 0)), (int(found.get("age", 49)) - 49) / 31
        followed, likes = found.get("followed") == "yes", math.log1p(int(found.get("likes", 0)))
        taste = 1.4 * match + 0.6 * followed + 0.5 * ideology * (2.0 * match - 1.0)
        taste += 0.3 * (found.get("region") == "north")
        utility = {
            "engaging_like": -1.0 + taste + 0.3 * likes - 0.4 * age,
            "engaging_reshare": -2.2 + taste + 0.5 * likes - 0.8 * age * followed,
            "composing": -1.8 + taste + 0.4 * ideology * ideology,
        }
        seed = xxh3_64_intdigest(state.encode())
        noise = np.random.default_rng(seed).standard_normal(len(options)) * self._noise
        return [math.exp(utility.get(option, 0.0) + each) for option, each in zip(options, noise.tolist(), strict=True)]


class Outcome(NamedTuple):
    """A run, and what would have been true of it.

    Args:
        states: `{state: people in it}` after each round.
        bits: the true mean divergence of what was used from what each person would have got.
        pooled: the true divergence of the mean of all that was used from the mean of what all would have got.
    """

    simulation: Simulation
    states: list[dict[str, int]]
    questions: int
    calls: int
    tokens: int
    bits: float
    pooled: float
    took_s: float


class Noted(NamedTuple):
    """A question that got an answer: what was used, and what its person would have got."""

    used: tuple[float, ...]
    own: tuple[float, ...]


def config_of(
    people: int, ticks: int, seed: int, url: str, oracle: dict[str, Any], more: dict[str, Any] | None = None
) -> Config:
    """Return the configuration of a run; `more` are further settings."""
    archetype = {"archetype": KEY} if oracle["by"] == "archetype" else {}
    return load_config(
        overrides={
            "simulation.seed": seed,
            "simulation.ticks": ticks,
            "population.size": people,
            "population.ambiguity": 0.4,
            "population.attributes": ATTRIBUTES,
            "run.activation": "compiled",
            "oracle.backend": "ollama",
            "oracle.max_concurrency": 16,
            "llm.host": url,
            "llm.method": "probabilities",
            **{f"oracle.sharing.{name}": value for name, value in {**oracle, **archetype}.items()},
            **(more or {}),
        }
    )


async def run(config: Config, model: Model) -> Outcome:
    """Run a configuration, and work out what everybody would have got."""
    domain = build_domain(config).domain
    async with open_oracle(config, domain, None) as opened:
        simulation = Simulation(config, domain, opened.oracle)
        noted: list[Noted] = []
        if simulation.oracle.sharing is not None:
            _note(simulation, opened.oracle, model, noted)
        states: list[dict[str, int]] = []

        def note_states(tick: int) -> None:
            if tick % config.simulation.ticks_per_round == 0:
                states.append(simulation.counters.agents_by_state())

        begun = perf_counter()
        await simulation.run(note_states)
        took_s = perf_counter() - begun
    rows = [np.array(side) for side in zip(*noted, strict=True)] if noted else [np.zeros((0, 4))] * 2
    return Outcome(
        simulation,
        states,
        simulation.counters.questions,
        simulation.oracle.statistics.calls,
        simulation.oracle.tokens,
        float(jensen_shannon_rows(rows[0], rows[1]).mean()) if noted else 0.0,
        jensen_shannon(rows[0].sum(axis=0).tolist(), rows[1].sum(axis=0).tolist()) if noted else 0.0,
        took_s,
    )


def _note(simulation: Simulation, oracle: Any, model: Model, noted: list[Noted]) -> None:
    """Note the questions that draw from what others got, each with what its person would have got."""
    sharing = simulation.oracle.sharing
    assert sharing is not None
    count = sharing.count

    def counted(waiting: WaitingQuestion) -> None:
        place, question = waiting.place, waiting.question
        if place is not None and place.role.value != "owner":
            agent = simulation.domain.asker(question)
            options = [AgentState(option) for option in question.options]
            text = oracle.prompt(agent, agent.state, question.trigger, options, question.context)
            weights = model.weigh(text.partition(UNTRUSTED)[2].strip(), question.options)
            total = math.fsum(weights)
            noted.append(Noted(place.basis.probabilities, tuple(weight / total for weight in weights)))
        count(waiting)

    sharing.count = counted  # type: ignore[method-assign]  # only to look on


def compare(args: argparse.Namespace, url: str, model: Model) -> None:
    """Print the ways beside each other, for each number of people."""
    print("| people | way | questions | calls | questions a call | true bits | audited bits (95%) | pooled bits | s |")
    print("|---|---|---|---|---|---|---|---|---|")
    for people in args.people:
        for way, oracle in WAYS.items():
            if (way == "none" and people > args.full) or way not in args.ways:
                continue
            done = anyio.run(run, config_of(people, args.ticks, args.seed, url, settings_of(oracle, args)), model)
            sharing = done.simulation.oracle.sharing
            summary = None if sharing is None else sharing.summary()
            found = None if summary is None else summary.divergence
            audited = "" if found is None else interval(found, 4)
            each = done.questions / max(1, done.calls)
            print(
                f"| {people:,} | {way} | {done.questions:,} | {done.calls:,} | {each:,.1f} | {done.bits:.4f} "
                f"| {audited} | {done.pooled:.5f} | {done.took_s:.1f} |",
                flush=True,
            )


def settings_of(oracle: dict[str, Any], args: argparse.Namespace) -> dict[str, Any]:
    """Return the settings of a way, with the audit that was asked for."""
    return {"audit": args.audit, **oracle} if oracle["by"] == "archetype" else oracle


def coverage(args: argparse.Namespace, url: str, model: Model) -> None:
    """Print how often the audited interval holds the true divergence."""
    oracle = {**WAYS["archetype, audit"], "audit": 0.1}
    held = tried = 0
    for seed in range(args.coverage):
        done = anyio.run(run, config_of(args.people[0], args.ticks, seed, url, oracle), model)
        assert done.simulation.oracle.sharing is not None
        found = done.simulation.oracle.sharing.summary().divergence
        if found is not None and found.low is not None and found.high is not None:
            tried += 1
            held += found.low <= done.bits <= found.high
    print(f"the interval holds the true divergence in {held} of {tried} runs of {args.people[0]:,} people")


PATIENT: Final = {"oracle.deadline_s": 900.0, "llm.timeout_s": 900.0}
"""The settings for a busy machine, on which a late answer would be another one."""


class Held(NamedTuple):
    """An outcome of a run that shared, and the truth: that of the run that asks each by itself, under the same seed."""

    name: str
    found: AskedEach
    truth: float

    @property
    def is_held(self) -> bool:
        """True if the interval holds the truth."""
        return self.found.low <= self.truth <= self.found.high


async def held(shared: Path, alone: Path, futures: int = LEAST) -> list[Held]:
    """Return the outcomes of a run that shared, each beside that of a run that asks each by itself."""
    found = await shared_outcomes(shared, futures=futures)
    names = [each.name for each in found.outcomes]
    truth = await Futures(alone, *names, over_time=True).recorded()
    pairs = [*zip(found.outcomes, truth.values, strict=True)]
    pairs += [(each, fmean(truth.rounds[f"{STATES}{each.name}"])) for each in found.states]
    return [Held(each.name, each, value) for each, value in pairs if each.high > 0.0 or value]


def held_table(runs: Sequence[Sequence[Held]]) -> Iterator[str]:
    """Yield how often the interval of each outcome holds the truth, and how far the run and its futures are from it."""
    yield "| outcome | held | width | shared less truth | futures less truth |"
    yield "|---|---|---|---|---|"
    for name in dict.fromkeys(each.name for run in runs for each in run):
        own = [each for run in runs for each in run if each.name == name]
        scale = fmean(each.truth for each in own) or 1.0
        width = fmean(each.found.high - each.found.low for each in own) / scale
        shared = fmean(each.found.shared - each.truth for each in own) / scale
        mean = fmean(each.found.mean - each.truth for each in own) / scale
        count = sum(each.is_held for each in own)
        yield f"| {name} | {count} of {len(own)} | {width:.1%} | {shared:+.1%} | {mean:+.1%} |"
    every = [each for run in runs for each in run]
    yield f"| all | {sum(each.is_held for each in every)} of {len(every)} | | | |"


def outcome_coverage(args: argparse.Namespace, url: str, model: Model) -> None:  # noqa: ARG001  # as the others
    """Print how often the intervals of outcomes hold the outcome of asking each by itself, under the same seed."""
    runs: list[list[Held]] = []
    for seed in range(args.outcomes):
        with TemporaryDirectory() as place:
            shared, alone = Path(place, "shared"), Path(place, "alone")
            for path, oracle in ((shared, {"by": "archetype", "audit": 0.1}), (alone, WAYS["none"])):
                actors.run(config_of(args.people[0], args.ticks, seed, url, oracle, PATIENT), out=str(path))
            runs.append(anyio.run(held, shared, alone))
    print("\n".join(held_table(runs)))


FEEDS: Final = "chronological", "interest"
"""Feeds whose contrast is compared."""
TOTALS: Final = "likes", "replies", "reshares", "largest cascade", "deepest cascade", "branched cascades"


def totals_of(done: Outcome) -> dict[str, float]:
    """Return the engagements and cascades of a run."""
    totals = done.simulation.domain.world.totals()
    sizes = totals["largest_cascade"]["size"], totals["deepest_cascade"], totals["cascades_branched"]
    return dict(zip(TOTALS, (totals["likes"], totals["replies"], totals["reshares"], *sizes), strict=True))


def states_of(done: Outcome) -> dict[str, float]:
    """Return the share of the people in each state after each round."""
    people = sum(done.states[0].values())
    return {
        f"{state} after round {number}": count / people
        for number, counts in enumerate(done.states, start=1)
        for state, count in counts.items()
    }


def outcomes(args: argparse.Namespace, url: str, model: Model) -> None:
    """Print outcomes of shared runs beside those of fully asked ones, in standard deviations over seeds."""
    people, ways = args.people[-1], ("none", "archetype", "archetype, audit")
    found: dict[str, list[dict[str, float]]] = {way: [] for way in ways}
    for seed in range(args.seeds):
        for way in ways:
            oracle = settings_of(WAYS[way], args)
            one, other = (
                anyio.run(run, config_of(people, args.ticks, seed, url, oracle, {"feed.algorithm": feed}), model)
                for feed in FEEDS
            )
            before, after = totals_of(one), totals_of(other)
            contrast = {f"{name}, {FEEDS[1]} less {FEEDS[0]}": after[name] - before[name] for name in TOTALS}
            found[way].append({**after, **states_of(other), **contrast})
    print(f"{people:,} people, {args.seeds} seeds: difference from full asking, in its standard deviations over seeds;")
    print(
        f"of two equal ways, a mean of {args.seeds} seeds differs by {math.sqrt(2 / args.seeds):.2f} of them by chance"
    )
    for way in ways[1:]:
        away = {name: _away(found, way, name) for name in found["none"][0]}
        within = sum(abs(each) <= 1.0 for each in away.values())
        print(f"  {way}: {within} of {len(away)} within one")
        states = [name for name in away if " after round " in name]
        farthest = max(states, key=lambda name: abs(away[name]))
        print(f"    states: {len(states)} numbers, the farthest is {farthest}: {away[farthest]:+.2f}")
        for name, value in away.items():
            if name not in states:
                print(f"    {name}: {value:+.2f}")


def _away(found: dict[str, list[dict[str, float]]], way: str, name: str) -> float:
    """Return how far the mean of a way is from that of full asking."""
    full = [each[name] for each in found["none"]]
    away = fmean(each[name] for each in found[way]) - fmean(full)
    return away / stdev(full) if stdev(full) else math.copysign(math.inf, away) if away else 0.0


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--full", type=int, default=10_000, help="the most people of whom all are asked")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS), help="the ways that are compared")
    parser.add_argument("--ticks", type=int, default=96)
    parser.add_argument("--seed", type=int, default=42, help="of the runs whose ways are compared")
    parser.add_argument("--coverage", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--outcomes", type=int, default=40, help="the seeds whose intervals of outcomes are checked")
    parser.add_argument("--noise", type=float, default=0.1)
    parser.add_argument("--audit", type=float, default=0.01)
    args = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    model = Model(args.noise)
    with ModelServer(ServerSettings(weigh=model.weigh, slots=16, max_queue=100_000, keeps=1)) as server:
        compare(args, server.url, model)
        if args.coverage:
            coverage(args, server.url, model)
        if args.outcomes:
            outcome_coverage(args, server.url, model)
        if args.seeds > 1:
            outcomes(args, server.url, model)


if __name__ == "__main__":
    main()
