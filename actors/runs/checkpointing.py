"""Checkpoints of a running simulation: taken between two ticks, and restored."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from functools import partial
from pathlib import Path

import anyio
import anyio.lowlevel
import msgspec
import structlog
from anyio import current_time, to_thread
from anyio.abc import TaskGroup

from actors.core.errors import JournalError
from actors.core.events import CheckpointWritten, emit
from actors.core.state import RunState
from actors.runs.run_store import RunStore
from actors.runtime.gc_pause import return_free_memory
from actors.runtime.simulation import Simulation
from actors.store.checkpoint import Checkpoint, Draft, ForkedCheckpoint, Position, draft_name, put_in_place
from prism.columns import Column, Columns

log = structlog.get_logger(__name__)

FORKED_FROM = 50_000
"""The agents from which a fork writes checkpoints, while the ticks go on: of fewer, the ticks wait a moment."""
LONG_S = 1.0
"""The seconds that a checkpoint takes from which their share of the time is limited."""
AT_ONCE_BYTES = 16 << 20
"""Bytes of columns that are written at a time."""


class Checkpointer:
    """A task of a run: it takes checkpoints of a simulation.

    Args:
        every_ticks: ticks between two checkpoints; 0 takes only those that `take` asks for.
        tasks: where it waits for forks.
        path: the directory that a fork can write to; None if the ticks wait for each checkpoint.
    """

    def __init__(
        self, simulation: Simulation, store: RunStore, every_ticks: int, tasks: TaskGroup, path: Path | None = None
    ) -> None:
        self._simulation = simulation
        self._store = store
        self._every = every_ticks
        self._tasks = tasks
        self._path = path if simulation.domain.size >= FORKED_FROM and simulation.engine.exchange is None else None
        self._settings = simulation.config.run
        self._latest = 0
        self._begun_s = self._lasted_s = 0.0
        self._forked: ForkedCheckpoint | None = None
        self._fork_ended = anyio.Event()

    async def between_ticks(self) -> None:
        """Take a checkpoint if it is time for one."""
        if not self._every or self._simulation.engine.tick % self._every:
            return
        share, now_s = self._settings.checkpoint_share, current_time()
        if self._lasted_s > LONG_S and share and now_s < self._begun_s + self._lasted_s / share:
            return
        if self._path is not None and self._forked is None:
            self._fork(self._path)
        if self._path is None:
            await self.take()
        self._begun_s = now_s

    def _fork(self, path: Path) -> None:
        """Let a fork write a checkpoint. If the system has no room for one, the ticks wait for this and all others."""
        state = self._simulation.state()
        position = position_of(self._simulation, self._store, state)
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
        position = position_of(self._simulation, store, state)
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


def position_of(simulation: Simulation, store: RunStore, state: RunState) -> Position:
    engine = state.engine
    asked = [due - simulation.config.deliberation_ticks for due, _ in engine.asked]
    return store.position(engine.tick, engine.link, min(asked, default=engine.tick))


def restore(simulation: Simulation, checkpoint: Checkpoint | None) -> None:
    """Restore a simulation from a checkpoint; without one it stays at tick 0.

    Raises:
        JournalError: the world has other columns, for instance of another version.
    """
    if checkpoint is None:
        return
    columns, problem = Columns(simulation.engine.own_part(checkpoint.columns)), ""
    try:
        simulation.restore(checkpoint.state, columns)
    except (KeyError, IndexError, TypeError, ValueError, msgspec.MsgspecError) as error:
        problem = f"cannot be read ({type(error).__name__}: {error})"
    if unread := columns.unread:
        problem = problem or f"has {', '.join(unread)} besides"
    if problem:
        remedy = "resume with that version, or move the checkpoints away, and `prism resume` runs all of it again"
        raise JournalError(f"{checkpoint.name}: holds the world of another version, which {problem}; {remedy}")


async def scatter(simulation: Simulation, checkpoint: Checkpoint | None) -> None:
    """Let the shards of a restored simulation continue from its checkpoint, whose columns are released then."""
    if checkpoint is not None:
        await simulation.engine.scatter(checkpoint.state, checkpoint.columns)
        checkpoint.columns.release()
