"""An engine with the turns of a range of the agents of a run.

A tick has two waves, of triggers and of decisions. Both are turns on the state at the tick's beginning, because an
agent that gets a decision gets no trigger. So their turns are taken together, and others are told once what the agents
do. When it is known what the agents of others do, everything is applied in the order of agents.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from actors.core.state import EngineState
from actors.runtime.answers import Answers
from actors.runtime.engine import EngineActor
from actors.runtime.shards import WAVES, Acts, Turned
from prism.agents import Trigger
from prism.columns import Floats
from prism.domain import WorldShard

_NOBODY = Answers(None, (), (), 0)


class PartEngine(EngineActor):
    """An engine that takes the turns of a tick for some agents, and applies them when it knows what others do.

    Args:
        part: the world as one of several.
        own: the agents.
    """

    def __init__(self, *args: Any, part: WorldShard, own: range, **options: Any) -> None:
        super().__init__(*args, **options)
        self._part, self._own = part, own
        self._end = options["config"].simulation.length
        self._waves: list[Answers] = []
        self.changes: list[Floats] = []
        """The changes of the own agents in each wave of the tick that was applied last, if they make any."""

    def restore(self, state: EngineState) -> None:
        """Continue from a state, with the questions of the own agents."""
        questions = ((due, self._codec.question(asked).agent, asked) for due, asked in state.asked)
        own = msgspec.structs.replace(
            state,
            asked=tuple((due, asked) for due, agent, asked in questions if agent in self._own),
            decided=tuple(each for each in state.decided if self._codec.decided(each).agent in self._own),
        )
        super().restore(own)

    async def turn(self, tick: int) -> Turned:
        """Take the turns of both waves of the next tick, on the state at its beginning."""
        if tick in self._interventions:
            self._intervene(tick)
        triggers = self._world.triggers(tick)
        first = await self._agents.exchange(tick, triggers)
        asked = self.counters.questions
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
        self._waves = [first, *second, *[_NOBODY] * (WAVES - 1 - len(second))]
        return Turned(
            answers=tuple(np.frombuffer(b"".join(each.encoded), dtype=np.uint8) for each in self._waves),
            numbers=tuple(each.number for each in self._waves),
            acts=tuple(self._part.acts(each.updates) for each in self._waves),
            triggers=len(triggers),
            asked=self.counters.questions - asked,
        )

    async def settle(self, acts: Acts) -> None:
        """Apply the tick whose turns were taken: in each wave those below, the own agents, and those above."""
        self.changes = []
        for others, own in zip(acts, self._waves, strict=True):
            self._part.carry_out(self.tick, others[others[:, 0] < self._own.start])
            await self._apply(own.updates)
            self._part.carry_out(self.tick, others[others[:, 0] >= self._own.stop])
            if self._part.has_changes:
                self.changes.append(self._part.take_changes())
            self.end_wave()
        self._world.reactions(self.tick)

    @abstractmethod
    def end_wave(self) -> None:
        """Note what took place in a wave that has been applied."""
