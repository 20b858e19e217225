"""When a checkpoint is taken, and what of: the running simulation, between two ticks."""

from __future__ import annotations

from actors.checkpoint import Checkpoint, columns_of
from actors.errors import JournalError
from actors.simulation import Simulation
from actors.store import RunStore
from prism.config import Config
from prism.domain import Domain


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
        """Take one now, unless this tick has one. Only the copy is made here; the store writes it."""
        tick = self._simulation.engine.tick
        if tick == self._latest:
            return
        self._latest = tick
        self._store.checkpoint(await checkpoint_of(self._simulation, self._store))


async def checkpoint_of(simulation: Simulation, store: RunStore) -> Checkpoint:
    """A checkpoint of a simulation between two ticks."""
    state, columns = await simulation.snapshot()
    oldest = simulation.engine.open.oldest()
    return Checkpoint(
        position=store.position(state.engine.tick, state.engine.link, state.engine.tick if oldest is None else oldest),
        state=state,
        columns=columns,
    )


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
