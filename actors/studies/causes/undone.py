"""Futures of a run that are to be looked at, each with one thing undone, and their run one after the other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from anyio import to_thread

from actors.studies.causes.candidates import Candidate, change_of
from actors.studies.causes.futures import Change, Futures, Outcome
from actors.studies.causes.redrawn import Redrawn
from prism.config import InterventionConfig
from prism.rng import WORLD, Draw, integer

SEEDS = 1 << 31  # the seeds of other draws are below this


class Undone(NamedTuple):
    """A future that is to be run."""

    tick: int  # where it forks off the run
    candidate: Candidate | None  # what is undone; None for nothing
    draw: int | None = None  # the number of other draws; None for those of the run
    drawn_at: int = 0  # the tick from which these are used
    silent: tuple[int, ...] = ()  # people who are silent besides
    # the number of a draw of individual judgements for people who shared; None if they keep their answers
    redrawn: int | None = None


async def outcomes_of(
    futures: Futures, wanted: Sequence[Undone], on_outcome: Callable[[Outcome], None] = lambda _: None
) -> list[Outcome]:
    found: dict[int, Outcome] = {}
    by_tick: defaultdict[int, list[int]] = defaultdict(list)
    for place, each in enumerate(wanted):
        by_tick[each.tick].append(place)
    await to_thread.run_sync(futures.prepare, len(wanted))
    async for at in futures.walk(sorted(by_tick)):
        for place in by_tick[at.tick]:
            each = wanted[place]
            found[place] = await futures.future(at, _change(futures, each), _seed(futures, each.draw), each.drawn_at)
            on_outcome(found[place])
    return [found[place] for place in range(len(wanted))]


def _change(futures: Futures, each: Undone) -> Change:
    if each.redrawn is not None:
        return Change(redrawn=partial(Redrawn, futures.run, futures.possible, each.redrawn))
    if each.silent:
        return Change(added=InterventionConfig(tick=each.tick, silence=each.silent))
    return Change() if each.candidate is None else change_of(futures.run, each.candidate, futures.known)


def _seed(futures: Futures, draw: int | None) -> int | None:
    if draw is None:
        return None
    return integer(SEEDS, futures.run.config.simulation.seed, WORLD, draw, Draw.OTHER_DRAWS)
