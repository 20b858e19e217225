"""The record of a run on disk, written in an order from which every crash can be repaired.

    the oracle's answers, before anything acts on them
    the frames of whole ticks, after the answers in them are on the medium
    a checkpoint, after the frame it follows: it gets its name when that frame is on the medium

One task writes, in a thread, so that a slow disk does not hold up the event loop. It takes all records since its last
write as one batch, so faster ticks do not cause more waits for the medium. A run may be at most `PENDING_MAX` frames
and `PENDING_BYTES` ahead of its disk, and it waits while two segments are full. A checkpoint is written beside the next
batches, while it is still being copied; so are segments.
"""

from __future__ import annotations

import errno
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import anyio
from anyio.abc import TaskGroup

from actors.core.errors import RESUME, JournalError
from actors.core.events import CheckpointWritten, emit
from actors.core.messages import Decided
from actors.core.ports import Observer, Record
from actors.runtime.gc_pause import return_free_memory
from actors.store.batch_writer import Batch, Execute, RunWriter, StoreCounters, in_thread
from actors.store.checkpoint import CheckpointWriter, Position
from actors.store.disk import Disk
from actors.store.journal_writer import JournalWriter
from actors.store.oracle_log import ANSWERS, encode_answer
from actors.store.recorded_ticks import RecordedTicks
from actors.store.rounds import ROUNDS
from prism.agents import Question
from prism.sharing.archetype import Judged

if TYPE_CHECKING:
    from hashlib import _Hash as Hash  # the type has no public name

PENDING_MAX = 64
"""Frames that may wait for the disk."""

PENDING_BYTES = 16 << 20
"""Bytes of frames that may wait for the disk, where there is more than one: a tick of a million people has 7 MB."""

COPIED_BYTES = 64 << 20
"""Bytes that are copied for a checkpoint and may wait for the disk: of a million people it has half a gigabyte."""

LENGTHS_KEPT = 1002
"""Ticks whose length of the oracle's log is kept. For older ones the length at the first tick serves, which is less."""


class RecordedBefore(Record):
    """The part of a record that earlier processes have written."""

    def __init__(self, recorded: RecordedTicks) -> None:
        self._recorded = recorded
        self._recorded_answers = recorded.answers()
        self.shapes = recorded.shapes

    def late_agents(self, tick: int) -> frozenset[int] | None:
        return self._recorded.late_agents(tick)

    def is_recorded(self, tick: int) -> bool:
        return tick < self._recorded.ticks

    def recorded_ticks(self) -> int:
        return self._recorded.ticks

    def recorded_answer(self, question: Question[Any]) -> Decided | None:
        return self._recorded_answers.take(question)

    def has_answers(self) -> bool:
        return self._recorded_answers.are_left()

    def judgements(self) -> Sequence[Judged]:
        return self._recorded_answers.judgements()


class RunStore(RecordedBefore):
    """The files of one run, open for writing.

    Args:
        recorded: the ticks already in the journal: they are run again and compared before a new one is written.
        keeps_answers: False for an oracle that computes its answers, and would compute the same ones again.
        answered_after: ticks after which a question's answer must be in the log; None if it need not be.
        segment_bytes: the bytes of ticks that are sealed together; 0 seals nothing.
    """

    def __init__(
        self,
        disk: Disk,
        recorded: RecordedTicks,
        *,
        keeps_answers: bool,
        answered_after: int | None = None,
        segment_bytes: int = 0,
        execute: Execute = in_thread,
        observer: Observer | None = None,
    ) -> None:
        super().__init__(recorded)
        self.statistics = StoreCounters(recorded.end, recorded.ticks)
        self._disk = disk
        self._execute = execute
        self._observer = observer or Observer()
        self._observer.resumed(recorded.end, recorded.ticks)
        journal = JournalWriter(disk, segment_bytes)
        self._writer = RunWriter(disk, self.statistics, keeps_answers=keeps_answers, journal=journal)
        self._answered_after = answered_after
        self._keeps_answers = keeps_answers
        self._batch, self._writing = Batch(), Batch()
        self._begun = self._done = 0
        """Batches whose writing has begun, and batches that are written."""
        self._draft: CheckpointWriter | None = None
        """The next checkpoint."""
        self._written_draft: CheckpointWriter | None = None
        """The checkpoint that is being written."""
        self._sealing_since: float | None = None
        """The start of writing segments; None while none are written."""
        self._syncs = False
        """True if all of the next batch must be on the medium before it counts as written."""
        self._frame_end, self._answers_bytes = recorded.start, recorded.answers_end
        self._log_lengths = LogLengths(recorded.tick, recorded.answers_from)
        self._rows: Hash | None = None
        """The hash of all that is in the file of rounds; None without one."""
        self._changed, self._written = anyio.Event(), anyio.Event()
        self._is_closing = self._is_closed = False
        self._error: OSError | None = None
        self._writes: dict[object, float] = {}
        """`{write under way: time of its start}`: one of the journal, and one of a checkpoint."""

    async def run(self) -> None:
        try:
            await self._write_all()
        finally:
            self._is_closed = True
            if self._draft is not None:
                self._draft.give_up()
            self._wake_waiters()

    async def _write_all(self) -> None:
        async with anyio.create_task_group() as tasks:
            while self._error is None:
                if self._draft is not None and self._written_draft is None:
                    self._written_draft, self._draft = self._draft, None
                    tasks.start_soon(self._write_checkpoint, self._written_draft)
                if await self._seal(tasks):
                    continue
                if self._batch or self._syncs:
                    await self._write_batch()
                elif self._is_closing and self._written_draft is None and self._sealing_since is None:
                    await self._attempt(self._writer.finish)
                    if not self._batch and not self._writer.journal.full:
                        break
                else:
                    self._changed = anyio.Event()
                    await self._changed.wait()
            # The disk has failed. Forks end here: they would write drafts for minutes more.
            for draft in filter(None, (self._written_draft, self._draft)):
                draft.give_up()
            if self._draft is not None:
                tasks.start_soon(self._write_checkpoint, self._draft)  # it waits for the draft, and removes its file
                self._draft = None

    async def _seal(self, tasks: TaskGroup) -> bool:
        """Do the next step of sealing, if there is one; return whether it took time."""
        journal = self._writer.journal
        if journal.full and not journal.has_written and self._sealing_since is None:
            self._sealing_since = anyio.current_time()
            tasks.start_soon(self._write_segments)
        if journal.has_written and self._sealing_since is None:
            await self._attempt(journal.take_out)
            self._wake_waiters()
            return True
        return False

    async def _write_batch(self) -> None:
        self._writing, self._batch = self._batch, Batch()
        syncs, self._syncs = self._syncs, False
        self._begun += 1

        def write() -> None:
            self._writer.write(self._writing)
            if syncs:
                self._writer.sync_all()

        await self._attempt(write)
        if (frames := self._writing.frames) and self._error is None:
            self._observer.committed(self.statistics.commit_s[-1], sum(map(len, frames)), len(frames))
        self._writing = Batch()
        if self._error is None:
            self._done += 1
        self._wake_waiters()

    async def _write_segments(self) -> None:
        """Write the segments that are full, beside the batches."""
        try:
            await self._execute(self._writer.journal.write_segments)
            await self._execute(return_free_memory)
        except OSError as error:
            self._error = error
        self._sealing_since = None
        self._changed.set()
        self._wake_waiters()

    async def _write_checkpoint(self, draft: CheckpointWriter) -> None:
        """Write a checkpoint while it is being copied; put it in place once everything before it is on the medium."""
        begun = anyio.current_time()
        while await draft.has_more() and self._error is None:
            await self._attempt(partial(draft.write, self._disk))
            self._wake_waiters()
        if draft.is_whole:
            # Wait until everything so far is on the medium, or the disk fails.
            self._syncs = True
            self._changed.set()
            batch = self._begun + 1
            while self._done < batch and self._error is None:
                await self._written.wait()
        if self._error is None:
            await self._attempt(partial(self._writer.finish_checkpoint, draft))
            if draft.is_whole and self._error is None:
                self._observer.checkpointed()
                self.statistics.checkpoint_s = lasted_s = anyio.current_time() - begun
                emit(CheckpointWritten(at_tick=draft.position.tick, size=draft.size, duration_s=round(lasted_s, 3)))
                await self._execute(return_free_memory)
        if self._error is not None:
            with suppress(OSError):  # on a full disk the space of a partial checkpoint is needed
                await self._execute(partial(draft.remove, self._disk))
        self._written_draft = None
        self._changed.set()
        self._wake_waiters()

    def recorded_answer(self, question: Question[Any]) -> Decided | None:
        """Return the answer that was recorded before the resume; None if there is none.

        Raises:
            JournalError: there is no answer, though the journal has the decision that depends on it.
        """
        decided = super().recorded_answer(question)
        if decided is None and self._answered_after is not None:
            effect = question.tick + self._answered_after
            if effect < self._recorded.ticks:
                raise JournalError(
                    f"{ANSWERS}: has no answer to agent {question.agent}'s {question.trigger!r} of tick "
                    f"{question.tick}, on which tick {effect} of the journal depends; a part of it is lost"
                )
        return decided

    def has_answers(self) -> bool:
        return self._answered_after is not None or super().has_answers()

    async def keep(self, *records: bytes) -> None:
        if not self._keeps_answers:
            return
        for record in records:
            frame = encode_answer(record)
            self._answers_bytes += len(frame)
            self._batch.answers.append(frame)
        self._changed.set()
        batch = self._begun + 1
        await self._wait_until(lambda: self._done >= batch)

    async def commit(self, tick: int, frame: bytes) -> None:
        """Compare a frame with its record; if there is none, add it to the next batch."""
        self._check()
        self._frame_end += len(frame)
        if not self._recorded.compare(tick, frame):
            self._batch.frames.append(frame)
            self._changed.set()
            await self._wait_until(self._is_near)
        elif self._recorded.must_read_on:
            await self._execute(self._recorded.read_on)
        self._log_lengths.add(tick + 1, self._answers_bytes)

    def _is_near(self) -> bool:
        if self._writer.journal.is_ahead:
            return False
        waiting = [*self._batch.frames, *self._writing.frames]
        return len(waiting) <= 1 or (len(waiting) <= PENDING_MAX and sum(map(len, waiting)) <= PENDING_BYTES)

    def continue_rows(self, content: bytes) -> None:
        """Note the present content of the file of rounds. Called before the first `append_row`."""
        self._rows = sha256(content)

    def append_row(self, text: str) -> None:
        row = text.encode() + b"\n"
        self._rows = self._rows or sha256()
        self._rows.update(row)
        self._batch.rows.append(row)
        self._changed.set()

    def position(self, tick: int, link: bytes, oldest_asked: int) -> Position:
        """Return the position of a checkpoint after `tick` ticks; `oldest_asked` is the tick of its oldest question."""
        used_up = self._recorded_answers.is_used_up(oldest_asked)
        return Position(
            tick=tick,
            journal_bytes=self._frame_end,
            link=link,
            answers_bytes=self._log_lengths.length_at(oldest_asked) if used_up else self._recorded.answers_from,
            answers_end=self._answers_bytes,
            lines={} if self._rows is None else {ROUNDS: self._rows.digest()},
        )

    def checkpoint(self, draft: CheckpointWriter) -> None:
        """Write a checkpoint while it is being copied, and put it in place after everything before it.

        A checkpoint that still waits for an earlier one is replaced by this one.

        Raises:
            JournalError: the disk failed, so the checkpoint is given up.
        """
        try:
            self._check()
        except JournalError:
            draft.give_up()
            raise
        self._draft = draft
        self._changed.set()

    @property
    def is_checkpointing(self) -> bool:
        """True while a checkpoint is being written."""
        return self._written_draft is not None or self._draft is not None

    async def checkpointed(self) -> None:
        """Wait until no checkpoint is being written."""
        await self._wait_until(lambda: not self.is_checkpointing)

    async def room_for(self, draft: CheckpointWriter) -> None:
        """Wait until the data copied for a checkpoint is not too far ahead of the disk.

        Raises:
            JournalError: the disk failed.
        """
        if draft.waiting_bytes > COPIED_BYTES:
            await self._wait_until(lambda: draft.waiting_bytes <= COPIED_BYTES)

    async def close(self) -> None:
        """Wait until everything is written.

        Raises:
            JournalError: the disk failed.
        """
        self._is_closing = True
        self._changed.set()
        await self._wait_until(lambda: self._is_closed)

    def stands_since(self) -> float | None:
        """Return the start of the longest write under way; None while there is none.

        A write of segments counts only if the run waits for it.
        """
        writes = [*self._writes.values()]
        if self._sealing_since is not None and (self._is_closing or self._writer.journal.is_ahead):
            writes.append(self._sealing_since)
        return min(writes, default=None)

    async def _attempt(self, function: Callable[[], None]) -> None:
        self._writes[function] = anyio.current_time()
        try:
            await self._execute(function)
        except OSError as error:
            self._error = error
        finally:
            del self._writes[function]

    def _wake_waiters(self) -> None:
        self._written.set()
        self._written = anyio.Event()

    async def _wait_until(self, is_true: Callable[[], bool]) -> None:
        self._check()
        while not is_true():
            await self._written.wait()
            self._check()

    def _check(self) -> None:
        if (error := self._error) is not None:
            problem = f"{error.filename or 'the run directory'}: cannot be written: {error.strerror}"
            mended = "free some space" if error.errno in (errno.ENOSPC, errno.EDQUOT) else "repair the disk"
            raise JournalError(f"{problem}; what was committed is safe: {mended}, then {RESUME}") from error


class LogLengths:
    """The length of the oracle's log at the beginning of each of the latest ticks.

    Args:
        length: the length then, and at every tick before it.
    """

    def __init__(self, tick: int, length: int) -> None:
        self._first = length
        self._lengths = deque([(0, length), (tick, length)], maxlen=LENGTHS_KEPT)

    def add(self, tick: int, length: int) -> None:
        self._lengths.append((tick, length))

    def length_at(self, tick: int) -> int:
        """Return the length at the beginning of a tick, or of an earlier one if the tick is long past."""
        return max((length for begun, length in self._lengths if begun <= tick), default=self._first)
