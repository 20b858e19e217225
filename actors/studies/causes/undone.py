"""Futures of a run, each with one thing undone, run here one by one; and processes that run futures of any kind."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from contextlib import AbstractContextManager, ExitStack
from functools import cache, partial
from types import TracebackType
from typing import Any, Generic, NamedTuple, TypeVar

import anyio
from anyio import to_thread

from actors.core.errors import ActorError
from actors.explain.futures import Change, Futures, Outcome, seed_of_draws
from actors.factory.own_code import known_code
from actors.logs.output import output
from actors.logs.setup import logging_to
from actors.studies.causes.candidates import Candidate, change_of
from actors.studies.causes.track import MeasureTrack
from actors.studies.experiments.processes import Pool

P = TypeVar("P")
W = TypeVar("W")
R = TypeVar("R")


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
            change = Change() if each.candidate is None else change_of(futures.run, each.candidate, futures.known)
            found[place] = await futures.future(at, change, drawn, each.drawn_at)
            on_outcome(found[place])
    return [found[place] for place in range(len(wanted))]


SHARES = 8  # the parts of its work that each process gets one by one, so that progress can be seen


class Processes(AbstractContextManager["Processes[Any]"], Generic[P]):
    """Processes of this machine that run futures. They end with the block.

    Args:
        opened: returns what the work needs; each process calls it once. It may block.
    """

    def __init__(self, number: int, opened: Callable[[], P]) -> None:
        self._number = number
        self._pool = Pool(number, partial(_begin, opened, known_code.trusts))

    async def done(
        self,
        work: Callable[[P, Sequence[W]], Awaitable[Sequence[R]]],
        wanted: Sequence[W],
        key: Callable[[W], Any],
        on_done: Callable[[R], None],
    ) -> list[R]:
        """Return the results of work, in its order.

        Args:
            key: work with neighbouring keys goes to one process, so that less of the run is done again.
        """
        order = sorted(range(len(wanted)), key=lambda place: key(wanted[place]))
        each = -(-len(order) // (self._number * SHARES)) or 1
        left = {
            self._pool.submit(_worked, work, [wanted[place] for place in share]): share
            for share in (order[start : start + each] for start in range(0, len(order), each))
        }
        found: dict[int, R] = {}
        while left:
            ended = await to_thread.run_sync(partial(wait, left, return_when=FIRST_COMPLETED), abandon_on_cancel=True)
            for future in ended.done:
                try:
                    results = future.result()
                except Exception as error:  # noqa: BLE001  # a user's code may raise anything
                    raise ActorError(f"a process that runs futures failed: {type(error).__name__}: {error}") from None
                found |= zip(left.pop(future), results, strict=True)
                for result in results:
                    on_done(result)
        return [found[place] for place in range(len(wanted))]

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._pool.stop(at_once=error is not None)


_begun = ExitStack()  # of a process, until it ends
_opened: list[Callable[[], Any]] = []  # what the work of a process needs, opened when it is first asked for


def _begin(opened: Callable[[], Any], trusts: bool) -> None:  # a pool passes them by position
    known_code.trusts = trusts
    output.level = logging.ERROR  # the first process has logged the run's warnings
    _begun.enter_context(logging_to(None))
    _opened.append(cache(opened))


def _worked(work: Callable[[Any, Sequence[Any]], Awaitable[Sequence[Any]]], wanted: Sequence[Any]) -> Sequence[Any]:
    return anyio.run(work, _opened[0](), wanted)
