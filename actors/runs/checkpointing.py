"""Checkpoints of a running simulation: taken between two ticks, and restored."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import msgspec
import structlog
from anyio import current_time

from actors.core.errors import JournalError
from actors.core.state import RunState
from actors.runs.run_store import RunStore
from actors.runtime.simulation import Simulation
from actors.store.checkpoint import Checkpoint, CheckpointWriter, Position
from actors.store.checkpoint_fork import ForkedCheckpoint
from prism.columns import Columns
from prism.config import Config
from prism.domain import Domain

log = structlog.get_logger(__name__)

TURN_S = 0.0002
"""The switch interval while a checkpoint is copied: less than the time between two pieces."""


FORKED_FROM = 50_000
"""The agents from which a fork writes checkpoints: it begins in a few milliseconds, as a copy of fewer takes."""
LONG_S = 1.0
"""The seconds that a checkpoint takes from which their share of the time is limited."""


class Checkpointer:
    """A task of a run: it takes checkpoints of a simulation.

    Args:
        every_ticks: ticks between two checkpoints; 0 takes only those that `take` asks for.
        path: the directory that a fork can write to; None if checkpoints must be copied.
    """

    def __init__(self, simulation: Simulation, store: RunStore, every_ticks: int, path: Path | None = None) -> None:
        self._simulation = simulation
        self._store = store
        self._every = every_ticks
        self._path = path if simulation.domain.size >= FORKED_FROM and simulation.engine.exchange is None else None
        self._settings = simulation.config.run
        self._latest = 0
        self._begun_s = 0.0
        self._forked: ForkedCheckpoint | None = None

    async def between_ticks(self) -> None:
        """Take a checkpoint if it is time for one."""
        if not self._every or self._simulation.engine.tick % self._every:
            return
        lasted_s, share, now_s = self._store.statistics.checkpoint_s, self._settings.checkpoint_share, current_time()
        if lasted_s > LONG_S and share and now_s < self._begun_s + lasted_s / share:
            return
        if self._path is not None and not self._store.is_checkpointing:
            self._fork(self._path)
        if self._path is None:
            await self.take()
        self._begun_s = now_s

    def _fork(self, path: Path) -> None:
        """Let a fork write a checkpoint. If the system has no room for one, this and all others are copied."""
        state = self._simulation.state()
        position = position_of(self._simulation, self._store, state)
        try:
            self._forked = ForkedCheckpoint(position, state, path, self._simulation.domain.world.columns)
        except OSError as error:
            log.warning("no_fork", actor="store", at_tick=position.tick, problem=error.strerror)
            self._path = None
            return
        self._latest = position.tick
        self._store.checkpoint(self._forked)

    async def end(self, *, is_stopped: bool) -> None:
        """Take the last checkpoint. A run that is told to stop has none if that would take too long.

        A resume then does the ticks after the checkpoint before again: they are in the journal.
        """
        within_s, is_forked = self._settings.stop_within_s / 2, self._path is not None
        if is_stopped and is_forked and within_s:
            with anyio.move_on_after(within_s) as waiting:
                await self._store.checkpointed()
            if waiting.cancelled_caught and self._forked is not None:
                self._forked.give_up()
            if waiting.cancelled_caught or self._store.statistics.checkpoint_s > within_s:
                return
        if self._forked is not None:  # the last one would take the place of a fork that nobody has looked at yet
            await self._store.checkpointed()
        await self.take()

    async def take(self) -> None:
        """Take a checkpoint now, unless this tick has one. Here it is only copied; the store writes it meanwhile."""
        tick = self._simulation.engine.tick
        if tick == self._latest:
            return
        self._latest = tick
        await self._simulation.engine.gather()
        state = self._simulation.state()
        draft = CheckpointWriter(position_of(self._simulation, self._store, state), state)

        async def room() -> None:
            await anyio.lowlevel.checkpoint()  # the loop gets a turn after each piece
            await self._store.room_for(draft)

        with draft, quick_turns():
            self._store.checkpoint(draft)
            await self._simulation.copy_columns(draft.add, room)


@contextmanager
def quick_turns() -> Iterator[None]:
    """Let the threads take turns more often, in the block.

    While pieces are copied, the loop gives way for some microseconds at a time. That is too short for another thread to
    wake up, and each time its wait starts again. So the thread that writes would start only after the copy.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(min(before, TURN_S))
    try:
        yield
    finally:
        sys.setswitchinterval(before)


async def checkpoint_of(simulation: Simulation, store: RunStore) -> Checkpoint:
    state, columns = await simulation.checkpoint()
    return Checkpoint(position=position_of(simulation, store, state), state=state, columns=columns)


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
        raise JournalError(
            f"{checkpoint.name}: holds the world of another version, which {problem}; resume with that version, or "
            "move the checkpoints away, and `prism resume` runs all of it again"
        )


async def scatter(simulation: Simulation, checkpoint: Checkpoint | None) -> None:
    """Let the shards of a restored simulation continue from its checkpoint, whose columns are released then."""
    if checkpoint is not None:
        await simulation.engine.scatter(checkpoint.state, checkpoint.columns)
        checkpoint.columns.release()


def checkpoint_interval(config: Config, domain: Domain) -> int:
    """Return the ticks between two checkpoints; 0 for a checkpoint only at the end."""
    configured = config.run.checkpoint_every_ticks
    return domain.checkpoint_every_ticks if configured is None else configured
