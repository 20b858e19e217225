"""An engine with the turns of a range of the agents of a run.

A tick has two waves, of triggers and of decisions. Both are turns on the state at the tick's beginning, because an
agent that gets a decision gets no trigger. So their turns are taken together, and others are told once what the agents
do. If the engine's oracle answers the questions of all shards, its decisions come between the two waves. Once the acts
of the other agents are known, everything is applied in the order of agents.
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
from actors.runtime.shards import Acts, Turned, TurnedWave, asks_engine
from prism.agents import Trigger
from prism.agents.questions import Questions
from prism.columns import Floats
from prism.domain import WorldShard

_NOBODY = Answers(None, (), (), 0)


class PartEngine(EngineActor):
    """An engine that takes the turns of a tick for some agents, and applies them once it knows the acts of the others.

    Args:
        part: the world as one of several.
        own: the agents.
    """

    def __init__(self, *args: Any, part: WorldShard, own: range, **options: Any) -> None:
        super().__init__(*args, **options)
        self._part, self._own = part, own
        self._end = options["config"].simulation.length
        self._asks_engine = asks_engine(options["config"].oracle)
        self._waves: list[Answers] = []
        self.changes: list[Floats] = []
        """The changes of the own agents in each wave of the tick that was applied last; empty if none can be made."""

    def restore(self, state: EngineState) -> None:
        """Continue from a state, with the questions of the own agents, or of all if the engine's oracle answers."""
        if self._asks_engine:
            super().restore(state)
            return
        questions = ((due, self._codec.question(asked).agent, asked) for due, asked in state.asked)
        own = msgspec.structs.replace(
            state,
            asked=tuple((due, asked) for due, agent, asked in questions if agent in self._own),
            decided=tuple(each for each in state.decided if self._codec.decided(each).agent in self._own),
        )
        super().restore(own)

    async def turn(self, tick: int) -> Turned:
        """Take the turns of the next tick, on the state at its beginning.

        If the engine's oracle answers the questions of all shards, these are the turns of the first wave only.
        """
        if tick in self._interventions:
            self._intervene(tick)
        triggers = self._world.triggers(tick)
        first = await self._agents.exchange(tick, triggers)
        asked, questions = self.counters.questions, list[bytes]()
        if self._asks_engine:
            questions, second = self._questions_of(first), _NOBODY
        else:
            self._ask_those_of(first)
            second = await self._decide_here(tick)
        self._waves = [first, second]
        waves = tuple(map(self._turned_wave, self._waves))
        return Turned(waves, len(triggers), self.counters.questions - asked, questions)

    async def decide(self, tick: int, decisions: Sequence[Trigger[Any]]) -> TurnedWave:
        """Take the turns of the own agents whose decisions take effect in the tick whose first wave is taken."""
        self._waves[1] = await self._agents.exchange(tick, decisions)
        return self._turned_wave(self._waves[1])

    def _turned_wave(self, wave: Answers) -> TurnedWave:
        answers = np.frombuffer(b"".join(wave.encoded), dtype=np.uint8)
        return TurnedWave(answers, wave.number, self._part.acts(wave.updates))

    def _questions_of(self, answers: Answers) -> list[bytes]:
        """Let the agents that ask deliberate, and return their questions."""
        asked = answers.questions
        if isinstance(asked, Questions):
            self._world.all_deliberate(asked)
            return [*map(asked.encoded, range(len(asked)))]
        for question, _ in asked:
            self._world.deliberates(question)
        return [encoded for _, encoded in asked]

    async def _decide_here(self, tick: int) -> Answers:
        """Answer the questions, and take the turns of the second wave."""
        self.open_questions.offer()
        decided = list[Sequence[Trigger[Any]]]()
        if due := self.open_questions.take_due(tick):
            decided.append(self.open_questions.close_all(due, tick))
        if (chosen := self.open_questions.take_chosen(tick)) is not None:
            decided.append(chosen)
        if len(decided) > 1:
            raise RuntimeError(f"tick {tick}: expected the decisions of one wave, got those of {len(decided)}")
        return await self._agents.exchange(tick, decided[0]) if decided else _NOBODY

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
