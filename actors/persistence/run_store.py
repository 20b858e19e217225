"""What a running simulation puts on disk, in an order that lets any crash be mended.

    the oracle's answers, before anybody acts on them
    the frames of whole ticks, after the answers in them are on the medium
    a checkpoint, after the frame it follows: it gets its name when that frame is on the medium

One task writes, in a thread, so that a slow disk holds up no event loop. It takes what has gathered since its last
write as one batch: the faster the ticks, the fewer the waits for the medium. A run may be `PENDING_MAX` frames ahead
of its disk, no more. A checkpoint is written beside the next batches, while it is still being copied.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import anyio

from actors.core.errors import JournalError
from actors.core.messages import Decided
from actors.core.ports import Observer, Record
from actors.persistence.batch_writer import Batch, Execute, Marks, RunWriter, StoreCounters, in_thread, not_written
from actors.persistence.checkpoint import Position
from actors.persistence.checkpoint_writer import CheckpointWriter
from actors.persistence.disk import Disk
from actors.persistence.oracle_log import ANSWERS, RecordedAnswers, encode_answer
from actors.persistence.recorded_ticks import RecordedTicks
from prism.agents import Question

PENDING_MAX = 64
"""Frames that may wait for the disk."""


class RunStore(Record):
    """The files of one run, open for writing.

    Args:
        disk: where they are.
        recorded: what is there already: it is done again and compared before anything new is written.
        keeps_answers: False for an oracle that computes its answers, and would compute the same ones again.
        settled_after: ticks after which a question's answer must have been kept; None where it need not have been.
        keep: checkpoints that are kept.
        execute: runs what blocks.
        observer: is told of what is on disk.
    """

    def __init__(  # noqa: PLR0913  # what it writes, and how, each of them once
        self,
        disk: Disk,
        recorded: RecordedTicks,
        *,
        keeps_answers: bool,
        settled_after: int | None = None,
        keep: int = 2,
        execute: Execute = in_thread,
        observer: Observer | None = None,
    ) -> None:
        self.statistics = StoreCounters(recorded.end, recorded.ticks)
        self._disk = disk
        self._recorded = recorded
        self._execute = execute
        self._observer = observer or Observer()
        self._observer.resumed(recorded.end, recorded.ticks)
        self._writer = RunWriter(disk, self.statistics, keeps_answers=keeps_answers, keep=keep)
        self._settled_after = settled_after
        self._keeps_answers = keeps_answers
        self._known = RecordedAnswers(disk, recorded.answers_from, recorded.answers_end)
        self._batch, self._writing = Batch(), Batch()
        self._taken = self._done = 0
        """Batches that were begun, and that are written."""
        self._draft: CheckpointWriter | None = None
        """The next checkpoint."""
        self._is_checkpointing = False
        self._settles = False
        """Whether all of the next batch has to be on the medium before it counts as written."""
        self._frame_end, self._answers_bytes = recorded.start, recorded.answers_end
        self._marks = Marks(recorded.tick, recorded.answers_from)
        self._changed, self._written = anyio.Event(), anyio.Event()
        self._ends = self._is_over = False
        self._error: OSError | None = None

    async def run(self) -> None:
        """Write what gathers until the store is closed, or cannot be written."""
        try:
            await self._write_all()
        finally:
            self._is_over = True
            self._tell()

    async def _write_all(self) -> None:
        async with anyio.create_task_group() as tasks:
            while self._error is None:
                if self._draft is not None and not self._is_checkpointing:
                    draft, self._draft = self._draft, None
                    self._is_checkpointing = True
                    tasks.start_soon(self._write_checkpoint, draft)
                if self._batch or self._settles:
                    await self._write_batch()
                elif self._ends and not self._is_checkpointing:
                    break
                else:
                    self._changed = anyio.Event()
                    await self._changed.wait()

    async def _write_batch(self) -> None:
        self._writing, self._batch = self._batch, Batch()
        settles, self._settles = self._settles, False
        self._taken += 1

        def write() -> None:
            self._writer.write(self._writing)
            if settles:
                self._writer.settle()

        await self._attempt(write)
        if (frames := self._writing.frames) and self._error is None:
            self._observer.committed(self.statistics.commit_s[-1], sum(map(len, frames)), len(frames))
        self._writing = Batch()
        if self._error is None:
            self._done += 1
        self._tell()

    async def _write_checkpoint(self, draft: CheckpointWriter) -> None:
        """Write a checkpoint while it is being made, and put it in place when all that it relies on is."""
        while await draft.more() and self._error is None:
            await self._attempt(partial(draft.write, self._disk))
        if draft.is_whole:
            await self._settled()
        if self._error is None:
            await self._attempt(partial(self._writer.end, draft))
            if draft.is_whole and self._error is None:
                self._observer.checkpointed()
        if self._error is not None:
            with suppress(OSError):  # a full disk has better use for the room than half a checkpoint
                await self._execute(partial(draft.remove, self._disk))
        self._is_checkpointing = False
        self._changed.set()
        self._tell()

    async def _settled(self) -> None:
        """Return once all that has gathered is on the medium, or cannot be."""
        self._settles = True
        self._changed.set()
        batch = self._taken + 1
        while self._done < batch and self._error is None:
            await self._written.wait()

    def is_recorded(self, tick: int) -> bool:
        """Whether this tick was run before."""
        return tick < self._recorded.ticks

    def late_agents(self, tick: int) -> frozenset[int] | None:
        """Whose decisions came too late in this tick when it was first run; None if this is the first time."""
        return self._recorded.late_agents(tick)

    def recorded_answer(self, question: Question[Any]) -> Decided | None:
        """The answer that came in an earlier life.

        Raises:
            JournalError: there is none, though the journal has the decision that followed from it.
        """
        decided = self._known.take(question)
        if decided is None and self._settled_after is not None:
            settled = question.tick + self._settled_after
            if settled < self._recorded.ticks:
                raise JournalError(
                    f"{ANSWERS}: has no answer to agent {question.agent}'s {question.trigger!r} of tick "
                    f"{question.tick}, on which tick {settled} of the journal depends; a part of it is lost"
                )
        return decided

    async def keep(self, decided: bytes) -> None:
        """Return once the answer is in the oracle's log."""
        if not self._keeps_answers:
            return
        record = encode_answer(decided)
        self._answers_bytes += len(record)
        self._batch.answers.append(record)
        self._changed.set()
        batch = self._taken + 1
        await self._until(lambda: self._done >= batch)

    async def commit(self, tick: int, frame: bytes) -> None:
        """Compare the frame with what is there, or have it written where there is none."""
        self._check()
        self._frame_end += len(frame)
        if not self._recorded.compare(tick, frame):
            self._batch.frames.append(frame)
            self._changed.set()
            await self._until(lambda: len(self._batch.frames) + len(self._writing.frames) <= PENDING_MAX)
        self._marks.note(tick + 1, self._answers_bytes)

    def line(self, file: str, text: str) -> None:
        """Append a line to a file."""
        self._batch.lines.setdefault(file, []).append(text.encode() + b"\n")
        self._changed.set()

    def position(self, tick: int, link: bytes, oldest_asked: int) -> Position:
        """Where a checkpoint after `tick` ticks stands, if the oldest open question is of tick `oldest_asked`."""
        used_up = self._known.is_used_up(oldest_asked)
        return Position(
            tick=tick,
            journal_bytes=self._frame_end,
            link=link,
            answers_bytes=self._marks.length_at(oldest_asked) if used_up else self._recorded.answers_from,
            answers_end=self._answers_bytes,
        )

    def checkpoint(self, draft: CheckpointWriter) -> None:
        """Have a checkpoint written as it is made, and put in place after everything before it.

        One that still waits for an earlier one is left out.
        """
        self._check()
        self._draft = draft
        self._changed.set()

    async def close(self) -> None:
        """Wait until everything is written.

        Raises:
            JournalError: it cannot be.
        """
        self._ends = True
        self._changed.set()
        await self._until(lambda: self._is_over)

    async def _attempt(self, function: Callable[[], None]) -> None:
        try:
            await self._execute(function)
        except OSError as error:
            self._error = error

    def _tell(self) -> None:
        self._written.set()
        self._written = anyio.Event()

    async def _until(self, is_true: Callable[[], bool]) -> None:
        self._check()
        while not is_true():
            await self._written.wait()
            self._check()

    def _check(self) -> None:
        if self._error is not None:
            raise not_written(self._error) from self._error
