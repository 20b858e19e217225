"""A shard: the turns of a range of agents, on a replica of what all have in common.

A tick has two waves, of triggers and of decisions. Both are turns on the state at the tick's beginning, because an
agent that gets a decision gets no trigger. So a shard takes them together and tells the others once what its agents do.
When it knows what theirs do, it applies everything in the order of agents.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any

import msgspec

from actors.core.state import EngineState, OracleState, RunState
from actors.runtime.answers import Answers
from actors.runtime.engine import EngineActor
from actors.runtime.shards import WAVES, Acts, Shards, Shared, Stepped, Turned, divided, shard_of
from actors.runtime.simulation import Simulation
from prism.agents import Trigger
from prism.columns import Column, Columns, Ints
from prism.config import Config
from prism.domain import Domain, WorldShard


class Shard:
    """A shard of a run, in whatever process it is.

    Args:
        config: the run's configuration.
        domain: a domain of its own, at its beginning.
        own: its agents.
    """

    def __init__(self, config: Config, domain: Domain, own: range) -> None:
        self._simulation = Simulation(config, domain, engine=ShardEngine)
        engine, world = self._simulation.engine, shard_of(domain)
        if not isinstance(engine, ShardEngine):
            raise TypeError(f"expected a ShardEngine, got a {type(engine).__name__}")
        self._engine, self._world, self._own = engine, world, own
        engine.begin(world, own, self._simulation.ticks)
        self._simulation.agents.begin(None)  # type: ignore[arg-type]  # turns that are taken at once have no tasks

    async def restore(self, state: RunState, columns: Sequence[Column]) -> None:
        """Continue from a checkpoint of the whole run."""
        engine, oracle = self._engine.of_own(state.engine), OracleState()
        self._simulation.restore(RunState(engine=engine, supervisor=state.supervisor, oracle=oracle), Columns(columns))
        self._world.keep(self._own)
        self._engine.open_questions.ask_again(self._simulation.ticks)

    async def step(self, acts: Acts | None, tick: int | None) -> Stepped:
        """Apply a tick, and take the turns of the next one.

        Args:
            acts: those of the agents of all shards in the tick whose turns were taken last; None if it is applied.
            tick: the next tick; None to stay between two ticks.
        """
        begun = perf_counter()
        if acts is not None:
            await self._engine.settle(acts)
        rows, counts = self._engine.take_counts()
        turned = None if tick is None else await self._engine.turn(tick)
        return Stepped(rows, counts, perf_counter() - begun, turned)

    def share(self) -> Shared:
        """Return what the engine does not know, between two ticks."""
        return self._engine.share()

    def rows(self, people: range) -> Any:
        """Return the rows of some of the own agents."""
        return self._world.rows(people)


class ShardEngine(EngineActor):
    """The engine of a shard: it takes the turns of a tick, and applies them when it knows what others do."""

    def begin(self, world: WorldShard, own: range, end: int) -> None:
        """Take the turns of these agents in the ticks before the end."""
        self._shard, self._own, self._end = world, own, end
        self._waves: list[Answers] = []
        self._tick = 0
        world.keep(own)

    def of_own(self, state: EngineState) -> EngineState:
        """Return the part of a state of the engine that is about the own agents."""
        questions = ((due, self._codec.question(asked).agent, asked) for due, asked in state.asked)
        return msgspec.structs.replace(
            state,
            asked=tuple((due, asked) for due, agent, asked in questions if agent in self._own),
            decided=tuple(each for each in state.decided if self._codec.decided(each).agent in self._own),
            choices=(),
        )

    async def turn(self, tick: int) -> Turned:
        """Take the turns of both waves of a tick, on the state at its beginning."""
        self._tick = tick
        for _, each in self._interventions.get(tick, ()):
            self._world.intervene(tick, each)
        triggers = self._world.triggers(tick)
        first = await self._agents.exchange(tick, triggers)
        self._ask_those_of(first)
        self.open_questions.offer()
        decided = list[Sequence[Trigger[Any]]]()
        if due := self.open_questions.take_due(tick):
            decided.append(self.open_questions.close_all(due, tick))
        if (chosen := self.open_questions.take_chosen(tick)) is not None:
            decided.append(chosen)
        if len(decided) > 1:
            raise RuntimeError(f"tick {tick}: expected the decisions of one wave, got those of {len(decided)}")
        second = [await self._agents.exchange(tick, each) for each in decided]
        self._waves = [first, *second]
        return self._turned(len(triggers))

    def _turned(self, triggers: int) -> Turned:
        waves = [*self._waves, *[Answers(None, (), (), 0)] * (WAVES - len(self._waves))]
        asked, self.counters.questions = self.counters.questions, 0
        return Turned(
            answers=tuple(b"".join(each.encoded) for each in waves),
            numbers=tuple(each.number for each in waves),
            acts=tuple(self._shard.acts(each.updates) for each in waves),
            triggers=triggers,
            asked=asked,
        )

    async def settle(self, acts: Acts) -> None:
        """Apply the tick whose turns were taken: in each wave those below, the own agents, and those above."""
        tick = self._tick
        for place, others in enumerate(acts):
            updates = self._waves[place].updates if place < len(self._waves) else None
            self._shard.carry_out(tick, others[others[:, 0] < self._own.start])
            await self._apply(updates)
            self._shard.carry_out(tick, others[others[:, 0] >= self._own.stop])
            self._world.take_events()
        self._world.reactions(tick)
        self._waves = []
        self.tick = tick + 1

    def take_counts(self) -> tuple[Mapping[tuple[str, str, str, str], int], Ints]:
        """Return the updates by kind, and the counts of the world, since the last call."""
        rows, self.counters.rows = self.counters.rows, Counter()
        return rows, self._shard.take_counts()

    def share(self) -> Shared:
        """Return what the engine of the run does not know."""
        choices = self.open_questions.choices.state()
        self.open_questions.choices.restore(())
        return Shared(
            self._own,
            self._shard.take_states(),
            self.open_questions.asked(),
            self.open_questions.decided(),
            choices,
        )


class ShardsHere(Shards):
    """The shards of a run in this process, one after the other.

    Args:
        config: the run's configuration; domain: that of the engine.
    """

    def __init__(self, config: Config, domain: Domain) -> None:
        again = divided(domain).again()
        self._shards = [Shard(config, again(), own) for own in shard_of(domain).ranges(config.run.shards)]

    async def step(self, acts: Acts | None, tick: int | None) -> Sequence[Stepped]:
        """Let all shards take a step."""
        return [await each.step(acts, tick) for each in self._shards]

    async def share(self) -> Sequence[Shared]:
        """Return what the shards know between two ticks."""
        return [each.share() for each in self._shards]

    async def rows(self, shard: int, people: range) -> Any:
        """Return the rows of some of a shard's agents."""
        return self._shards[shard].rows(people)

    async def restore(self, state: RunState, columns: Sequence[Column]) -> None:
        """Let all shards continue from a checkpoint."""
        for each in self._shards:
            await each.restore(state, columns)
