"""Processes that run futures of one run: each has opened the run by itself, and gets every n-th future."""

from __future__ import annotations

import logging
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType

import anyio

from actors.core.errors import ActorError
from actors.factory.own_code import known_code
from actors.logs.output import output
from actors.logs.setup import logging_to
from actors.studies.causes.futures import Futures, Outcome
from actors.studies.causes.undone import Undone, outcomes_of
from actors.studies.experiments.processes import forkserver

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
