"""The engine of a run in shards: it puts their blocks together to the frames of one process.

    shards: turns of tick t -> answers and acts -> engine: all acts, by agent -> shards: apply tick t, turns of t + 1

There is one exchange a tick. While the shards apply it and take the next turns, the engine carries out the same acts in
its own world, which has the posts and the turns of nobody, writes down what took place, and makes the frame.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from itertools import chain
from operator import itemgetter
from time import perf_counter
from typing import Any

import numpy as np

from actors.core.snapshot import Exchange
from actors.core.state import RunState
from actors.runtime.engine import EngineActor, do_nothing
from actors.runtime.shards import WAVES, Shards, Stepped, Turned, shard_of, size_of
from prism.agents import Trigger
from prism.columns import Column
from prism.domain import Domain

ROWS_AT_ONCE = 65_536
"""The agents whose rows are taken over together: some 50 MB, of which the object store has room for many."""


class ShardedEngine(EngineActor):
    """An engine whose agents are in shards.

    Args:
        shards: the shards; domain: that of the engine's world.
    """

    def __init__(self, *args: Any, shards: Shards, domain: Domain, **options: Any) -> None:
        super().__init__(*args, **options)
        self._shards, self._whole = shards, shard_of(domain)
        self._whole.keep(None)
        self.exchange: Exchange = Exchange({str(shard): 0.0 for shard in range(options["config"].run.shards)})
        self._ahead: Awaitable[Sequence[Stepped]] | None = None
        """The step of the shards with the turns of the next tick; None while they stand between two ticks."""
        self._every = 1
        self._ticks_per_round = options["config"].simulation.ticks_per_round
        self._gathered = -1

    @property
    def is_ahead(self) -> bool:
        """True if the shards have begun the next tick."""
        return self._ahead is not None

    async def run(
        self,
        ticks: int,
        on_tick: Callable[[int], None] = lambda _: None,
        between: Callable[[], Awaitable[None]] = do_nothing,
        every: int = 1,
    ) -> None:
        """Run: see `EngineActor.run`."""
        self._every = every
        await super().run(ticks, on_tick, between, every)

    async def _run_ticks(self, until: int) -> list[bytes]:  # noqa: ARG002
        return [await self._step(self.tick)]

    async def _step(self, tick: int, triggers: Sequence[Trigger[Any]] | None = None) -> bytes:  # noqa: ARG002
        """Run one tick: take the turns that the shards have taken, tell them all acts, and make the frame."""
        # 1. The turns. The engine's own world begins the tick, with the triggers of nobody.
        stepped = await self._waited(self._shards.step(None, tick) if self._ahead is None else self._ahead)
        self._ahead = None
        self._add_counts(stepped)
        if tick in self._interventions:
            self._intervene(tick)
        self._world.triggers(tick)
        turned = [each.turned for each in stepped if each.turned is not None]
        # 2. The acts of all, by agent. The shards go on with them, unless somebody looks at the run after this tick.
        acts = tuple(np.concatenate([each.acts[wave] for each in turned]) for wave in range(WAVES))
        self.exchange.sent += size_of(acts) * len(stepped)
        if self._looks_after(tick):
            self._add_counts(await self._waited(self._shards.step(acts, None)))
        else:
            self._ahead = self._shards.step(acts, tick + 1)
        # 3. The same acts here, and the frame: in each wave the answers, by agent, and then their effects.
        self._count_turns(turned, tick)
        for wave in range(WAVES):
            self._whole.carry_out(tick, acts[wave])
            self._frame.extend(each.answers[wave] for each in turned)
            self._in_frame += sum(each.numbers[wave] for each in turned)
            self.reactions.add(self._add_events())
        self._world.reactions(tick)
        frame = self.digest.add(tick, self._frame, self._in_frame)
        self._frame, self._in_frame = [], 0
        return frame

    async def _waited(self, step: Awaitable[Sequence[Stepped]]) -> Sequence[Stepped]:
        """Return the result of a step, and count the wait for it and what it has brought."""
        begun, stepped = perf_counter(), await step
        self.exchange.waited_s += perf_counter() - begun
        for shard, each in enumerate(stepped):
            self.exchange.busy_s[str(shard)] += each.busy_s
            if each.turned is not None:
                self.exchange.received += sum(map(len, each.turned.answers)) + size_of(each.turned.acts)
        return stepped

    def _looks_after(self, tick: int) -> bool:
        """Return whether the shards are to stand after a tick."""
        after = tick + 1
        return after >= self._end or self.is_stopping or 0 in (after % self._every, after % self._ticks_per_round)

    def _count_turns(self, turned: Sequence[Turned], tick: int) -> None:
        self.counters.add_triggers(sum(each.triggers for each in turned))
        asked = sum(each.asked for each in turned)
        self.counters.questions += asked
        if asked and tick + self._deliberation < self._end and self.on_computed is not None:
            self.on_computed(asked, tick)

    def _add_counts(self, stepped: Sequence[Stepped]) -> None:
        for each in stepped:
            self.counters.rows.update(each.rows)
            self._whole.add_counts(each.counts)

    async def scatter(self, state: RunState, columns: Sequence[Column]) -> None:
        """Let the shards continue from a checkpoint."""
        await self._shards.restore(state, columns)

    async def gather(self) -> None:
        """Take over what the shards know, between two ticks."""
        if self._gathered == self.tick:
            return
        self._gathered, shared = self.tick, await self._shards.share()
        for shard, each in enumerate(shared):
            for start in range(each.own.start, each.own.stop, ROWS_AT_ONCE):
                people = range(start, min(start + ROWS_AT_ONCE, each.own.stop))
                self._whole.put(await self._shards.rows(shard, people))
            self._whole.add_states(each.states)
            self.open_questions.choices.add_counts(each.choices)
        asked = sorted(chain.from_iterable(each.asked for each in shared), key=itemgetter(0))
        self.open_questions.adopt(asked, [*chain.from_iterable(each.decided for each in shared)])
