"""The outcomes of a run that shared judgements, and estimates of them if everybody had been asked.

In each future people who shared a judgement get an individual one instead, drawn from those that the audits make
plausible. All other draws stay. So the outcome of a future is a draw of the outcome of another run with the same seed:
one that asks each person individually.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from statistics import fmean
from typing import Final

import msgspec
import numpy as np
from anyio import to_thread

from actors.core.errors import RunDirectoryError
from actors.results.measures import SHORT
from actors.store.rounds import ENGINE_COLUMNS
from actors.studies.causes.futures import Futures, Outcome
from actors.studies.causes.track import STATES
from actors.studies.causes.undone import Processes, Undone, outcomes_of
from prism.sharing.audit import FEWEST

OUTSIDE: Final = 0.025  # the share of outcomes below the interval, and of those above it
LEAST: Final = 39
"""The fewest futures: another one lies between the least and the greatest of so many with a probability of 95%."""
FUTURES: Final = 2 * LEAST + 1
"""The futures that are run by default: the interval then ends at the second least and the second greatest outcome."""

OnProgress = Callable[[int, int], None]  # called with the futures that are done, and how many there are


class AskedEach(msgspec.Struct, frozen=True, kw_only=True):
    """A number of a run that shared, and its estimate if everybody had been asked."""

    name: str  # a measure, or a column of the rounds
    shared: float  # its value in the run
    # mean, low, high: the mean of the futures, and the interval that holds 95% of such outcomes
    mean: float
    low: float
    high: float


class SharedOutcomes(msgspec.Struct, frozen=True, kw_only=True):
    """The outcomes of a run that shared judgements, each with its interval if everybody had been asked."""

    run: str  # its directory
    # ticks, audits, futures: the number of whole ticks, of audits, and of futures that were run
    ticks: int
    audits: int
    futures: int
    outcomes: tuple[AskedEach, ...]  # the measures at the end
    states: tuple[AskedEach, ...]  # the mean number of agents in each state at the ends of rounds
    # `{column: its value at the end of each round}`, and of each state as `states.STATE`
    rounds: dict[str, tuple[AskedEach, ...]]
    asked: float  # the mean number, over futures, of questions that keep the answers of the run
    redrawn: float  # of those with a redrawn judgement
    computed: float  # of those that the embedded oracle answers, because the run has none like them
    notes: tuple[str, ...] = ()  # limits of the result, a sentence each


async def shared_outcomes(
    path: Path,
    of: Sequence[str] = (),
    futures: int = FUTURES,
    jobs: int = 1,
    on_progress: OnProgress = lambda *_: None,
) -> SharedOutcomes:
    """Return the outcomes of a run that shared judgements beside those of full asking. No model is asked."""
    opened = await to_thread.run_sync(_opened, path, of)
    recorded = await opened.recorded()
    wanted, done = [Undone(0, None, redrawn=number) for number in range(futures)], 0

    def note(_: Outcome) -> None:
        nonlocal done
        done += 1
        on_progress(done, futures)

    names = opened.track.of
    with nullcontext() if jobs == 1 else Processes(path, names, opened.run.length, jobs, over_time=True) as processes:
        run = outcomes_of(opened, wanted, note) if processes is None else processes.outcomes_of(wanted, note)
        found = await run
    tables = [each.rounds for each in found]
    kinds, audits = opened.possible.kinds.items(), opened.possible.audits
    notes = [
        *opened.run.notes,
        *(
            f"no audit of {kind[1]} in {kind[0]}: the error of sharing these questions is not known"
            for kind, known in kinds
            if not known.audits
        ),
    ]
    if all(each.probabilities == each.shared for each in audits):
        notes.append(f"no audit differs: up to {3 / len(audits):.1%} of the others may, which no interval here holds")
    return SharedOutcomes(
        run=str(path),
        ticks=opened.run.length,
        audits=len(audits),
        futures=futures,
        outcomes=tuple(
            _asked_each(name, recorded.values[at], [each.values[at] for each in found]) for at, name in enumerate(names)
        ),
        states=tuple(
            _asked_each(name.removeprefix(STATES), fmean(values), [fmean(table[name]) for table in tables])
            for name, values in recorded.rounds.items()
            if name.startswith(STATES)
        ),
        rounds={
            name: tuple(
                _asked_each(name, value, [table[name][at] for table in tables]) for at, value in enumerate(values)
            )
            for name, values in recorded.rounds.items()
            if name not in ENGINE_COLUMNS
        },
        asked=fmean(each.kept for each in found),
        redrawn=fmean(each.redrawn for each in found),
        computed=fmean(each.computed for each in found),
        notes=tuple(notes),
    )


def _opened(path: Path, of: Sequence[str]) -> Futures:
    """Return the futures of a run that shared, with its measures. Blocks."""
    futures = Futures(path, *of, over_time=True)
    if futures.run.config.oracle.sharing.by == "none":
        raise RunDirectoryError(f"{path}: has shared no judgements: expected a run with oracle.sharing.by=archetype")
    audits = len(futures.possible.audits)
    if audits < FEWEST:
        problem = f"has {audits} audits of shared judgements: expected {FEWEST} at least (oracle.sharing.audit)"
        raise RunDirectoryError(f"{path}: {problem}")
    if not of:
        totals = futures.run.domain.world.totals()
        counts = [name for name, value in totals.items() if isinstance(value, int | float)]
        short = [name for name, place in SHORT.items() if place.split(".")[0] in totals and name not in counts]
        futures.track.of = [*counts, *short]
    return futures


def _asked_each(name: str, shared: float, values: Sequence[float]) -> AskedEach:
    """Return a number with an interval that holds 95% of other futures: between ranks, as Weibull's quantiles."""
    low, high = np.quantile(values, [OUTSIDE, 1.0 - OUTSIDE], method="weibull").tolist()
    return AskedEach(name=name, shared=shared, mean=float(np.mean(values)), low=low, high=high)
