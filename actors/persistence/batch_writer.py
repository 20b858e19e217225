"""Batches of what a run has to keep, and how they are written: in an order that lets any crash be mended.

The writer blocks, so it works in a thread of its own while the run goes on with the next batch.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from time import perf_counter

import msgspec
from anyio import to_thread

from actors.core.errors import JournalError
from actors.persistence.checkpoint_writer import CheckpointWriter
from actors.persistence.disk import Disk
from actors.persistence.journal import JOURNAL
from actors.persistence.oracle_log import ANSWERS

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


class StoreCounters(msgspec.Struct):
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


Execute = Callable[[Callable[[], None]], Awaitable[None]]
"""Runs something that blocks."""


async def in_thread(function: Callable[[], None]) -> None:
    """Run something that blocks, in a thread."""
    await to_thread.run_sync(function)


def not_written(error: OSError) -> JournalError:
    """What a run ends with where its disk fails."""
    where = f"{error.filename or 'the run directory'}: cannot be written: {error.strerror}"
    return JournalError(f"{where}; what was committed is safe: mend it, then `prism resume` goes on from there")


class RunWriter:
    """Writes the files of one run. Every call may raise OSError.

    Args:
        statistics: of the run so far; kept up to date.
        keeps_answers: False for an oracle whose answers nobody keeps.
        keep: checkpoints that are kept.
    """

    def __init__(self, disk: Disk, statistics: StoreCounters, *, keeps_answers: bool, keep: int) -> None:
        self._disk = disk
        self._statistics = statistics
        self._keeps_answers = keeps_answers
        self._keep = keep
        self._answers_unsynced = self._journal_unsynced = True
        """Whether a file may hold what is not on the medium; what an earlier life left may not be."""
        self._unsynced_lines: dict[str, None] = {}
        self._named: set[str] = set()
        """Files of lines whose names are on the medium."""

    def write(self, batch: Batch) -> None:
        """Answers, then the frames that follow from them, then lines."""
        if batch.answers:
            self._answers_unsynced = True
            self._disk.append(ANSWERS, b"".join(batch.answers))
        if batch.frames:
            self._write_frames(batch.frames)
        for file, lines in batch.lines.items():
            self._disk.append(file, b"".join(lines))
            self._unsynced_lines[file] = None

    def settle(self) -> None:
        """Wait until all that was written is on the medium, an earlier life's end too."""
        self._sync_answers()
        self._sync_journal()
        lines, self._unsynced_lines = self._unsynced_lines, {}
        for file in lines:
            self._disk.sync(file)
        if not self._named.issuperset(lines):
            self._disk.sync_directory()  # or a power cut might keep a checkpoint's name and lose theirs
            self._named.update(lines)

    def end(self, draft: CheckpointWriter) -> None:
        """Put a checkpoint in place, or remove one that was given up."""
        if not draft.is_whole:
            draft.remove(self._disk)
            return
        draft.put(self._disk, self._keep)
        self._statistics.checkpoints += 1
        self._statistics.checkpoint_tick = draft.position.tick

    def _write_frames(self, frames: list[bytes]) -> None:
        begun, data = perf_counter(), b"".join(frames)
        self._sync_answers()
        self._journal_unsynced = True
        self._disk.append(JOURNAL, data)
        self._sync_journal()
        self._statistics.journal_bytes += len(data)
        self._statistics.ticks += len(frames)
        self._statistics.commit_s.append(perf_counter() - begun)

    def _sync_answers(self) -> None:
        if self._keeps_answers and self._answers_unsynced:
            self._disk.sync(ANSWERS)
            self._answers_unsynced = False

    def _sync_journal(self) -> None:
        if self._journal_unsynced:
            self._disk.sync(JOURNAL)
            self._journal_unsynced = False
