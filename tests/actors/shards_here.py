"""The shards of a run in one process, one after the other: Ray is not needed."""

from collections.abc import AsyncIterator, Sequence

from actors.core.state import RunState
from actors.runtime.shards import Acts, Shard, Shards, Shared, Stepped, TurnedWave, divided, ranges_of
from prism.columns import Bundles, Floats
from prism.config import Config
from prism.domain import Domain


class ShardsHere(Shards):
    """The shards of a run in this process, one after the other.

    Args:
        config: the run's configuration; domain: that of the engine.
    """

    def __init__(self, config: Config, domain: Domain) -> None:
        again = divided(domain).again()
        self._own = ranges_of(config, domain)[1:]
        self._shards = [Shard(config, again(), own) for own in self._own]

    async def step(self, acts: Acts | None, changes: Floats | None, *, begins: bool) -> Sequence[Stepped]:
        return [await each.step(acts, changes, begins=begins) for each in self._shards]

    async def decide(self, tick: int, decisions: Sequence[Sequence[bytes]]) -> Sequence[TurnedWave]:
        """Let the agents of each shard take the turns of these triggers."""
        return [await each.decide(tick, own) for each, own in zip(self._shards, decisions, strict=True)]

    async def share(self) -> Sequence[Shared]:
        """Return what the shards know between two ticks."""
        return [each.share() for each in self._shards]

    async def blocks(self, shard: int) -> AsyncIterator[bytes]:
        for block in self._shards[shard].blocks():
            yield block

    async def restore(self, state: RunState, columns: Bundles) -> None:
        """Let all shards continue from a checkpoint."""
        for own, each in zip(self._own, self._shards, strict=True):
            await each.restore(state, columns.about(own))
