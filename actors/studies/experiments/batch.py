"""The cells of one call of `run`: those that wait, those that wait again, and the standing of all at one instant."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from actors.metrics.histogram import Counts, Histogram
from actors.runs.directory import LOG
from actors.studies.experiments.cells import Done, cell_path
from actors.studies.experiments.plan import Cell

LOSSES = ("worker killed", "node lost", "worker replaced")
"""The reasons for which a cell is begun again, and `worker replaced`, by which no cell is lost."""
SECONDS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0, 14400.0, 86400.0)
"""The upper bounds of the histogram of seconds a cell."""


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    total: int = 0  # the cells that were to be run
    done: int = 0
    failed: int = 0
    running: int = 0
    losses: Mapping[str, int] = msgspec.field(default_factory=lambda: dict.fromkeys(LOSSES, 0))  # `{reason: times}`
    seconds: Counts  # the time of the cells that are done
    note: str = ""  # the latest thing to say, in a line

    @property
    def waiting(self) -> int:
        """The cells that are neither ended nor running."""
        return max(0, self.total - self.done - self.failed - self.running)


class Progress:
    """The progress of an experiment. One thread tells it what happens, and others read its standing, a whole value."""

    def __init__(self) -> None:
        self._seconds = Histogram(SECONDS)
        self._standing = Standing(seconds=self._seconds.counts())

    def standing(self) -> Standing:
        return self._standing

    def tell(self, **now: Any) -> None:
        """Replace fields of the standing, such as `running` or `note`."""
        self._standing = replace(self._standing, **now)

    def end(self, done: Done) -> None:
        if done.problem:
            self.tell(failed=self._standing.failed + 1)
        else:
            self._seconds.observe(done.wall_s)
            self.tell(done=self._standing.done + 1, seconds=self._seconds.counts())

    def lose(self, reason: str) -> None:
        """Note a loss for one of the reasons in `LOSSES`."""
        self.tell(losses={**self._standing.losses, reason: self._standing.losses[reason] + 1})


KILLS_MAX = 3  # the times that a cell may end its worker. Then it counts as failed: it may be the cause.
LOSSES_MAX = 20  # the times that a cell may lose its node: a cell is seldom the cause of that

OnDone = Callable[[Cell, Done], None]


class Batch:
    """The cells of one call of `run`."""

    def __init__(self, cells: Sequence[Cell], out: Path, on_done: OnDone, progress: Progress) -> None:
        self.problems: dict[str, str] = {}
        self._waiting = deque(cells)
        self._again = deque[Cell]()
        self._times = Counter[tuple[str, str]]()
        self._out, self._on_done, self._progress = out, on_done, progress
        progress.tell(total=progress.standing().total + len(cells))

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
        self._again_or(
            cell, "worker killed", KILLS_MAX, f"{place} was killed {KILLS_MAX} times; is there enough memory?"
        )

    def lose(self, cell: Cell) -> None:
        """Note that the node of a cell was lost: the cell waits again, or counts as failed."""
        self._again_or(cell, "node lost", LOSSES_MAX, f"its node was lost {LOSSES_MAX} times")

    def _again_or(self, cell: Cell, reason: str, most: int, problem: str) -> None:
        self._progress.lose(reason)
        self._times[cell.key, reason] += 1
        if self._times[cell.key, reason] < most:
            self._again.append(cell)
        else:
            self.end(cell, Done(problem))
