"""The turns of a wave at once, in kernels; turns that need their agent are taken one at a time.

A turn is a number: that of a kind of update, or of a question. An agent that must take its turn by itself, because its
row runs a function or its decision has a text, is made for it from the world's state, as after a restart.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from operator import attrgetter
from typing import Any, Final

import numpy as np
from anyio.abc import TaskGroup

from actors.core.messages import Codec
from actors.runtime.answers import Activation, Answers, questions_of
from actors.runtime.supervisor import Supervisor
from prism.agents import Question, Trigger, Update
from prism.agents.questions import Answered, Decisions, Forms, Questions
from prism.agents.waves import Updates, Wave, kind_of
from prism.columns import Ints
from prism.domain import ALONE, HasTurns, Stretch
from prism.statechart import Oracle

ONE_BY_ONE: Final = 64
"""Turns that are taken one after the other before the event loop gets a turn: about 2 ms."""

_agent = attrgetter("agent")


class Compiled(Activation):
    def __init__(self, codec: Codec, supervisor: Supervisor, domain: HasTurns) -> None:
        self.unanswered = 0
        self._codec = codec
        self._supervisor = supervisor
        self._turns = domain.turns(asks=supervisor.ask)
        self._asked: dict[int, int] = {}
        """`{agent: the number of its question}` of those that wait for a decision."""
        self._forms = Forms()

    def begin(self, tasks: TaskGroup) -> None:  # noqa: ARG002  # no turn is a task
        """Prepare the turns: the first wave would wait for it."""
        self._turns.prepare()

    async def exchange(self, tick: int, triggers: Sequence[Trigger[Any]]) -> Answers:
        self.unanswered = len(triggers)
        if not triggers:
            return Answers()
        asked: Questions[Any] | None = None
        given: dict[int, tuple[Any, bytes]] = {}
        if isinstance(triggers, Wave):
            agents, numbers = triggers.agents, np.empty(len(triggers), dtype=np.int64)
            self._turns.take(triggers, numbers)
            await asyncio.sleep(0)
            asked, given = self._questions(triggers, numbers)
        elif isinstance(triggers, Decisions):
            agents, numbers = triggers.questions.agents, self._turns.settled(triggers)
            if self._supervisor.quarantined:
                numbers[[*map(self._supervisor.is_quarantined, agents.tolist())]] = ALONE
        else:
            triggers = sorted(triggers, key=_agent)
            agents = np.array([each.agent for each in triggers], dtype=np.int64)
            numbers = np.full(len(triggers), ALONE, dtype=np.int64)
            for place, each in enumerate(triggers):  # turns that carry out decisions
                number = self._asked.pop(each.agent, ALONE)
                if number != ALONE and each.decision is not None and not self._supervisor.is_quarantined(each.agent):
                    numbers[place] = self._turns.decided(number, each.decision, each.agent)
        alone = (numbers == ALONE).nonzero()[0].tolist()
        for count, place in enumerate(alone):
            encoded = self._supervisor.take_turn(triggers[place], {})
            given[place] = self._codec.answer(encoded), encoded
            if count % ONE_BY_ONE == ONE_BY_ONE - 1:
                await asyncio.sleep(0)
        self.unanswered = 0
        # Divide the answers, objects and numbers, into updates and questions.
        forms, effects = self._forms, dict[int, Any]()
        forms.learn(self._turns.forms, self._turns.asked)
        moved = forms.asks[numbers] == 0
        for place, (answer, _) in given.items():
            moved[place] = isinstance(answer, Update)
            if not isinstance(answer, Update):
                continue
            kind = kind_of(answer)
            numbers[place] = self._turns.number(kind)
            if answer.effect is not None and not kind.effect:
                effects[answer.agent] = answer.effect
        forms.learn(self._turns.forms, self._turns.asked)
        updates = Updates(tick, agents[moved], forms.kinds, numbers[moved], effects)
        questions = [given[place] for place in sorted(given) if isinstance(given[place][0], Question)]
        in_columns = asked or questions_of(questions, self._codec.contexts)
        return Answers(updates if len(updates) else None, in_columns, questions)

    def stretch(self, ticks: range, delay: int, oracle: Oracle[Any], pending: Sequence[Answered]) -> Stretch | None:
        return self._turns.stretch(ticks, delay, self._forms, oracle, pending)

    def _questions(
        self, wave: Wave[Any], numbers: Ints
    ) -> tuple[Questions[Any] | None, dict[int, tuple[Question[Any], bytes]]]:
        """Return the questions of a wave in columns, or else by place, each as its agent would have encoded it."""
        self._forms.learn(self._turns.forms, self._turns.asked)
        places = self._forms.asks[numbers].nonzero()[0]
        if not len(places):
            return None, {}
        if ALONE not in numbers:  # else somebody who is alone may ask, too, and all go one by one
            asked = self._turns.questions(wave, places, numbers)
            if asked is not None:
                return asked, {}
        encode, found = self._codec.encode, dict[int, tuple[Question[Any], bytes]]()
        triggers = wave.at(places)
        for place, number, trigger in zip(places.tolist(), numbers[places].tolist(), triggers, strict=True):
            kind = self._turns.asked[number]
            question = Question(wave.tick, trigger.agent, kind.trigger, kind.state, kind.options, trigger.context)
            self._asked[trigger.agent] = number
            found[place] = question, encode(question)
        return None, found
