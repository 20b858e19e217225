"""Batches of a run's records, and their writer, which writes in an order from which every crash can be repaired.

The writer blocks, so it works in a thread of its own while the run fills the next batch.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from time import perf_counter

import msgspec
from anyio import to_thread

from actors.store.checkpoint import CheckpointWriter
from actors.store.disk import Disk
from actors.store.journal_writer import JournalWriter
from actors.store.oracle_log import ANSWERS
from actors.store.rounds import ROUNDS

COMMITS_KEPT = 1000


class Batch(msgspec.Struct):
    """Records that wait to be written.

    Args:
        answers: frames for the oracle's log; `frames`: frames for the journal.
        rows: lines for the file of rounds, which a resume repairs.
    """

    answers: list[bytes] = []
    frames: list[bytes] = []
    rows: list[bytes] = []

    def __bool__(self) -> bool:
        return bool(self.answers or self.frames or self.rows)


class StoreCounters(msgspec.Struct):
    """Counts of what this process has written.

    Args:
        journal_bytes: the journal's length; `ticks`: whole ticks in it.
        checkpoints: checkpoints written; `checkpoint_tick`: ticks before the latest, 0 without one; `checkpoint_s`:
            the seconds that it took.
        commit_s: seconds that the latest writes of frames took, oldest first.
    """

    journal_bytes: int
    ticks: int
    checkpoints: int = 0
    checkpoint_tick: int = 0
    checkpoint_s: float = 0.0
    commit_s: deque[float] = msgspec.field(default_factory=lambda: deque(maxlen=COMMITS_KEPT))


Execute = Callable[[Callable[[], None]], Awaitable[None]]
"""A function that runs a blocking function."""


async def in_thread(function: Callable[[], None]) -> None:
    await to_thread.run_sync(function)


class RunWriter:
    """A writer of the files of one run. Every call may raise OSError.

    Args:
        statistics: the counts of the run so far, which the writer keeps up to date.
        keeps_answers: False for an oracle whose answers are not recorded.
        journal: the writer of the journal.
    """

    def __init__(self, disk: Disk, statistics: StoreCounters, *, keeps_answers: bool, journal: JournalWriter) -> None:
        self._disk = disk
        self.journal = journal
        """The journal, whose segments are written and taken out beside what this writer does."""
        self._statistics = statistics
        self._keeps_answers = keeps_answers
        self._answers_unsynced = True
        """True if a file may hold data that is not on the medium, such as the last writes of an earlier process."""
        self._rows_unsynced = self._rows_named = False
        """True if rows may not be on the medium; True if the name of their file is."""

    def write(self, batch: Batch) -> None:
        """Write the answers, then the frames that depend on them, then the rows."""
        if batch.answers:
            self._answers_unsynced = True
            self._disk.append(ANSWERS, b"".join(batch.answers))
        if batch.frames:
            begun = perf_counter()
            self._sync_answers()
            self.journal.append(batch.frames)
            self._statistics.journal_bytes += sum(map(len, batch.frames))
            self._statistics.ticks += len(batch.frames)
            self._statistics.commit_s.append(perf_counter() - begun)
        if batch.rows:
            self._rows_unsynced = True
            self._disk.append(ROUNDS, b"".join(batch.rows))

    def sync_all(self) -> None:
        """Wait until everything written is on the medium, also the last writes of an earlier process."""
        self._sync_answers()
        self.journal.sync()
        if self._rows_unsynced:
            self._rows_unsynced = False
            self._disk.sync(ROUNDS)
            if not self._rows_named:
                self._disk.sync_directory()  # else a power cut might keep a checkpoint's name and lose theirs
                self._rows_named = True

    def finish(self) -> None:
        """Wait until everything is on the medium, and find full segments that an earlier process has left."""
        self.sync_all()  # an answer may have come after the last checkpoint
        self.journal.open()

    def finish_checkpoint(self, draft: CheckpointWriter) -> None:
        """Put a whole checkpoint in place, or remove one that is not whole."""
        if not draft.is_whole:
            draft.remove(self._disk)
            return
        draft.put_in_place(self._disk)
        self._statistics.checkpoints += 1
        self._statistics.checkpoint_tick = draft.position.tick

    def _sync_answers(self) -> None:
        if self._keeps_answers and self._answers_unsynced:
            self._disk.sync(ANSWERS)
            self._answers_unsynced = False
