"""The cells of an experiment, each a run in a directory named by its key, and the place where they are run.

The place is processes of this machine, which stay warm and are replaced when one of them is killed, or a cluster of
Ray.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import threading
import time
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self

import msgspec
from msgspec.structs import replace

from actors.core.errors import REPEAT, RESUME, PlaceError, RunDirectoryError, RunLockedError
from actors.core.forkserver import forkserver
from actors.core.machine import processors
from actors.factory.domains import entrust
from actors.factory.input_files import kept_inputs, note_files, place_of, share_inputs
from actors.factory.own_code import raised
from actors.results.api import resume, run
from actors.results.result import RunResult
from actors.runs.directory import LOG, RunDirectory
from actors.runs.replay import at_once
from actors.store.lock import locked
from actors.store.manifest import CONFIG, MANIFEST, read_manifest, read_summary
from actors.studies.experiments.plan import Cell, Plan, settings_hash
from actors.studies.gateway.place import GatewayPlace
from prism.config import Config
from prism.errors import PrismError
from prism.llm.headers import through

CELLS = "cells"
LOCKED_WAIT_S = 1.0
LOCKED_TRIES = 10  # a worker whose driver was killed ends within a second; until then it holds the lock of its cell


class Task(NamedTuple):
    """The work of a process: a cell, its directory, and the hashes of its input files when it was planned."""

    config: Config
    path: Path
    inputs: Mapping[str, str]
    gateway: GatewayPlace | None = None  # asks the servers of models for the cell; None if it asks for itself
    # `{kept input that the configuration names: its place here}`, which another process does not know
    kept: Mapping[str, Path] = {}


class Done(NamedTuple):
    problem: str = ""  # why it has no result, on one line; empty if it has
    wall_s: float = 0.0  # the time that it took here; 0 if it was done already
    signal: str = ""  # the signal that stopped it, as on a node that is shut down; empty if no signal did


class HasKey(Protocol):
    """A cell, or what a file of its plan keeps of it."""

    @property
    def key(self) -> str: ...


def cell_path(out: Path, cell: HasKey) -> Path:
    return out / CELLS / cell.key


def is_done(path: Path) -> bool:
    """Return whether the run of a cell has all its ticks, as its summary says. Nothing else of it is read."""
    return str(read_summary(path).get("status", "")).startswith("done")


def count_done(out: Path) -> int:
    """Return the number of cells in an experiment's directory that are done, of this plan and of earlier ones."""
    return sum(is_done(path) for path in (out / CELLS).glob("*"))


def cells_begun(out: Path) -> list[Path]:
    """Return the runs in an experiment's directory, whether they have ended or not."""
    return [*(out / CELLS).glob("*")]


def work(task: Task) -> Done:
    """Run a cell, or continue it, in this process. It raises no error: the returned end names the problem."""
    begun = time.monotonic()
    try:
        for _ in range(LOCKED_TRIES):
            try:
                result = _executed(task)
            except RunLockedError:
                time.sleep(LOCKED_WAIT_S)
                continue
            if result.is_done:
                return Done(wall_s=time.monotonic() - begun)
            stopped_by = result.summary.stopped_by or ""
            signal_name = stopped_by if stopped_by.startswith("SIG") else ""
            return Done(f"{task.path}: stopped before its end by {stopped_by}", signal=signal_name)
        return Done(f"{task.path}: another process still works on it")
    except PrismError as error:
        return Done(" ".join(str(error).replace(RESUME, REPEAT).split()))
    except MemoryError:
        return Done(f"{task.path}: needs more memory than its process may use")
    except OSError as error:  # the error of a directory that cannot be made again
        return Done(f"{task.path}: {error.strerror or error}")
    except Exception as error:  # noqa: BLE001  # a user's code, of a domain or a chart, may raise anything
        return Done(f"{task.path}: raised {raised(error)}")


def _executed(task: Task) -> RunResult:
    path, gateway = task.path, task.gateway
    with through(None if gateway is None else gateway.of_cell(task.config, settings_hash(task.config))):
        note_files(task.kept)
        entrust(task.config)  # its user has planned it, maybe on another machine
        # A run can be continued if it has a journal, and a manifest that can be read.
        manifest = None
        if (path / MANIFEST).exists() and (path / CONFIG).exists() and not RunDirectory(path).is_unstarted:
            with suppress(RunDirectoryError):
                manifest = read_manifest(path)
        if manifest is None and path.exists():
            _discard(path)
        result = run(at_once(task.config), out=path) if manifest is None else resume(path)
    # Discard a run whose input files are not those of its key: they have changed since the plan was made.
    used = {*read_manifest(path).inputs.values()}
    for name, planned in task.inputs.items():
        if planned not in used:
            _discard(path)
            raise RunDirectoryError(f"{path}: {name} has changed since the plan was made, so the run is discarded")
    return result


def _discard(path: Path) -> None:
    """Remove a cell's directory, unless another process works on it."""
    with locked(path):
        shutil.rmtree(path)


KILLED, LOST = "worker killed", "node lost"
TIMES_MAX = {KILLED: 3, LOST: 20}
"""`{reason: the times for which a cell is begun again}`. Then it counts as failed: it may be the cause of a kill."""


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    total: int = 0  # the cells that were to be run
    done: int = 0
    failed: int = 0
    running: int = 0
    losses: Mapping[str, int] = {}  # `{reason: times}`


WAIT_S = 1.0  # the longest wait for the end of a cell

OnDone = Callable[[Cell, Done], None]


class LostError(Exception):
    """A cell has lost its worker, for one of the reasons in `TIMES_MAX`, so it is to be begun again."""

    def __init__(self, reason: str, what: str) -> None:
        self.reason = reason
        super().__init__(f"{what} {TIMES_MAX[reason]} times{'; is there enough memory?' if reason == KILLED else ''}")


class Executor(ABC):
    """A place that runs cells. Its workers stay between calls of `run`, so that they keep what they loaded."""

    def __init__(self) -> None:
        self.standing = Standing()  # of all calls of `run` together; a whole value, so another thread may read it

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, at: object) -> None:
        """Leave the place, and end its workers."""
        self.stop()

    def tell(self, **now: Any) -> None:
        """Replace fields of the standing, such as `running`."""
        self.standing = replace(self.standing, **now)

    @abstractmethod
    def at_once(self, *, are_suspect: bool) -> int:
        """Return how many cells may run at once; `are_suspect`: each of them has lost its worker before."""

    @abstractmethod
    def begin(self, cell: Cell, out: Path) -> Future[Any]:
        """Begin a cell; an error of PRISM or of the system is the reason why it cannot be run."""

    @abstractmethod
    def end(self, cell: Cell, begun: Future[Any], out: Path) -> Done:
        """Return the end of a cell, or raise `LostError`."""

    def look(self, running: int) -> None:
        """Note how many cells are running. It is called about once a second."""
        self.tell(running=running)

    @abstractmethod
    def stop(self) -> None:
        """End all workers at once, because an error ends the run."""

    def run(self, cells: Sequence[Cell], out: Path, on_done: OnDone) -> dict[str, str]:
        """Run cells, and return `{key: problem}` of those that failed."""
        problems, times = dict[str, str](), Counter[tuple[str, str]]()
        waiting, again, flying = deque(cells), deque[Cell](), dict[Future[Any], Cell]()
        self.tell(total=self.standing.total + len(cells))

        def ended(cell: Cell, done: Done) -> None:
            if done.problem:  # it gets the name of the log, if there is one
                log = f"; see {LOG} there" if (cell_path(out, cell) / LOG).exists() else ""
                done = done._replace(problem=f"{' '.join(done.problem.split())}{log}")
                problems[cell.key] = done.problem
            name = "failed" if done.problem else "done"
            self.tell(**{name: getattr(self.standing, name) + 1})
            on_done(cell, done)

        try:
            while waiting or again or flying:
                # Cells that were never begun come first. The others may need too much memory together.
                while (waiting or again) and len(flying) < self.at_once(are_suspect=not waiting):
                    cell = (waiting or again).popleft()
                    try:
                        flying[self.begin(cell, out)] = cell
                    except (PrismError, OSError) as error:
                        ended(cell, Done(str(error)))
                self.look(len(flying))
                for begun in wait(flying, WAIT_S, FIRST_COMPLETED).done:
                    cell = flying.pop(begun)
                    try:
                        ended(cell, self.end(cell, begun, out))
                    except LostError as lost:
                        losses = self.standing.losses
                        self.tell(losses={**losses, lost.reason: losses.get(lost.reason, 0) + 1})
                        times[cell.key, lost.reason] += 1
                        if times[cell.key, lost.reason] < TIMES_MAX[lost.reason]:
                            again.append(cell)
                        else:
                            ended(cell, Done(str(lost)))
        except BaseException:
            self.stop()
            raise
        return problems


class Pool:
    """Processes that end with their block, at once if an error leaves it, and with this process if it is killed.

    Args:
        number: how many there are at most.
        begin: called in each process first, if given.
    """

    def __init__(self, number: int, begin: Callable[[], None] | None = None) -> None:
        context = forkserver(__name__, "prism.social.domain")
        ours, self._open = context.Pipe(duplex=False)  # it closes when this process ends, in whichever way
        self._pool = ProcessPoolExecutor(number, context, _begin, (ours, begin))
        self.submit = self._pool.submit

    def stop(self, *, at_once: bool) -> None:
        if at_once:
            self._open.close()
        self._pool.shutdown(cancel_futures=True)
        self._open.close()


def _begin(theirs: Connection, begin: Callable[[], None] | None) -> None:
    """Leave Ctrl-C to the first process, and end when it is gone or closes its pipe."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def end_with() -> None:
        theirs.poll(None)
        os._exit(1)

    threading.Thread(target=end_with, name="first process", daemon=True).start()
    if begin is not None:
        begin()


class Processes(Executor):
    """Processes of this machine."""

    def __init__(self, jobs: int | None, gateway: GatewayPlace | None = None) -> None:
        super().__init__()
        self._jobs, self._gateway = jobs, gateway
        self._pool: Pool | None = None
        self._pools: dict[Future[Done], Pool] = {}  # `{cell that was begun: its pool}`

    def at_once(self, *, are_suspect: bool) -> int:
        """Return how many cells run at once: one, if each has ended its process before."""
        return 1 if are_suspect else self._jobs or processors()

    def begin(self, cell: Cell, out: Path) -> Future[Done]:
        kept = {name: place_of(name).absolute() for name in kept_inputs(cell.config)}
        task = Task(cell.config, cell_path(out, cell), cell.inputs, self._gateway, kept)
        if self._pool is None:
            self._pool = Pool(self._jobs or processors())
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

    def stop(self, *, at_once: bool = True) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.stop(at_once=at_once)

    def __exit__(self, kind: object, error: BaseException | None, at: object) -> None:
        self.stop(at_once=error is not None)


def _worked(function: Callable[[Task], Done], task: Task) -> Done:
    """Run a cell in this process, with the input files that were read before. One that was stopped ends the process."""
    share_inputs()
    done = function(task)
    if done.signal:
        os._exit(1)
    return done


PROCESSES = "processes"


def cells_to_do(plan: Plan, out: Path) -> list[Cell]:
    """Return the cells that are not done yet, each key once."""
    left = {cell.key: cell for cell in plan.cells}
    return [cell for cell in left.values() if not is_done(cell_path(out, cell))]


class Where(msgspec.Struct, frozen=True, kw_only=True):
    # `processes` of this machine; `ray`, the cluster that runs here or one that is started for the experiment;
    # `ray://HOST:PORT`, a cluster elsewhere; `HOST:PORT`, the cluster that this node is part of
    on: str = PROCESSES
    jobs: int | None = None  # cells at once, 1 or more; None for one on each processor
    gateway: GatewayPlace | None = None  # asks the servers of models for all cells; None if each asks for itself


def opened(where: Where) -> Executor:
    """Return the place where cells are run. Its workers end with its block."""
    if where.on == PROCESSES:
        return Processes(where.jobs, where.gateway)
    if where.on != "ray" and re.fullmatch(r"(ray://)?[^\s/:]+:\d{1,5}", where.on) is None:
        raise PlaceError(f"--on {where.on}: expected processes, ray, ray://HOST:PORT or HOST:PORT")
    from actors.studies.experiments.on_ray import OnRay  # noqa: PLC0415  # an extra

    return OnRay(where.on, where.jobs, where.gateway)
