"""What a run's store holds: what waits to be written, what was written, where in the oracle's log each tick began."""

from __future__ import annotations

from collections import deque

import msgspec

COMMITS_KEPT = 1000

MARKS_KEPT = 1002
"""Ticks whose place in the oracle's log is remembered: the longest lookahead and two to spare."""


class Batch(msgspec.Struct):
    """What waits to be written.

    Args:
        lines: `{file: text to append}`, for files that a resumed run mends by itself.
    """

    answers: list[bytes] = []
    frames: list[bytes] = []
    lines: dict[str, list[bytes]] = {}

    def __bool__(self) -> bool:
        return bool(self.answers or self.frames or self.lines)


class StoreStatistics(msgspec.Struct):
    """What has been written since this process began.

    Args:
        journal_bytes: the journal's length; `ticks`: whole ticks in it.
        checkpoint_tick: ticks before the latest checkpoint; 0 without one.
        commit_s: seconds that the latest writes of frames took, oldest first.
    """

    journal_bytes: int
    ticks: int
    checkpoints: int = 0
    checkpoint_tick: int = 0
    commit_s: deque[float] = msgspec.field(default_factory=lambda: deque(maxlen=COMMITS_KEPT))


class Marks:
    """The length of the oracle's log at the beginning of each of the latest ticks.

    Args:
        tick: the first tick.
        length: of the log then, and for every tick before it.
    """

    def __init__(self, tick: int, length: int) -> None:
        self._marks = deque([(0, length), (tick, length)], maxlen=MARKS_KEPT)

    def note(self, tick: int, length: int) -> None:
        """A tick begins, with a log of this length."""
        self._marks.append((tick, length))

    def length_at(self, tick: int) -> int:
        """The length of the log when this tick began."""
        return max(length for marked, length in self._marks if marked <= tick)
