"""The turns of a wave at once, in kernels; one turn at a time for those that an agent must take by itself.

A turn is a number: that of a kind of update with an effect, or of a question. Its bytes are those that its agent would
have encoded. An agent that must take its turn by itself, because its row runs a function or its decision has a text, is
made for it from the world's state, as after a restart.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import accumulate
from operator import attrgetter
from typing import Any, Final

import numpy as np
from anyio.abc import TaskGroup
from msgspec import structs

from actors.core.mailbox import Mailbox
from actors.core.messages import Codec
from actors.runtime.answers import Answers
from actors.runtime.supervisor import Supervisor
from prism.agents import Question, Trigger, Update, answer_kernel
from prism.agents.answer_kernel import GIVEN, NUMBER_BYTES
from prism.agents.waves import Kind, Updates, Wave
from prism.columns import Ints
from prism.domain import ALONE, HasTurns, Turns

AT_ONCE: Final = 16_384
"""Turns that are taken together before the event loop gets a turn: about 10 ms of work."""

ONE_BY_ONE: Final = 64
"""Turns that are taken one after the other before the event loop gets a turn: about 2 ms."""

_agent = attrgetter("agent")


class Compiled:
    """The turns of a wave at once.

    Args:
        codec: the domain's messages.
        supervisor: answers for an agent that crashes.
        domain: the domain.
    """

    mailboxes: Sequence[Mailbox[bytes]] = ()

    def __init__(self, codec: Codec, supervisor: Supervisor, domain: HasTurns) -> None:
        self.unanswered = 0
        self._codec = codec
        self._supervisor = supervisor
        self._turns = domain.turns(asks=supervisor.ask)
        self._asked: dict[int, int] = {}
        """`{agent: the number of its question}` of those that wait for a decision."""
        self._forms = _Forms(codec)
        self._out = np.zeros(0, dtype=np.uint8)
        self._head = -1, b""
        """A tick, and what comes before an agent's number in every update of it."""

    def begin(self, tasks: TaskGroup) -> None:  # noqa: ARG002  # no turn is a task
        """Prepare the turns: the first wave would wait for it."""
        self._turns.prepare()

    def end(self) -> None:
        """End nothing."""

    async def exchange(self, tick: int, triggers: Sequence[Trigger[Any]]) -> Answers:
        """Take the turns, and give the event loop its turn now and then."""
        self.unanswered = len(triggers)
        if not triggers:
            return Answers(None, [], [], 0)
        if isinstance(triggers, Wave):
            agents, numbers = triggers.agents, np.empty(len(triggers), dtype=np.int64)
            for start in range(0, len(triggers), AT_ONCE):
                self._turns.take(triggers, start, numbers[start : start + AT_ONCE])
                await asyncio.sleep(0)
            asked = self._questions(triggers, numbers)
            if len(triggers) > AT_ONCE:
                await asyncio.sleep(0)
        else:
            triggers = sorted(triggers, key=_agent)
            agents = np.array([each.agent for each in triggers], dtype=np.int64)
            numbers = np.array([self._decided(each) for each in triggers], dtype=np.int64)
            asked = {}
        alone: dict[int, bytes] = {}
        for count, place in enumerate((numbers == ALONE).nonzero()[0].tolist()):
            alone[place] = self._supervisor.take_turn(triggers[place], {})
            if count % ONE_BY_ONE == ONE_BY_ONE - 1:
                await asyncio.sleep(0)
        self.unanswered = 0
        return self._answers(tick, agents, numbers, asked, alone)

    def _questions(self, wave: Wave[Any], numbers: Ints) -> dict[int, tuple[Question[Any], bytes]]:
        """Return the questions of a wave by place, each as its agent would have encoded it."""
        turns = self._turns
        self._forms.learn(turns)
        places, encode = self._forms.are_questions[numbers].nonzero()[0], self._codec.encode
        asked: dict[int, tuple[Question[Any], bytes]] = {}
        triggers = wave.at(places)
        for place, number, trigger in zip(places.tolist(), numbers[places].tolist(), triggers, strict=True):
            state = turns.forms[number][0].from_state
            question = Question(
                wave.tick, trigger.agent, trigger.name, state, turns.targets(number) or (), trigger.context
            )
            self._asked[trigger.agent] = number
            asked[place] = question, encode(question)
        return asked

    def _decided(self, trigger: Trigger[Any]) -> int:
        """Return what a turn comes to that brings a decision."""
        number, decision = self._asked.pop(trigger.agent, ALONE), trigger.decision
        if number == ALONE or decision is None or self._supervisor.is_quarantined(trigger.agent):
            return ALONE
        return self._turns.decided(number, decision, trigger.agent)

    def _answers(
        self,
        tick: int,
        agents: Ints,
        numbers: Ints,
        asked: dict[int, tuple[Question[Any], bytes]],
        alone: dict[int, bytes],
    ) -> Answers:
        """Return the answers of a wave.

        Args:
            numbers: what each agent's turn has come to.
            asked: the questions, by place; alone: the answers of those who took their turn by themselves.
        """
        effects, reasons = dict[int, Any](), dict[int, str]()
        given = {place: code for place, (_, code) in asked.items()}
        for (place, encoded), answer in zip(alone.items(), self._codec.answers([*alone.values()]), strict=True):
            given[place] = encoded
            if isinstance(answer, Question):
                asked[place] = answer, encoded
                continue
            kind = Kind(answer.trigger, answer.from_state, answer.to_state, answer.source)
            numbers[place] = self._turns.number(kind)
            if answer.effect is not None:
                effects[answer.agent] = answer.effect
            if answer.reason:
                reasons[answer.agent] = answer.reason
        forms = self._forms
        forms.learn(self._turns)
        encoded = self._encoded(tick, agents, numbers, given)
        moved = np.ones(len(agents), dtype=np.bool_)
        moved[[*asked]] = False
        updates = Updates(tick, agents[moved], forms.kinds, numbers[moved], effects, reasons, forms.effects)
        questions = [asked[place] for place in sorted(asked)]
        return Answers(updates if len(updates) else None, questions, [encoded], len(agents))

    def _encoded(self, tick: int, agents: Ints, numbers: Ints, given: dict[int, bytes]) -> bytes:
        """Return the answers as their agents would have encoded them, one after the other.

        Args:
            given: `{place: the answer}` of those that are encoded already.
        """
        places, forms = sorted(given), self._forms
        pieces = [given[place] for place in places]
        if places:
            numbers = numbers.copy()
            numbers[places] = GIVEN
        if tick != self._head[0]:
            self._head = tick, _parts(self._codec, Update(tick, 0, "", "", "", ""))[0]
        head = self._head[1]
        room = len(agents) * (len(head) + NUMBER_BYTES + forms.longest) + sum(map(len, pieces))
        if room > len(self._out):
            self._out = np.zeros(2 * room, dtype=np.uint8)
        length = answer_kernel.write_answers(
            agents,
            numbers,
            np.frombuffer(head, dtype=np.uint8),
            forms.tails,
            forms.starts,
            np.frombuffer(b"".join(pieces) or b"-", dtype=np.uint8),
            np.array([*accumulate(map(len, pieces), initial=0)], dtype=np.int64),
            self._out,
        )
        return self._out[:length].tobytes()


class _Forms:
    """The kinds of updates so far, each with its effect, and the bytes that follow an agent's number in them.

    Args:
        codec: the domain's messages.
    """

    def __init__(self, codec: Codec) -> None:
        self._codec = codec
        self.kinds: list[Kind] = []
        self.effects: list[Any] = []
        self.are_questions = np.zeros(1, dtype=np.bool_)
        """True for each number that is a question's; the last place is that of ALONE."""
        self.tails = np.zeros(0, dtype=np.uint8)
        self.starts = np.zeros(1, dtype=np.int64)
        self.longest = 0

    def learn(self, turns: Turns) -> None:
        """Take over the kinds that are new."""
        new = turns.forms[len(self.kinds) :]
        if not new:
            return
        tails = [_parts(self._codec, Update(0, 0, *kind, effect))[1] for kind, effect in new]
        asks = [turns.targets(number) is not None for number in range(len(turns.forms))]
        self.kinds += [kind for kind, _ in new]
        self.effects += [effect for _, effect in new]
        self.are_questions = np.array([*asks, False])
        self.tails = np.concatenate((self.tails, np.frombuffer(b"".join(tails), dtype=np.uint8)))
        self.starts = np.append(self.starts, self.starts[-1] + np.cumsum([*map(len, tails)], dtype=np.int64))
        self.longest = max(self.longest, *map(len, tails))


def _parts(codec: Codec, update: Update[Any]) -> tuple[bytes, bytes]:
    """Return what comes before and after the agent's number in an encoded update of agent 0."""
    zero, one = codec.encode(update), codec.encode(structs.replace(update, agent=1))
    place = next(place for place, (byte, other) in enumerate(zip(zero, one, strict=True)) if byte != other)
    return zero[:place], zero[place + 1 :]
