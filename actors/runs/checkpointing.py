"""When a checkpoint is taken, and what of: the running simulation, between two ticks."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from actors.core.errors import JournalError
from actors.persistence.checkpoint import Checkpoint, Position, columns_of
from actors.persistence.checkpoint_writer import CheckpointWriter
from actors.persistence.run_store import RunStore
from actors.runtime.simulation import Simulation
from prism.config import Config
from prism.domain import Domain

TURN_S = 0.0002
"""Less than the time between two pieces."""


class Checkpointer:
    """Takes checkpoints of a simulation.

    Args:
        every_ticks: how often; 0 takes none but those asked for.
    """

    def __init__(self, simulation: Simulation, store: RunStore, every_ticks: int) -> None:
        self._simulation = simulation
        self._store = store
        self._every = every_ticks
        self._latest = 0

    async def between_ticks(self) -> None:
        """Take one if it is due."""
        if self._every and self._simulation.engine.tick % self._every == 0:
            await self.take()

    async def take(self) -> None:
        """Take one now, unless this tick has one. Only the copy is made here; the store writes it meanwhile."""
        tick = self._simulation.engine.tick
        if tick == self._latest:
            return
        self._latest = tick
        draft = CheckpointWriter(position_of(self._simulation, self._store), self._simulation.state())
        with draft, quick_turns():
            self._store.checkpoint(draft)
            await self._simulation.copy_columns(draft.add)


@contextmanager
def quick_turns() -> Iterator[None]:
    """Have the threads take turns more often.

    While pieces are copied the loop gives way for some microseconds at a time, too short for another thread to wake
    up in, and each of them begins its waiting time anew. So the thread that writes would only get going after the copy.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(min(before, TURN_S))
    try:
        yield
    finally:
        sys.setswitchinterval(before)


async def checkpoint_of(simulation: Simulation, store: RunStore) -> Checkpoint:
    """A checkpoint of a simulation between two ticks."""
    state, columns = await simulation.checkpoint()
    return Checkpoint(position=position_of(simulation, store), state=state, columns=columns)


def position_of(simulation: Simulation, store: RunStore) -> Position:
    """Where a checkpoint of a simulation stands."""
    tick, oldest = simulation.engine.tick, simulation.engine.open_questions.oldest()
    return store.position(tick, simulation.engine.digest.link, tick if oldest is None else oldest)


def restore(simulation: Simulation, checkpoint: Checkpoint | None) -> None:
    """Put a simulation where a checkpoint was taken; without one it stays at tick 0.

    Raises:
        JournalError: the world has other columns, as another version may.
    """
    if checkpoint is None:
        return
    columns, problem = columns_of(checkpoint), ""
    try:
        simulation.restore(checkpoint.state, columns)
    except (KeyError, ValueError) as error:
        problem = f"cannot be read ({type(error).__name__}: {error})"
    if unread := columns.unread:
        problem = problem or f"has {', '.join(unread)} besides"
    if problem:
        raise JournalError(
            f"{checkpoint.name}: holds the world of another version, which {problem}; go on with that version, or move "
            "the checkpoints away, and `prism resume --force` runs all of it again"
        )


def interval(config: Config, domain: Domain) -> int:
    """How often checkpoints are taken, in ticks; 0 for only at the end."""
    asked = config.run.checkpoint_every_ticks
    return domain.checkpoint_every_ticks if asked is None else asked
