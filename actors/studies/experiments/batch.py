"""The run of cells at a place, and their standing at one instant."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from pathlib import Path
from typing import Any, Self

import msgspec
from msgspec.structs import replace

from actors.runs.directory import LOG
from actors.studies.experiments.cells import Done, cell_path
from actors.studies.experiments.plan import Cell
from prism.errors import PrismError

KILLED, LOST = "worker killed", "node lost"
TIMES_MAX = {KILLED: 3, LOST: 20}
"""`{reason: the times for which a cell is begun again}`. Then it counts as failed: it may be the cause of a kill."""


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    total: int = 0  # the cells that were to be run
    done: int = 0
    failed: int = 0
    running: int = 0
    losses: Mapping[str, int] = {}  # `{reason: times}`
    note: str = ""  # the latest thing to say, in a line

    @property
    def waiting(self) -> int:
        """The cells that are neither ended nor running."""
        return max(0, self.total - self.done - self.failed - self.running)


WAIT_S = 1.0  # the longest wait for the end of a cell

OnDone = Callable[[Cell, Done], None]


class LostError(Exception):
    """A cell has lost its worker, so it is to be begun again.

    Args:
        reason: one of those in `TIMES_MAX`.
        what: what was lost, such as `its process was killed`.
    """

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
        """Replace fields of the standing, such as `running` or `note`."""
        self.standing = replace(self.standing, **now)

    @abstractmethod
    def at_once(self, cells: Sequence[Cell], *, are_suspect: bool) -> int:
        """Return how many of some cells may run at once; `are_suspect`: each of them has lost its worker before."""

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
                while (waiting or again) and len(flying) < self.at_once(cells, are_suspect=not waiting):
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
