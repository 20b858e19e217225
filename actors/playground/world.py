"""One run for the page, made in another process: its files for the panels, its columns for the charts, and words.

A run is a run like any other, in a temporary directory: what reads runs reads this one, and its digest is that of
`prism run`. The process is forked from a server that has loaded packages and kernels, so that it works at once.
"""

from __future__ import annotations

import gc
import os
import resource
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any, Final

import msgspec
import numpy as np
from msgspec.structs import replace

from actors.core.errors import ActorError, NoMeasureError
from actors.explain.futures import Substitute
from actors.factory.domains import build_domain, chart_of, is_own, show_of
from actors.factory.input_files import note_files
from actors.factory.oracle_backends import tape_path
from actors.playground.place import VARIABLE
from actors.results.api import run
from actors.store.course import Course, read_course
from actors.store.manifest import CONFIG
from actors.store.rounds import growth_in_rounds, numbers_of
from actors.store.run import read_resolved
from prism.answers import setting_in_words, words_of
from prism.config import Config, MetricsConfig, OracleConfig
from prism.errors import ConfigError, PrismError
from prism.llm import Tape, TapedModel
from prism.social.turns import make_ready
from prism.statechart import outline
from prism.wording import counted

READY_WITHIN_S: Final = 5.0
"""The time that the command has to write the configuration, while the server of processes waits for it."""
READY_PEOPLE: Final = 500
MEMORY_MAX_BYTES: Final = 8 << 30  # the addresses of one process; packages and kernels take about 1 GB of them
SIZES: Final = (1, 2, 3, 4, 6, 8, 11, 16, 23, 32, 45, 64, 91, 128, 256, 512, 1024, 4096, 16_384)
"""The sizes at which the share of cascades that are as large is told: the same for all runs, for a band."""


class Measured(msgspec.Struct, frozen=True, array_like=True):
    place: str  # as `words_of` has it
    label: str  # what it is called in a list: `likes`, `largest cascade`
    said: str  # its value with its unit
    value: float


Measures = dict[str, float]  # `{place of a measure: its value}`


class Played(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of one run that the page draws, straight from its columns."""

    seed: str  # a number too large for JavaScript, perhaps
    digest: str
    seconds: float
    agents: int
    words: Sequence[str]  # the answer and its limits, a sentence each
    remarks: Sequence[str]  # what was not as configured, and what had no effect
    measures: Sequence[Measured]  # those by which runs are compared, then those of the charts
    rounds: dict[str, list[float]]  # `{column: value in each round}`: of a total its growth
    cascades: list[float]  # percent that have at least as many posts as each of `SIZES`; empty without any
    states: dict[str, list[float]]  # `{state: mean agents in each round}`, but for the initial state, which they leave

    @property
    def values(self) -> Measures:
        return {each.place: each.value for each in self.measures}


def quick(config: Config, *, is_kept: bool = False) -> Config:
    """Return a configuration that runs as fast as it can, with the same result. `is_kept`: as usual runs write."""
    run = replace(config.run, activation="compiled", shards=1, tick_s=0.0)
    if not is_kept:
        run = replace(run, sync=False, checkpoint_every_ticks=0)
    return replace(config, run=run, metrics=MetricsConfig())


def play(
    config: Config, inputs: Mapping[str, Path], directory: Path, *, is_shown: bool = True, is_kept: bool = False
) -> Played | str:
    """Run a configuration in a directory, and return what the page draws of it, or why it cannot be run.

    `inputs`: `{input file as the configuration names it: its place}`. `is_shown`: its files stay; states are drawn.
    """
    note_files(inputs)
    try:
        oracle = None if is_kept or config.oracle.tape != "replay" else _taped(config)
        plain = config if oracle is None else replace(config, oracle=OracleConfig(choice=config.oracle.choice))
        result = run(quick(plain, is_kept=is_kept), out=directory, oracle=oracle)
        show, summary = show_of(config), result.summary
        by = []
        if oracle is not None:
            by = [f"Recorded answers: {oracle.taped:,}; by the embedded choice: {oracle.computed:,}."]
        totals = {each.column for each in show.numbers if each.is_total}
        rounds = {
            name: growth_in_rounds(result.rounds, name)[1] if name in totals else result.rounds[name]
            for name in numbers_of(show, result.rounds)
        }
        initial, length = next(iter(states_of(config)), None), config.simulation.ticks_per_round
        course = read_course(directory, "updates", "posts", initial=initial, each_ticks=length)
        sizes = np.unique(course.posts.roots, return_counts=True)[1]
        return Played(
            seed=str(config.simulation.seed),
            digest=summary.digest,
            seconds=summary.wall_s,
            agents=summary.agents,
            words=[*by, *summary.in_words],
            remarks=summary.remarks,
            measures=[*_measures(result, show, rounds)],
            rounds=rounds,
            cascades=[100.0 * float(np.mean(sizes >= least)) for least in SIZES if least <= sizes.max(initial=0)],
            states=_by_round(course, config) if is_shown and "states" in show.pictures else {},
        )
    except (PrismError, ActorError, ValueError, OSError) as error:
        return problem_of(error)
    except MemoryError:
        return "this run needs more memory than one of this page may use: fewer people, ties or rounds"
    finally:
        if not is_shown:
            shutil.rmtree(directory, ignore_errors=True)


def problem_of(error: Exception) -> str:
    """Return an error as a page shows it: a line for each setting that is wrong, by the name that it has there."""
    if not isinstance(error, ConfigError):
        return " ".join(str(error).split())
    wrong = (error, *error.others)
    return "\n".join(f"{setting_in_words(each.key)}: {each.problem}" if each.key else each.problem for each in wrong)


def _taped(config: Config) -> Substitute:
    """Return an oracle that answers from the tape; a question that is not on it goes to the embedded choice."""
    domain, tape = build_domain(config).domain, Tape(tape_path(config, None), "replay")
    taped = domain.oracle(TapedModel(None, tape, "replay"))
    oracle = Substitute(domain.oracle(), taped, {})
    oracle.source = taped.source
    return oracle


def _measures(result: Any, show: Any, rounds: dict[str, list[float]]) -> Iterator[Measured]:
    others = [
        name if name in result.summary.world else f"rounds.{name}"
        for name in rounds
        if f"rounds.mean.{name}" not in show.compared
    ]
    for place in (*show.compared, *others):
        with suppress(NoMeasureError, PrismError):
            value, words = result.measure(place), words_of(place.removeprefix("rounds."), place)
            label = words.units or words.unit if words.subject == "people" else words.name
            yield Measured(place, label, words.amount(value, bare=True), value)


def states_of(config: Config) -> list[str]:
    """Return the chart's states with the initial one first; none of a domain whose chart only its code knows."""
    if is_own(config):
        return []
    chart = outline(chart_of(config))
    return list(dict.fromkeys([chart.initial, *chart.states]))


def _by_round(course: Course, config: Config) -> dict[str, list[float]]:
    """Return `{state: the people in it on average in each round}` of those that people move to."""
    names = dict.fromkeys([*states_of(config), *(name for point in course.people for name in point)])
    means = {name: [round(point.get(name, 0.0), 2) for point in course.people] for name in [*names][1:]}
    return {name: each for name, each in means.items() if any(each)}


# Sentences on the change that a move made, and on a fan of seeds

SEEDS_LEAST = 5  # the fewest seeds from which a change is said to be beyond chance, or within it


def changed_in_words(before: Measures | None, now: Played, *, is_same: bool) -> list[str]:
    """Return the difference of a run from the one before, as sentences; none for the first run."""
    if before is None:
        return []
    if is_same:
        return ["This run is the run before, to the byte."]
    changed, same = list[str](), list[str]()
    for each in now.measures:
        if (value := before.get(each.place)) is not None:
            words = words_of(each.place, each.place)
            said = words.change(each.value, value)
            if said == "the same":
                same.append(each.label)
            else:
                changed.append(f"{each.label} {said} ({words.amount(value, bare=True)} → {each.said})")
    return [*_listed("Beside the run before: ", changed), *_listed("The same: ", same)]


def fan_in_words(now: Mapping[str, Measures], before: Mapping[str, Measures], shown: Played) -> list[str]:
    """Return the mean of each shown measure over seeds with its interval, and the changes that seeds do not explain.

    `now`, `before`: `{seed: measures}`; the same seed has the same draws in both.
    """
    told, clear, unclear, same = (list[str]() for _ in range(4))
    both = [seed for seed in now if seed in before]
    for each in shown.measures:
        words, place = words_of(each.place, each.place), each.place
        if not all(place in run for run in now.values()):
            continue
        values = [run[place] for run in now.values()]
        ends = (value for value in (sum(values) / len(values), *_ends(values)) if value is not None)
        mean, *rest = (words.amount(value, bare=True) for value in ends)
        told.append(f"{each.label} {mean}" + (f" ({' to '.join(rest)})" if rest else ""))
        if len(both) < SEEDS_LEAST or not all(place in before[seed] for seed in both):
            continue
        one, other = ([runs[seed][place] for seed in both] for runs in (now, before))
        differences = [after - then for after, then in zip(one, other, strict=True)]
        low, high = _ends(differences)
        if not any(differences):
            same.append(each.label)
        elif low is not None and high is not None and low <= 0 <= high:
            unclear.append(each.label)
        else:
            clear.append(f"{each.label} {words.change(sum(one) / len(one), sum(other) / len(other))}")
    return [
        *_listed(f"Mean over {counted(len(now), 'seed')}, with its 95% interval: ", told),
        *_listed(f"Changed beyond chance, over the same {len(both)} seeds: ", clear),
        *_listed("Within chance: ", unclear),
        *_listed("The same under each of these seeds: ", same),
    ]


def _listed(about: str, told: Sequence[str]) -> list[str]:
    return [f"{about}{', '.join(told)}."] if told else []


def _ends(values: Sequence[float]) -> tuple[float | None, float | None]:
    """Return the ends of the 95% interval of a mean; None for few or equal values."""
    from prism.experiment.hypothesis_tests import described  # noqa: PLC0415  # scipy takes half a second to import

    found = described(values)
    return found.low, found.high


# The process


def begin_process() -> None:
    """Limit the memory of this process: a page may ask for more ties than any machine holds."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_MAX_BYTES, MEMORY_MAX_BYTES))


def make_ready_in(place: Path) -> None:
    """Load packages and kernels, and run a round of the configuration, so that processes forked later need not."""
    until = monotonic() + READY_WITHIN_S
    make_ready(10**9)
    while not (place / CONFIG).exists() and monotonic() < until:
        sleep(0.005)
    with suppress(PrismError, ActorError):  # the first run says what the matter is
        config = read_resolved(place / CONFIG)
        ticks = min(config.simulation.ticks_per_round, config.simulation.length)
        people = replace(config.population, size=min(config.population.size, READY_PEOPLE))
        few = replace(config, simulation=replace(config.simulation, ticks=ticks), population=people, interventions=())
        play(few, {}, place / "ready", is_shown=False)
    if not (place / CONFIG).exists():  # the command has ended meanwhile
        shutil.rmtree(place, ignore_errors=True)
    gc.collect()
    gc.freeze()


if VARIABLE in os.environ:  # imported by the server of processes: `actors.playground.place`
    make_ready_in(Path(os.environ.pop(VARIABLE)))
