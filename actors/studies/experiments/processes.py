"""Processes of this machine that run cells: they stay warm, and are replaced when they are killed or have grown.

Memory is read from /proc; it is unknown without /proc.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import tempfile
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerContext
from multiprocessing.forkserver import ensure_running
from multiprocessing.process import BaseProcess
from multiprocessing.util import get_temp_dir
from pathlib import Path
from types import TracebackType

from actors.core.machine import processors, safe_path
from actors.factory.checks import check_domain
from actors.factory.input_files import inputs_shared, kept_inputs, place_of
from actors.studies.experiments.batch import Batch, OnDone, Progress
from actors.studies.experiments.cells import Done, Task, cell_path, work
from actors.studies.experiments.plan import Cell
from actors.studies.gateway.place import GatewayPlace
from prism.config import Config
from prism.errors import PrismError

RUN_BYTES, AGENT_BYTES = 100 * 1024**2, 16 * 1024
"""The memory of a process with a run, and of each agent: twice what three rounds of a default run took."""
GROWTH_BYTES_MAX = 512 * 1024**2
"""The memory that a process may hold after a cell beyond what it held after its first one."""
WAIT_S = 2.0  # the longest wait for the end of a cell
SOCKET_PLACE_BYTES_MAX, SHORT_PLACE = 75, "/tmp"  # noqa: S108  # the library makes a private directory in it
"""The longest directory for temporary files in which a socket can have a name, and the one that is taken instead."""
ENDING_S = 5.0  # the time that processes get to end by themselves


def cell_bytes(config: Config) -> int:
    """Return the memory that a process with a run of a configuration needs, roughly."""
    try:
        agents = check_domain(config).size or 0
    except PrismError:  # the cell will say so
        agents = 0
    return RUN_BYTES + AGENT_BYTES * agents


def room(cells: Sequence[Cell], jobs: int | None) -> int:
    """Return how many of some cells run at once: `jobs`, or one a processor, as far as the memory holds them."""
    if jobs is not None or not cells:
        return jobs or processors()
    left = available_bytes()
    needed = max(cell_bytes(cell.config) for cell in {cell.condition: cell for cell in cells}.values())
    return processors() if left is None else max(1, min(processors(), left // needed))


def forkserver() -> ForkServerContext:
    """Return the context of all processes: they are forked from a server that has imported what a cell needs."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["actors.studies.experiments.processes", "prism.social.domain"])
    temporary = tempfile.gettempdir()
    if len(os.fsencode(temporary)) > SOCKET_PLACE_BYTES_MAX:
        tempfile.tempdir = SHORT_PLACE
    try:
        get_temp_dir()  # the library makes it once, and puts the server's socket there
    finally:
        tempfile.tempdir = temporary
    with safe_path():
        ensure_running()
    return context


class Processes(AbstractContextManager["Processes"]):
    """Processes of this machine."""

    def __init__(self, jobs: int | None, gateway: GatewayPlace | None = None) -> None:
        self.progress = Progress()
        self._jobs = jobs
        self._gateway = gateway
        self._context = forkserver()
        self._workers: list[_Worker] = []

    def run(self, cells: Sequence[Cell], out: Path, on_done: OnDone) -> dict[str, str]:
        batch = Batch(cells, out, on_done, self.progress)
        at_once = room(cells, self._jobs)
        if self._jobs is None and at_once < min(processors(), len(cells)):
            self.progress.tell(note=f"{at_once:,} at once: more would not fit into the memory")
        try:
            while batch.is_waiting or self._busy:
                # Give cells to idle processes, and begin processes as far as there is room.
                while batch.is_waiting and len(self._busy) < (1 if batch.next_is_alone else at_once):
                    worker = next((each for each in self._workers if each.cell is None), None)
                    if worker is None:
                        worker = _Worker(self._context)
                        self._workers.append(worker)
                    cell = batch.take()
                    kept = {name: place_of(name).absolute() for name in kept_inputs(cell.config)}
                    if not worker.begin(
                        cell, Task(cell.config, cell_path(out, cell), cell.inputs, self._gateway, kept)
                    ):
                        self._remove(worker)  # the process was killed while it was idle
                        batch.give_back(cell)
                self._collect(batch)
        except BaseException:
            self._end_all(at_once=True)
            raise
        return batch.problems

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        """End the processes; at once if the block was left by an error."""
        self._end_all(at_once=error is not None)

    @property
    def _busy(self) -> list[_Worker]:
        return [worker for worker in self._workers if worker.cell is not None]

    def _collect(self, batch: Batch) -> None:
        """Wait for a process that has ended a cell, or was killed."""
        busy = {worker.connection: worker for worker in self._busy}
        self.progress.tell(running=len(busy))
        for ready in wait(list(busy), timeout=WAIT_S):
            worker = busy[ready]  # type: ignore[index]  # wait returns what it was given
            cell, done = worker.end()
            if cell is None:
                continue
            if done is None:
                self._remove(worker)
                batch.kill(cell)
                continue
            if done.signal:
                batch.kill(cell)
                continue
            batch.end(cell, done)
            if (grown := worker.growth_bytes()) > GROWTH_BYTES_MAX:
                self._remove(worker)
                self.progress.lose("worker replaced")
                self.progress.tell(note=f"a process was replaced: it held {grown / 1e6:,.0f} MB more than after a cell")

    def _remove(self, worker: _Worker) -> None:
        self._workers.remove(worker)
        worker.stop(at_once=True)

    def _end_all(self, *, at_once: bool) -> None:
        for worker in self._workers:
            worker.tell_to_end(at_once=at_once)
        for worker in self._workers:
            worker.stop(at_once=at_once)
        self._workers.clear()


class _Worker:
    """A process that runs one cell after another.

    It is forked from a server process that has imported what a cell needs.
    """

    def __init__(self, context: ForkServerContext) -> None:
        self.cell: Cell | None = None  # the cell that it runs
        self.connection, theirs = context.Pipe()
        self._process: BaseProcess = context.Process(target=serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()
        self._first_bytes: int | None = None

    def begin(self, cell: Cell, task: Task) -> bool:
        """Give it a cell; return False if the process has ended."""
        try:
            self.connection.send((work, task))
        except OSError:
            return False
        self.cell = cell
        return True

    def end(self) -> tuple[Cell | None, Done | None]:
        """Return its cell and the end of it; no end if it was killed."""
        cell, self.cell = self.cell, None
        try:
            done: Done = self.connection.recv()
        except (EOFError, OSError):
            return cell, None
        return cell, done

    def growth_bytes(self) -> int:
        """Return the memory that it holds beyond what it held after its first cell."""
        held = resident_bytes(self._process.pid or 0) or 0
        if self._first_bytes is None:
            self._first_bytes = held
        return held - self._first_bytes

    def tell_to_end(self, *, at_once: bool) -> None:
        """Tell it to end, and do not wait: an idle one ends by itself when its connection is closed."""
        self.connection.close()
        if at_once:
            self._process.terminate()

    def stop(self, *, at_once: bool) -> None:
        """End it, and wait until it has ended."""
        self.tell_to_end(at_once=at_once)
        self._process.join(ENDING_S)
        if self._process.is_alive() and not at_once:
            self._process.terminate()
            self._process.join(ENDING_S)
        if self._process.is_alive():  # a user's own code that does not end, or a process that was halted
            self._process.kill()
        self._process.join()
        self._process.close()


def serve(connection: Connection) -> None:
    """Run cells for a driver until it closes the connection or is gone, with the input files that were read before."""
    # Leave Ctrl-C to the driver, and end when the driver is gone. The parent of this process does not show
    # that: it stays as long as one of its children does.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    driver = multiprocessing.parent_process()
    if driver is not None:
        threading.Thread(target=_end_after, args=(driver,), name="driver", daemon=True).start()
    with inputs_shared(), suppress(EOFError, OSError):
        while True:
            do: tuple[Callable[[Task], Done], Task] = connection.recv()
            function, task = do
            connection.send(function(task))


def _end_after(driver: BaseProcess) -> None:
    driver.join()
    os._exit(1)


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


def resident_bytes(process: int) -> int | None:
    """Return the memory that a process holds; None if it has ended."""
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1])
    except (OSError, IndexError, ValueError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")
