"""Checkpoints of a running simulation: taken between two ticks, and restored."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import anyio
import msgspec

from actors.core.errors import JournalError
from actors.core.state import RunState
from actors.runs.run_store import RunStore
from actors.runtime.simulation import Simulation
from actors.store.checkpoint import Checkpoint, Position
from actors.store.checkpoint_writer import CheckpointWriter
from prism.columns import Columns
from prism.config import Config
from prism.domain import Domain

TURN_S = 0.0002
"""The switch interval while a checkpoint is copied: less than the time between two pieces."""


class Checkpointer:
    """A task of a run: it takes checkpoints of a simulation.

    Args:
        every_ticks: ticks between two checkpoints; 0 takes only those that `take` asks for.
    """

    def __init__(self, simulation: Simulation, store: RunStore, every_ticks: int) -> None:
        self._simulation = simulation
        self._store = store
        self._every = every_ticks
        self._latest = 0

    async def between_ticks(self) -> None:
        if self._every and self._simulation.engine.tick % self._every == 0:
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
