"""The place where cells are run: processes of this machine, or a cluster of Ray.

Processes stay warm, and are replaced when one of them is killed. Memory is read from /proc; without it, it is unknown.
"""

from __future__ import annotations

import os
import re
import signal
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path

import msgspec

from actors.core.errors import PlaceError
from actors.core.forkserver import forkserver
from actors.core.machine import processors
from actors.factory.input_files import Kept, input_paths, inputs_shared, kept_inputs, locate_input, place_of
from actors.studies.experiments.batch import KILLED, Executor, LostError
from actors.studies.experiments.cells import Done, Task, cell_path, is_done, work
from actors.studies.experiments.plan import Cell, Plan
from actors.studies.gateway.place import GatewayPlace

RUN_BYTES, AGENT_BYTES, FILE_TIMES = 100 * 1024**2, 16 * 1024, 20
"""The memory of a process with a run and of each agent, twice what three rounds of a default run took; and for each
byte of an input file: a table of a million ties takes 13 times its bytes while it is read."""


def room(cells: Sequence[Cell], jobs: int | None) -> int:
    """Return how many of some cells run at once: `jobs`, or one a processor, as far as the memory holds them."""
    if jobs is not None or not cells:
        return jobs or processors()
    if (left := available_bytes()) is None:
        return processors()
    needed = 0
    for config in {cell.condition: cell.config for cell in cells}.values():
        files = [path.stat().st_size for path in map(locate_input, input_paths(config).values()) if path.is_file()]
        needed = max(needed, RUN_BYTES + AGENT_BYTES * config.population.size + FILE_TIMES * sum(files))
    return max(1, min(processors(), left // needed))


class Pool:
    """Processes that end with their block, at once if an error leaves it, and with this process if it is killed.

    Args:
        number: how many there are at most.
        begin: called in each process first.
    """

    def __init__(self, number: int, begin: Callable[[], None]) -> None:
        context = forkserver(__name__, "prism.social.domain")
        ours, self._open = context.Pipe(duplex=False)  # it closes when this process ends, in whichever way
        self._pool = ProcessPoolExecutor(number, context, _begin, (ours, begin))
        self.submit = self._pool.submit

    def stop(self, *, at_once: bool) -> None:
        if at_once:
            self._open.close()
        self._pool.shutdown(cancel_futures=True)
        self._open.close()


def _begin(theirs: Connection, begin: Callable[[], None]) -> None:
    """Leave Ctrl-C to the first process, and end when it is gone or closes its pipe."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def end_with() -> None:
        theirs.poll(None)
        os._exit(1)

    threading.Thread(target=end_with, name="first process", daemon=True).start()
    begin()


class Processes(Executor):
    """Processes of this machine."""

    def __init__(self, jobs: int | None, gateway: GatewayPlace | None = None) -> None:
        super().__init__()
        self._jobs, self._gateway = jobs, gateway
        self._pool: Pool | None = None
        self._pools: dict[Future[Done], Pool] = {}  # `{cell that was begun: its pool}`
        self._room: tuple[Sequence[Cell], int] = (), 1

    def at_once(self, cells: Sequence[Cell], *, are_suspect: bool) -> int:
        """Return how many cells run at once: one, if each has ended its process before."""
        if self._room[0] is not cells:
            self._room = cells, room(cells, self._jobs)
            if self._jobs is None and self._room[1] < min(processors(), len(cells)):
                self.tell(note=f"{self._room[1]:,} at once: more would not fit into the memory")
        return 1 if are_suspect else self._room[1]

    def begin(self, cell: Cell, out: Path) -> Future[Done]:
        kept = {name: place_of(name).absolute() for name in kept_inputs(cell.config)}
        task = Task(cell.config, cell_path(out, cell), cell.inputs, self._gateway, kept)
        if self._pool is None:
            self._pool = Pool(self._jobs or processors(), _nothing)
        try:
            begun = self._pool.submit(_worked, work, task)
        except BrokenProcessPool:  # a process was killed while it was idle
            self.stop()
            return self.begin(cell, out)
        self._pools[begun] = self._pool
        return begun

    def end(self, cell: Cell, begun: Future[Done], out: Path) -> Done:  # noqa: ARG002  # the interface's
        pool = self._pools.pop(begun)
        try:
            return begun.result()
        except BrokenProcessPool:
            pool.stop(at_once=True)  # so each of its cells has ended, and none is begun beside them
            self._pool = None if pool is self._pool else self._pool
            raise LostError(KILLED, "its process was killed") from None

    def stop(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.stop(at_once=True)

    def __exit__(self, kind: object, error: BaseException | None, at: object) -> None:
        """End the processes; at once if the block was left by an error."""
        if self._pool is not None:
            self._pool.stop(at_once=error is not None)


def _nothing() -> None: ...


_KEPT: Kept = OrderedDict()  # the graphs and profiles that this process has read for its other cells


def _worked(function: Callable[[Task], Done], task: Task) -> Done:
    """Run a cell in this process, with the input files that were read before. One that was stopped ends the process."""
    with inputs_shared(_KEPT):
        done = function(task)
    if done.signal:
        os._exit(1)
    return done


_MEMORY = Path("/proc/meminfo")
_CONTAINER = Path("/sys/fs/cgroup")


def available_bytes() -> int | None:
    """Return the bytes of memory that can still be used: of the machine, or of the container if it has fewer."""
    left = None
    with suppress(OSError):
        for line in _MEMORY.read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                left = int(line.split()[1]) * 1024
    try:
        limit, used = (
            int((_CONTAINER / name).read_text(encoding="ascii")) for name in ("memory.max", "memory.current")
        )
        counted = dict(line.split() for line in (_CONTAINER / "memory.stat").read_text(encoding="ascii").splitlines())
        in_container = limit - used + int(counted.get("inactive_file", 0))  # files that were read make room for others
    except (OSError, ValueError):  # no container, or one without a limit
        return left
    return in_container if left is None else min(left, in_container)


PROCESSES = "processes"


def cells_to_do(plan: Plan, out: Path) -> list[Cell]:
    """Return the cells that are not done yet, each key once."""
    left = {cell.key: cell for cell in plan.cells}
    return [cell for cell in left.values() if not is_done(cell_path(out, cell))]


class Where(msgspec.Struct, frozen=True, kw_only=True):
    # `processes` of this machine; `ray`, the cluster that runs here or one that is started for the experiment;
    # `ray://HOST:PORT`, a cluster elsewhere; `HOST:PORT`, the cluster that this node is part of
    on: str = PROCESSES
    jobs: int | None = None  # cells at once, 1 or more; None for one on each processor, as far as the memory holds them
    gateway: GatewayPlace | None = None  # asks the servers of models for all cells; None if each asks for itself


@contextmanager
def opened(where: Where) -> Iterator[Executor]:
    """Provide the place where cells are run. Its workers end with the block."""
    executor: Executor
    if where.on == PROCESSES:
        executor = Processes(where.jobs, where.gateway)
    else:
        if where.on != "ray" and re.fullmatch(r"(ray://)?[^\s/:]+:\d{1,5}", where.on) is None:
            raise PlaceError(f"--on {where.on}: expected processes, ray, ray://HOST:PORT or HOST:PORT")
        from actors.studies.experiments.on_ray import OnRay  # noqa: PLC0415  # an extra

        executor = OnRay(where.on, where.jobs, where.gateway)
    with executor:
        yield executor
