"""The cells of one call: those that wait, and those that wait again because their worker was lost."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence
from pathlib import Path

from actors.runs.directory import LOG
from actors.studies.experiments.cells import Done, cell_path
from actors.studies.experiments.plan import Cell
from actors.studies.experiments.standing import Progress

KILLS_MAX = 3  # the times that a cell may end its worker. Then it counts as failed: it may be the cause.
LOSSES_MAX = 20  # the times that a cell may lose its node: a cell is seldom the cause of that

OnDone = Callable[[Cell, Done], None]


class Batch:
    """The cells of one call of `run`."""

    def __init__(self, cells: Sequence[Cell], out: Path, on_done: OnDone, progress: Progress) -> None:
        self.problems: dict[str, str] = {}
        self._waiting = deque(cells)
        self._again = deque[Cell]()
        self._kills = Counter[str]()
        self._losses = Counter[str]()
        self._out, self._on_done, self._progress = out, on_done, progress
        progress.add(len(cells))

    @property
    def is_waiting(self) -> bool:
        return bool(self._waiting or self._again)

    @property
    def next_is_alone(self) -> bool:
        """True if all waiting cells had their worker killed: run together they may need too much memory."""
        return not self._waiting and bool(self._again)

    def take(self) -> Cell:
        """Return the next cell; cells that were never begun come first."""
        return (self._waiting or self._again).popleft()

    def give_back(self, cell: Cell) -> None:
        """Let a cell wait again that was not begun."""
        self._waiting.appendleft(cell)

    def end(self, cell: Cell, done: Done) -> None:
        """Note the end of a cell. A problem gets the name of the log, if there is one."""
        if done.problem:
            if (cell_path(self._out, cell) / LOG).exists():
                done = done._replace(problem=f"{done.problem}; see {LOG} there")
            self.problems[cell.key] = done.problem
        self._progress.end(done)
        self._on_done(cell, done)

    def kill(self, cell: Cell, place: str = "its process") -> None:
        """Note that the worker of a cell was killed: it waits again, or counts as failed."""
        self._progress.lose("worker killed")
        self._kills[cell.key] += 1
        if self._kills[cell.key] < KILLS_MAX:
            self._again.append(cell)
        else:
            self.end(cell, Done(f"{place} was killed {KILLS_MAX} times; is there enough memory?"))

    def lose(self, cell: Cell, reason: str) -> None:
        """Note that the node of a cell, or its result on the way, was lost: it waits again.

        Args:
            reason: one of a closed set, since it is a label of a metric.
        """
        self._progress.lose(reason)
        self._losses[cell.key] += 1
        if self._losses[cell.key] < LOSSES_MAX:
            self._again.append(cell)
        else:
            self.end(cell, Done(f"lost {LOSSES_MAX} times, at last by: {reason}"))
