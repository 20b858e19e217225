"""A shard: the turns of a range of agents, on a replica of what all have in common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from time import perf_counter

import msgspec

from actors.core.messages import Codec
from actors.core.state import EngineState, OracleState, RunState
from actors.runtime.part_engine import PartEngine
from actors.runtime.shards import Acts, Shared, Stepped, TurnedWave, shard_of
from actors.runtime.simulation import Simulation
from prism.bundles import Bundles, blocks_in, packed
from prism.columns import Columns, Floats, Ints
from prism.config import Config
from prism.domain import Domain


class Shard:
    """A shard of a run, in whatever process it is.

    Args:
        domain: a domain of its own, at its beginning.
        own: its agents.
    """

    def __init__(self, config: Config, domain: Domain, own: range) -> None:
        self._part, self._own = shard_of(domain), own
        self._simulation = Simulation(config, domain, engine=partial(ShardEngine, part=self._part, own=own))
        engine = self._simulation.engine
        if not isinstance(engine, ShardEngine):
            raise TypeError(f"expected a ShardEngine, got a {type(engine).__name__}")
        self._engine = engine
        self._trigger = Codec(domain.context_type, domain.effect_type).trigger
        self._decided_s = 0.0
        """The seconds that decisions have taken since the last step."""
        self._part.keep(own, is_whole=False)
        self._simulation.agents.begin(None)  # type: ignore[arg-type]  # turns that are taken at once have no tasks

    async def restore(self, state: RunState, columns: Bundles) -> None:
        """Continue from a checkpoint, of which it needs the blocks with its own agents."""
        own = RunState(engine=state.engine, supervisor=state.supervisor, oracle=OracleState())
        self._simulation.restore(own, Columns(columns))
        self._part.keep(self._own, is_whole=False)
        self._engine.open_questions.ask_again(self._simulation.ticks)

    async def step(self, acts: Acts | None, changes: Floats | None, *, begins: bool) -> Stepped:
        """Apply a tick, and take the turns of the next one.

        Args:
            acts: those of the agents of all shards in the tick whose turns were taken last; None if it is applied.
            changes: those of all agents in the tick that was applied last; None for none.
            begins: whether the next tick begins; else the shard stays between two ticks.
        """
        begun, made = perf_counter(), list[Floats]()
        if acts is not None:
            await self._engine.settle(acts)
            self._engine.tick += 1
            made = self._engine.changes
        if changes is not None:
            self._part.put_changes(changes)
        rows, counts = self._engine.take_counts()
        turned = await self._engine.turn(self._engine.tick) if begins else None
        busy_s, self._decided_s = self._decided_s + perf_counter() - begun, 0.0
        return Stepped(rows, counts, made, busy_s, turned)

    async def decide(self, tick: int, decisions: Sequence[bytes]) -> TurnedWave:
        """Take the turns of the own agents whose decisions take effect in the tick whose first wave is taken."""
        begun = perf_counter()
        wave = await self._engine.decide(tick, [*map(self._trigger, decisions)])
        self._decided_s += perf_counter() - begun
        return wave

    def share(self) -> Shared:
        return self._engine.share()

    def blocks(self) -> Iterator[bytes]:
        """Yield the packed blocks of the own agents, between two ticks; the first and the last may be only parts."""
        return (packed([*pieces]) for pieces in self._part.about(blocks_in(self._own)))


class ShardEngine(PartEngine):
    """The engine of a shard. The engine of the run writes down what took place."""

    def restore(self, state: EngineState) -> None:
        """Continue from a state, without the counts and the questions that the engine of the run keeps."""
        if self._asks_engine:
            state = msgspec.structs.replace(state, asked=(), decided=())
        super().restore(state)

    def _intervene(self, tick: int) -> None:
        for _, each in self._interventions[tick]:
            self._world.intervene(tick, each)

    def end_wave(self) -> None:
        self._world.take_events()

    def take_counts(self) -> tuple[Mapping[tuple[str, str, str, str], int], Ints]:
        """Return the updates by kind, and the counts of the world, since the last call."""
        rows, self.counters.rows = self.counters.rows, Counter()
        return rows, self._part.take_counts()

    def share(self) -> Shared:
        return Shared(self._own, self._part.take_states(), self.open_questions.asked(), self.open_questions.decided())
