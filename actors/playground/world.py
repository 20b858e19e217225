"""One run for the page, made in a process of its own: its files for the panels, and its columns for the charts.

The process is forked from a server that has loaded kernels and packages, so it works at once, and ending it cancels the
run. A run is a run like any other, in a temporary directory: what reads runs reads this one, and its digest is that of
`prism run`.
"""

from __future__ import annotations

import gc
import os
import resource
import shutil
import signal
from collections.abc import Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Thread
from typing import Any, Final

import msgspec
import numpy as np
from msgspec.structs import replace

from actors.core.errors import ActorError, NoMeasureError
from actors.factory.domains import chart_of, is_own, show_of
from actors.results.api import run
from actors.results.result import RunResult
from actors.store.followed import Followed
from actors.store.manifest import CONFIG
from actors.store.rounds import growth_in_rounds, numbers_of
from actors.store.run import read_resolved
from prism.answers import words_of
from prism.config import Config, MetricsConfig
from prism.errors import PrismError
from prism.social.ready import make_ready
from prism.statechart import outline

BASE: Final = "PRISM_PLAY_BASE"
"""The variable with the directory whose configuration the server of processes makes itself ready for."""
MEMORY_MAX_BYTES: Final = 8 << 30
"""The address space of one process; it has its kernels and packages, of about 1 GB, in it."""
SIZES: Final = (1, 2, 3, 4, 6, 8, 11, 16, 23, 32, 45, 64, 91, 128, 256, 512, 1024, 4096, 16_384)
"""Sizes of cascades at which the share of cascades that are as large is told: the same for all runs, for a band."""
PICTURES: Final = frozenset({"cascades"})


class Measured(msgspec.Struct, frozen=True, array_like=True):
    """One number of a run."""

    name: str
    place: str  # as `words_of` has it
    value: float
    label: str  # what it is called in a list: `likes`, `largest cascade`
    said: str  # its value with its unit

    @classmethod
    def of(cls, name: str, place: str, value: float) -> Measured:
        words = words_of(name, place)
        label = words.units or words.unit if words.subject == "people" else words.name
        return cls(name, place, value, label, words.amount(value, bare=True))


class Played(msgspec.Struct, frozen=True, kw_only=True):
    """What the page draws of one run, straight from its columns.

    Args:
        words: the answer and its limits, a sentence each.
        remarks: what was not as configured, and what had no effect.
        measures: its numbers; the first ones are those that are compared.
        rounds: `{column: value in each round}`: of a total its growth.
        cascades: percent of cascades that have at least as many posts as each of `SIZES`; empty without any.
        states: `{state: mean number of agents in each round}`; empty for a run of a fan.
    """

    seed: int
    digest: str
    seconds: float
    agents: int
    words: Sequence[str] = ()
    remarks: Sequence[str] = ()
    measures: Sequence[Measured] = ()
    rounds: dict[str, list[float]] = {}
    cascades: list[float] = []
    states: dict[str, list[float]] = {}


def quick(config: Config, *, is_kept: bool = False) -> Config:
    """Return a configuration that runs as fast as it can, with the same result: run.* changes none.

    `is_kept`: its files are synced, and have the usual checkpoints.
    """
    run = replace(config.run, activation="compiled", shards=1, tick_s=0.0)
    if not is_kept:
        run = replace(run, sync=False, checkpoint_every_ticks=0)
    return replace(config, run=run, metrics=MetricsConfig())


def play(config: Config, directory: Path, *, is_shown: bool, is_kept: bool = False) -> Played:
    """Run a configuration in a directory, and return what the page draws of it.

    Args:
        is_shown: whether the page shows its states over time; those of a fan are not shown.
        is_kept: whether its files stay.

    Raises:
        PrismError, ActorError: it cannot be run.
    """
    result = run(quick(config, is_kept=is_kept), out=directory)
    show, rounds, summary = show_of(config), result.rounds, result.summary
    totals = {each.column for each in show.numbers if each.is_total}
    columns = {
        name: growth_in_rounds(rounds, name)[1] if name in totals else rounds[name] for name in numbers_of(show, rounds)
    }
    states: dict[str, list[float]] = {}
    sizes: list[float] = []
    has_cascades = not PICTURES.isdisjoint(show.pictures)
    if has_cascades or is_shown:
        followed = Followed(directory, states_of(config))
        while followed.read_on():
            pass
        if has_cascades and len(posts := followed.posts.roots):
            _, counts = np.unique(posts, return_counts=True)
            sizes = [100.0 * float(np.mean(counts >= size)) for size in SIZES if size <= counts.max() or size == 1]
        if is_shown and "states" in show.pictures:
            states = _by_round(followed, config.simulation.ticks_per_round)
    return Played(
        seed=config.simulation.seed,
        digest=summary.digest,
        seconds=summary.wall_s,
        agents=summary.agents,
        words=summary.in_words,
        remarks=summary.remarks,
        measures=[*_measures(result, show, columns)],
        rounds=columns,
        cascades=sizes,
        states=states,
    )


def _measures(result: RunResult, show: Any, columns: dict[str, list[float]]) -> Iterator[Measured]:
    """Yield the numbers by which runs are compared, then the totals and last levels of what charts show."""
    for place in show.compared:
        with suppress(NoMeasureError, PrismError):
            yield Measured.of(place, place, result.measure(place))
    for name in columns:
        place = name if name in result.summary.world else f"rounds.{name}"
        if f"rounds.mean.{name}" not in show.compared and result.rounds[name]:
            yield Measured.of(name, place, float(result.rounds[name][-1]))


def states_of(config: Config) -> list[str]:
    """Return the chart's states with the initial one first; none of a domain whose chart only its code knows."""
    if is_own(config):
        return []
    chart = outline(chart_of(config))
    return list(dict.fromkeys([chart.initial, *chart.states]))


def _by_round(followed: Followed, length: int) -> dict[str, list[float]]:
    """Return the mean number of agents in each state in each round, but for the initial state, which they leave."""
    course = followed.course()
    counts = np.array(course.states, dtype=np.float64).reshape(len(course.ticks), -1)
    rounds = np.array(course.ticks) // length
    last = int(rounds.max(initial=-1)) + 1
    number = np.bincount(rounds, minlength=last).clip(1)
    return {
        name: (np.bincount(rounds, counts[:, place], minlength=last) / number).round(2).tolist()
        for place, name in enumerate(followed.states)
        if place and counts[:, place].any()
    }


class Failed(msgspec.Struct, frozen=True):
    """A run that could not be made, with the reason in one line."""

    problem: str


def work(
    configs: Sequence[Config],
    directory: Path,
    answers: Connection,
    alive: Connection,
    *,
    is_shown: bool,
    is_kept: bool,
) -> None:
    """Make runs one after the other, and send what the page draws of each. This is all that a process does.

    Args:
        configs: those of a fan; of one that is shown a single one, whose files stay in `directory`.
        alive: is closed when nobody waits any more: then the process ends at once.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command decides what Ctrl-C ends
    signal.signal(signal.SIGTERM, signal.SIG_DFL)

    def end_with() -> None:
        with suppress(OSError, EOFError):
            alive.poll(None)
        os._exit(1)

    Thread(target=end_with, name="page", daemon=True).start()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_MAX_BYTES, MEMORY_MAX_BYTES))
    for place, config in enumerate(configs):
        try:
            found: Played | Failed = play(config, directory, is_shown=is_shown, is_kept=is_kept)
        except (PrismError, ActorError, ValueError, OSError) as error:
            found = Failed(" ".join(str(error).split()))
        except MemoryError:
            found = Failed("this run needs more memory than one of this page may use: fewer people, ties or rounds")
        if not is_shown:
            shutil.rmtree(directory, ignore_errors=True)
        answers.send((place, found))
    os._exit(0)  # to free millions of objects takes longer than the page should wait


def make_ready_for(base: Path) -> None:
    """Load packages and kernels, and run one round of the configuration, so that processes forked later need not."""
    config = quick(read_resolved(base / CONFIG))
    make_ready(10**9)
    first = replace(config.simulation, ticks=min(config.simulation.ticks_per_round, config.simulation.length))
    play(replace(config, simulation=first, interventions=()), base / "first", is_shown=True)
    shutil.rmtree(base / "first", ignore_errors=True)
    gc.collect()
    gc.freeze()


if BASE in os.environ:  # imported by the server of processes: `set_forkserver_preload`
    with suppress(PrismError, ActorError, ValueError, OSError):  # the first run says what the matter is
        make_ready_for(Path(os.environ.pop(BASE)))
