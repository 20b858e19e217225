"""Futures of a run that are to be looked at, each with one thing undone: run here one by one, or in processes."""

from __future__ import annotations

import logging
import signal
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

import anyio
from anyio import to_thread

from actors.core.errors import ActorError
from actors.factory.own_code import known_code
from actors.logs.output import output
from actors.logs.setup import logging_to
from actors.studies.causes.candidates import Candidate, change_of
from actors.studies.causes.futures import Change, Futures, Outcome
from actors.studies.causes.oracles import Redrawn
from actors.studies.experiments.processes import forkserver
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


LOOK_EVERY_S = 0.02
ENDING_S = 5.0  # the time that a process gets to end

OnOutcome = Callable[[Outcome], None]


class Processes(AbstractContextManager["Processes"]):
    """Processes of this machine. They end with the block."""

    def __init__(self, path: Path, of: Sequence[str], ticks: int, number: int, *, over_time: bool = False) -> None:
        context = forkserver()
        self._pipes: list[Connection] = []
        self._processes = []
        for _ in range(number):
            here, there = context.Pipe()
            opened = partial(Futures, path, *of, over_time=over_time, ticks=ticks)
            process = context.Process(target=_serve, args=(there, opened, known_code.trusts), daemon=True)
            process.start()
            there.close()
            self._pipes.append(here)
            self._processes.append(process)

    async def outcomes_of(self, wanted: Sequence[Undone], on_outcome: OnOutcome = lambda _: None) -> list[Outcome]:
        order = sorted(range(len(wanted)), key=lambda place: wanted[place].tick)
        number = len(self._pipes)
        shares = [order[start::number] for start in range(number)]
        for pipe, share in zip(self._pipes, shares, strict=True):
            pipe.send([wanted[place] for place in share])
        found: dict[int, Outcome] = {}
        waiting = {place: share for place, share in enumerate(shares) if share}
        while waiting:
            for at in [*waiting]:
                while at in waiting and self._pipes[at].poll():
                    self._take(at, waiting, found, on_outcome)
            await anyio.sleep(LOOK_EVERY_S)
        return [found[place] for place in range(len(wanted))]

    def _take(self, at: int, waiting: dict[int, list[int]], found: dict[int, Outcome], on_outcome: OnOutcome) -> None:
        """Take what a process has sent: an outcome, all of them in the order of its share, or why it failed."""
        try:
            said = self._pipes[at].recv()
        except (EOFError, OSError):
            said = "it was ended from outside"
        if isinstance(said, str):
            raise ActorError(f"a process that runs futures failed: {said}")
        if isinstance(said, Outcome):
            on_outcome(said)
        else:
            found |= zip(waiting.pop(at), said, strict=True)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for pipe, process in zip(self._pipes, self._processes, strict=True):
            pipe.close()
            process.terminate()
        for process in self._processes:
            process.join(ENDING_S)


@contextmanager
def beside_the_first(*, trusts: bool) -> Iterator[None]:
    """Let this process run futures for another one, which has logged the run's warnings: it logs errors alone."""
    known_code.trusts = trusts
    output.level = logging.ERROR
    with logging_to(None):
        yield


def _serve(pipe: Connection, opened: Callable[[], Futures], trusts: bool) -> None:  # Process passes them by position
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a whole group it is meant for the first process, which ends this
    with suppress(EOFError, OSError), beside_the_first(trusts=trusts):
        try:
            futures: Futures | None = None
            while True:
                wanted = pipe.recv()
                if wanted:
                    futures = futures or opened()
                    pipe.send(anyio.run(outcomes_of, futures, wanted, pipe.send))
        except (EOFError, OSError):
            raise
        except Exception as error:  # noqa: BLE001  # the first process tells of it
            pipe.send(f"{type(error).__name__}: {error}")
