"""The record of a run on disk, written in an order from which every crash can be repaired.

An answer is written before anything acts on it, the frame of a tick after its answers are on the medium, and a
checkpoint gets its name when the frame before it is. One task writes, in a thread, all records since its last write as
one batch, and seals what fills a segment: so a slow disk does not hold up the loop, and faster ticks cause no more
waits for the medium.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from pathlib import Path
from time import perf_counter
from typing import Any

import anyio
import anyio.lowlevel
import msgspec
import structlog
from anyio import current_time, to_thread
from anyio.abc import TaskGroup

from actors.core.errors import RESUME, DamagedError, JournalError, disk_remedy
from actors.core.events import CheckpointWritten, emit
from actors.core.frames import Damage, Frame, encode_frame
from actors.core.messages import Decided
from actors.core.ports import Observer, Record
from actors.core.state import RunState
from actors.runtime.gc_pause import return_free_memory
from actors.runtime.simulation import Simulation
from actors.store.checkpoint import Checkpoint, Draft, ForkedCheckpoint, Position, draft_name, put_in_place
from actors.store.disk import Disk, RealDisk, frames_in, write_whole
from actors.store.journal import JOURNAL, TickFrame, head_bytes, read_tail
from actors.store.oracle_log import ANSWERS, encode_answer
from actors.store.recovery import RecordedTicks
from actors.store.rounds import ROUNDS
from actors.store.segments import write_segment
from prism.agents import Question
from prism.columns import Column
from prism.sharing.archetypes import Judged

PENDING_MAX = 64  # frames that may wait for the disk

PENDING_BYTES = 16 << 20
"""Bytes of frames that may wait for the disk, where there is more than one: a tick of a million people has 7 MB."""


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


class Batch(msgspec.Struct):
    """Records that wait to be written."""

    answers: list[bytes] = []  # frames for the oracle's log
    frames: list[bytes] = []  # frames for the journal
    table: bytes = b""  # the whole file of rounds, written anew; empty if only lines are added
    rows: list[bytes] = []  # lines for the file of rounds, which a resume repairs


Execute = Callable[[Callable[[], None]], Awaitable[None]]  # a function that runs a blocking function


async def in_thread(function: Callable[[], None]) -> None:
    await to_thread.run_sync(function)


class RunStore(RecordedBefore):
    """The files of one run, open for writing.

    Args:
        recorded: the ticks already in the journal: they are run again and compared before a new one is written.
        keeps_answers: False for an oracle that computes its answers, and would compute the same ones again.
        answered_after: ticks after which a question's answer must be in the log; None if it need not be.
        segment_bytes: the least bytes of ticks that are sealed together; 0 seals nothing.
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
        self.disk, self.observer, self._execute = disk, observer or Observer(), execute
        self.observer.resumed(recorded.end, recorded.ticks)
        self._journal = JournalWriter(disk, segment_bytes)
        self._answered_after, self._keeps_answers = answered_after, keeps_answers
        self._batch, self._writing = Batch(), Batch()
        self._begun = self._done = 0  # batches whose writing has begun, and batches that are written
        self._syncs = False  # True if all of the next batch must be on the medium before it counts as written
        self._unsynced = {ANSWERS} if keeps_answers else set[str]()
        """Files that may hold data that is not on the medium, such as the last writes of an earlier process."""
        self._commit_s = 0.0  # the seconds that the latest write of frames took
        self._frame_end, self._answers_bytes = recorded.start, recorded.answers_end
        self._changed, self._written = anyio.Event(), anyio.Event()
        self._is_closing = self._is_closed = False
        self._error: OSError | None = None
        self._writes: dict[object, float] = {}
        """`{write under way: time of its start}`: one of the journal, and one of a checkpoint."""

    async def run(self) -> None:
        try:
            while self._error is None:
                if self._syncs or self._batch != Batch():
                    await self._write_batch()
                elif self._is_closing:
                    await self._attempt(self._finish)
                    if self._batch == Batch():
                        break
                else:
                    self._changed = anyio.Event()
                    await self._changed.wait()
        finally:
            self._is_closed = True
            self._wake_waiters()

    async def _write_batch(self) -> None:
        self._writing, self._batch = self._batch, Batch()
        syncs, self._syncs = self._syncs, False
        self._begun += 1
        await self._attempt(partial(self._write, self._writing, syncs=syncs))
        if (frames := self._writing.frames) and self._error is None:
            self.observer.committed(self._commit_s, sum(map(len, frames)), len(frames))
        self._writing = Batch()
        if self._error is None:
            self._done += 1
        self._wake_waiters()

    def _write(self, batch: Batch, *, syncs: bool) -> None:
        """Write the answers, then the frames that depend on them, then the rows. Blocks."""
        self._append(ANSWERS, batch.answers)
        if batch.frames:
            begun = perf_counter()
            self._sync(ANSWERS)
            self._journal.append(batch.frames)
            self._commit_s = perf_counter() - begun
            if self._journal.seal():
                return_free_memory()
        if batch.table:
            write_whole(self.disk, ROUNDS, [batch.table])
        self._append(ROUNDS, batch.rows)
        if syncs:
            self._sync_all()

    def _append(self, name: str, pieces: Sequence[bytes]) -> None:
        if pieces:
            self._unsynced.add(name)
            self.disk.append(name, b"".join(pieces))

    def _sync(self, name: str) -> None:
        if name in self._unsynced:
            self.disk.sync(name)
            self._unsynced.remove(name)

    def _sync_all(self) -> None:
        self._sync(ANSWERS)
        self._journal.sync()
        self._sync(ROUNDS)

    def _finish(self) -> None:
        """Wait until everything is on the medium, and seal full segments that an earlier process has left. Blocks."""
        self._sync_all()  # an answer may have come after the last checkpoint
        self._journal.seal()

    def recorded_answer(self, question: Question[Any]) -> Decided | None:
        """Return the answer that was recorded before the resume; None if there is none.

        It is a JournalError if there is none, though the journal has the decision that depends on it.
        """
        decided, after = super().recorded_answer(question), self._answered_after
        if decided is None and after is not None and (effect := question.tick + after) < self._recorded.ticks:
            asked = f"has no answer to agent {question.agent}'s {question.trigger!r} of tick {question.tick}"
            depends = f"on which tick {effect} of the journal depends"
            raise JournalError(f"{ANSWERS}: {asked}, {depends}; a part of it is lost")
        return decided

    def has_answers(self) -> bool:
        return self._answered_after is not None or super().has_answers()

    async def keep(self, *records: bytes) -> None:
        if self._keeps_answers:
            frames = [*map(encode_answer, records)]
            self._answers_bytes += sum(map(len, frames))
            self._batch.answers += frames
            await self._next_batch()

    async def synced(self) -> None:
        """Wait until everything so far is on the medium. It raises a JournalError if the disk failed."""
        self._syncs = True
        await self._next_batch()

    async def _next_batch(self) -> None:
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

            def is_near() -> bool:
                waiting = [*self._batch.frames, *self._writing.frames]
                return len(waiting) <= 1 or (len(waiting) <= PENDING_MAX and sum(map(len, waiting)) <= PENDING_BYTES)

            await self._wait_until(is_near)
        elif self._recorded.must_read_on:
            await self._execute(self._recorded.read_on)

    def write_rows(self, content: bytes) -> None:
        """Write the file of rounds anew, with a new column."""
        self._batch.table, self._batch.rows = content, []
        self._changed.set()

    def append_row(self, text: str) -> None:
        self._batch.rows.append(text.encode() + b"\n")
        self._changed.set()

    @property
    def lengths(self) -> tuple[int, int]:
        """The lengths of the journal and of the oracle's log after all that was committed and kept so far, in bytes."""
        return self._frame_end, self._answers_bytes

    async def close(self) -> None:
        """Wait until everything is written. It raises a JournalError if the disk failed."""
        self._is_closing = True
        self._changed.set()
        await self._wait_until(lambda: self._is_closed)

    def stands_since(self) -> float | None:
        return min(self._writes.values(), default=None)

    async def attempt(self, function: Callable[[], None]) -> None:
        """Call a function that writes files. It raises a JournalError if the disk failed."""
        await self._attempt(function)
        self._check()

    async def _attempt(self, function: Callable[[], None]) -> None:
        self._writes[function] = anyio.current_time()
        try:
            await self._execute(function)
        except OSError as error:
            self._error = error
            self._changed.set()
            self._wake_waiters()
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
            raise JournalError(f"{problem}; what was committed is safe: {disk_remedy(error, RESUME)}") from error


_COPIED_BYTES = 1 << 20  # bytes that are copied at a time


class JournalWriter:
    """A journal that is written. Its methods block, and may raise OSError. `segment_bytes`: as of `RunStore`.

    The end of a segment depends on the ticks alone, so equal runs have equal segments, however they were interrupted.
    """

    def __init__(self, disk: Disk, segment_bytes: int = 0) -> None:
        self._disk = disk
        self._segment_bytes = segment_bytes
        self._unsealed: range | None = None
        """The places of the ticks after the last full segment; None until the first is appended, if any is sealed."""
        self._full: list[int] = []  # the places at which full segments end that are not sealed yet
        self._is_synced = False
        """False if the file may hold data that is not on the medium. What an earlier process wrote may not be there."""

    def append(self, frames: Sequence[bytes]) -> None:
        """Append ticks, and wait until they are on the medium."""
        self._open()
        if not frames:
            return
        self._is_synced = False
        self._disk.append(JOURNAL, b"".join(frames))
        self.sync()
        self._count(map(len, frames))

    def copy(self, ticks: Iterable[TickFrame]) -> None:
        """Append ticks of another journal, some at a time, seal them, and wait until all are on the medium."""
        part, size = list[bytes](), 0
        for frame in ticks:
            part.append(encode_frame(frame.link, frame.payload))
            size += len(part[-1])
            if size >= _COPIED_BYTES:
                self.append(part)
                self.seal()
                part, size = [], 0
        self.append(part)
        self.seal()
        self.sync()

    def sync(self) -> None:
        """Wait until everything written is on the medium, also the last writes of an earlier process."""
        if not self._is_synced:
            self._disk.sync(JOURNAL)
            self._is_synced = True

    def seal(self) -> bool:
        """Seal the ticks that fill segments, also those that an earlier process has left; return whether any do."""
        self._open()
        if not self._full:
            return False
        tail = read_tail(self._disk)
        sealed = tail.sealed
        with self._disk.open_file(JOURNAL) as file:
            frames = frames_in(file, tail.at)
            for end in self._full:
                at, payloads, link = sealed.start - tail.shift, list[bytes](), sealed.link
                for _, found in frames:
                    if isinstance(found, Damage):
                        raise DamagedError(JOURNAL, found.offset, found.problem)
                    payloads.append(found.payload)
                    link = found.link
                    if found.end + tail.shift >= end:
                        break
                try:
                    sealed = sealed.after(write_segment(self._disk, sealed, tail.header.tables, payloads))
                except ValueError as error:
                    raise DamagedError(JOURNAL, at, f"a tick cannot be read: {error}") from None
                if sealed.link != link:
                    raise DamagedError(JOURNAL, at, "its ticks do not follow from the last that is sealed")
            places = range(sealed.start - tail.shift, file.size(), _COPIED_BYTES)
            left = (file.read(place, _COPIED_BYTES) for place in places)
            write_whole(self._disk, JOURNAL, chain([head_bytes(tail.header, sealed)], left))
        self._is_synced = True
        self._full.clear()
        return True

    def _open(self) -> None:
        """Count the ticks that an earlier process has left, once."""
        if self._unsealed is not None or not self._segment_bytes:
            return
        tail = read_tail(self._disk)
        self._unsealed = range(tail.sealed.start, tail.sealed.start)
        if self._disk.size(JOURNAL) > tail.at:
            with self._disk.open_file(JOURNAL) as file:
                self._count(frame.end - start for start, frame in frames_in(file, tail.at) if isinstance(frame, Frame))

    def _count(self, sizes: Iterable[int]) -> None:
        """Note where segments end, after frames of these sizes."""
        if self._unsealed is None:
            return
        for size in sizes:
            start, end = self._unsealed.start, self._unsealed.stop + size
            if end - start >= self._segment_bytes:
                self._full.append(end)
                start = end
            self._unsealed = range(start, end)


log = structlog.get_logger(__name__)

FORKED_FROM = 50_000
"""The agents from which a fork writes checkpoints, while the ticks go on: of fewer, the ticks wait a moment."""
LONG_S = 1.0  # the seconds that a checkpoint takes from which their share of the time is limited
AT_ONCE_BYTES = 16 << 20  # bytes of columns that are written at a time


class Checkpointer:
    """A task of a run: it takes checkpoints every so many ticks; with 0 only those that `take` asks for.

    `tasks`: where it waits for forks.
    """

    def __init__(self, simulation: Simulation, store: RunStore, every_ticks: int, tasks: TaskGroup) -> None:
        self._simulation, self._store, self._every, self._tasks = simulation, store, every_ticks, tasks
        self._path: Path | None = None
        """The directory that a fork can write to; None if the ticks wait for each checkpoint."""
        # Only on Linux do the libraries of the system work in a fork.
        if sys.platform == "linux" and simulation.domain.size >= FORKED_FROM and simulation.engine.exchange is None:
            self._path = store.disk.path if isinstance(store.disk, RealDisk) else None
        self._settings = simulation.config.run
        self._latest = 0
        self._begun_s = self._lasted_s = 0.0
        self._forked: ForkedCheckpoint | None = None
        self._fork_ended = anyio.Event()

    async def between_ticks(self) -> None:
        if not self._every or self._simulation.engine.tick % self._every:
            return
        share, now_s = self._settings.checkpoint_share, current_time()
        if self._lasted_s > LONG_S and share and now_s < self._begun_s + self._lasted_s / share:
            return
        if self._path is not None and self._forked is None:
            self._fork(self._path)
        if self._path is None:  # also if the system had no room for a fork
            await self.take()
        self._begun_s = now_s

    def _fork(self, path: Path) -> None:
        """Let a fork write a checkpoint. If the system has no room for one, the ticks wait for this and all others."""
        state = self._simulation.state()
        position = position_of(self._simulation, state, *self._store.lengths)
        try:
            self._forked = ForkedCheckpoint(position, state, path, self._simulation.domain.world.columns)
        except OSError as error:
            log.warning("no_fork", actor="store", at_tick=position.tick, problem=error.strerror)
            self._path = None
            return
        self._latest = position.tick
        self._fork_ended = anyio.Event()
        self._tasks.start_soon(self._finish, self._forked)

    async def _finish(self, fork: ForkedCheckpoint) -> None:
        """Wait for a fork, and put its checkpoint in place once everything before it is on the medium."""
        begun, disk, size = current_time(), self._store.disk, 0

        def put() -> None:
            nonlocal size
            if code:
                raise OSError(code, os.strerror(code), draft_name(fork.tick))
            written = disk.size(draft_name(fork.tick))
            put_in_place(disk, fork.tick)
            size = written

        def remove() -> None:
            with suppress(OSError):
                disk.remove(draft_name(fork.tick))

        try:
            code = await fork.wait()
            if fork.is_given_up:
                return
            if code and code not in errno.errorcode:  # such as for want of memory: it is only a cache of the journal
                log.warning("checkpoint_lost", actor="store", at_tick=fork.tick, code=code)
                return
            await self._store.synced()
            await self._store.attempt(put)
            self._note(fork.tick, size, begun)
        except JournalError:
            pass  # the run hears of it at its next tick
        finally:
            if not size:  # on a full disk the space of a partial checkpoint is needed
                with anyio.CancelScope(shield=True):
                    await to_thread.run_sync(remove)
            self._forked = None
            self._fork_ended.set()

    async def end(self, *, is_stopped: bool) -> None:
        """Take the last checkpoint. A run that is told to stop has none if that would take too long.

        A resume then does the ticks after the checkpoint before again: they are in the journal.
        """
        within_s, fork = self._settings.stop_within_s / 2, self._forked
        if is_stopped and self._path is not None and within_s:
            if fork is not None:
                with anyio.move_on_after(within_s):
                    await self._fork_ended.wait()
                if self._forked is not None:
                    fork.give_up()
            if self._forked is not None or self._lasted_s > within_s:
                return
        if fork is not None:
            await self._fork_ended.wait()
        await self.take()

    async def take(self) -> None:
        """Take a checkpoint now, unless this tick has one. The ticks wait until it is on the medium."""
        tick, begun, store = self._simulation.engine.tick, current_time(), self._store
        if tick == self._latest:
            return
        self._latest = tick
        await self._simulation.engine.gather()
        state = self._simulation.state()
        position = position_of(self._simulation, state, *store.lengths)
        await store.synced()
        draft, pieces, waiting = Draft(store.disk, position, state), list[Column | bytes](), 0
        async for piece in self._simulation.engine.columns():
            pieces.append(piece)
            waiting += len(piece) if isinstance(piece, bytes) else len(piece.data)
            if waiting >= AT_ONCE_BYTES:
                await store.attempt(partial(draft.add, pieces))
                pieces, waiting = [], 0
            await anyio.lowlevel.checkpoint()  # the loop gets a turn after each piece
        await store.attempt(partial(draft.finish, pieces))
        self._note(tick, draft.size, begun)
        await store.attempt(return_free_memory)

    def _note(self, tick: int, size: int, begun: float) -> None:
        self._store.observer.checkpointed()
        self._lasted_s = current_time() - begun
        emit(CheckpointWritten(at_tick=tick, size=size, duration_s=round(self._lasted_s, 3)))


def position_of(simulation: Simulation, state: RunState, journal_bytes: int, answers_end: int) -> Position:
    """Return the position of a checkpoint with this state, given the lengths of the journal and of the oracle's log."""
    tick, link = state.engine.tick, state.engine.link
    oldest = min((due - simulation.config.deliberation_ticks for due, _ in state.engine.asked), default=tick)
    return Position(tick=tick, journal_bytes=journal_bytes, link=link, oldest_asked=oldest, answers_end=answers_end)


async def scatter(simulation: Simulation, checkpoint: Checkpoint | None) -> None:
    """Let the shards of a restored simulation continue from its checkpoint, whose columns are released then."""
    if checkpoint is not None:
        await simulation.engine.scatter(checkpoint.state, checkpoint.columns)
        checkpoint.columns.release()
