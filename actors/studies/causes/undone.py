"""Futures of a run, each with one thing undone, run one by one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import NamedTuple

from anyio import to_thread

from actors.explain.futures import Change, Futures, Outcome, seed_of_draws
from actors.studies.causes.candidates import Candidate, change_of
from actors.studies.causes.track import MeasureTrack


class Undone(NamedTuple):
    """A future that is to be run."""

    tick: int  # where it forks off the run
    candidate: Candidate | None  # what is undone; None for nothing
    draw: int | None = None  # the number of other draws; None for those of the run
    drawn_at: int = 0  # the tick from which these are used


async def outcomes_of(
    futures: Futures[MeasureTrack], wanted: Sequence[Undone], on_outcome: Callable[[Outcome], None] = lambda _: None
) -> list[Outcome]:
    found: dict[int, Outcome] = {}
    by_tick: defaultdict[int, list[int]] = defaultdict(list)
    for place, each in enumerate(wanted):
        by_tick[each.tick].append(place)
    await to_thread.run_sync(futures.run.prepare, len(wanted))
    async for at in futures.walk(sorted(by_tick)):
        for place in by_tick[at.tick]:
            each, seed = wanted[place], futures.run.config.simulation.seed
            drawn = None if each.draw is None else seed_of_draws(seed, each.draw)
            found[place] = await futures.future(at, _change(futures, each), drawn, each.drawn_at)
            on_outcome(found[place])
    return [found[place] for place in range(len(wanted))]


def _change(futures: Futures[MeasureTrack], each: Undone) -> Change:
    return Change() if each.candidate is None else change_of(futures.run, each.candidate, futures.known)
