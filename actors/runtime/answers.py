"""The answers to one wave of triggers, as the engine commits them, and the ways in which agents give them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from anyio.abc import TaskGroup

from actors.core.kinds import AnswerRows
from actors.core.mailbox import Mailbox
from actors.core.messages import Codec
from prism.agents import Question, Trigger, Update
from prism.agents.contexts import Contexts
from prism.agents.questions import Answered, QuestionKind, Questions
from prism.agents.waves import Kind, Updates, kind_of
from prism.domain import Stretch
from prism.statechart import Oracle


class Answers(NamedTuple):
    """The answers to one wave, ascending by agent.

    Args:
        updates: the updates; None if there are none.
        questions: the questions; None if there are none.
        asked: the questions one by one, if they came so, each as its agent encoded it.
    """

    updates: Updates | None = None
    questions: Questions[Any] | None = None
    asked: Sequence[tuple[Question[Any], bytes]] = ()

    def rows(self) -> AnswerRows:
        return AnswerRows.of(self.updates, self.questions)


class AnswerReader:
    """Reads answers that come one by one.

    All updates of a kind have the same bytes behind their agent, unless they have effects of their own. So only the
    first update of each kind is decoded.
    """

    def __init__(self, codec: Codec) -> None:
        self._codec = codec
        self._kinds: list[Kind] = []
        self._numbers: dict[Kind, int] = {}
        self._known: dict[bytes, int] = {}
        """`{the bytes of an update behind its agent: the number of its kind}`."""

    def read(self, tick: int, encoded: Sequence[bytes]) -> Answers:
        """Return the answers to a wave, which come in any order, at most one of each agent."""
        # 1. Answers are arrays: two bytes, the tick, the agent, the rest. An integer of msgpack is one byte below 0x80,
        #    or 0xCC to 0xCF and the 1, 2, 4 or 8 bytes after it.
        at, known, number_of = 2 + len(self._codec.encode(tick)), self._known.get, int.from_bytes
        agents, codes = list[int](), list[int]()
        for message in encoded:
            first, end = message[at], at + 1
            if first >= 0x80:
                end += 1 << first - 0xCC
                first = number_of(message[at + 1 : end], "big")
            agents.append(first)
            codes.append(known(message[end:], -1))
        ordered = sorted(agents)
        if agents != ordered:
            places = sorted(range(len(agents)), key=agents.__getitem__)
            agents, codes, encoded = ordered, [codes[each] for each in places], [encoded[each] for each in places]
        # 2. Questions, updates with effects of their own, and new kinds.
        asked, effects = list[tuple[Question[Any], bytes]](), dict[int, Any]()
        if -1 in codes:
            for place in [place for place, code in enumerate(codes) if code < 0]:
                answer = self._codec.answer(encoded[place])
                if not isinstance(answer, Update):
                    asked.append((answer, encoded[place]))
                    continue
                kind = kind_of(answer)
                codes[place] = self._numbers.setdefault(kind, len(self._kinds))
                if codes[place] == len(self._kinds):
                    self._kinds.append(kind)
                if kind.effect or answer.effect is None:
                    behind = len(self._codec.encode((tick, answer.agent))) + 1
                    self._known[encoded[place][behind:]] = codes[place]
                else:
                    effects[answer.agent] = answer.effect
        # 3. The columns.
        of_agents, of_codes = np.array(agents, dtype=np.int64), np.array(codes, dtype=np.int64)
        if asked:
            of_agents, of_codes = of_agents[of_codes >= 0], of_codes[of_codes >= 0]
        updates = Updates(tick, of_agents, self._kinds, of_codes, effects) if len(of_agents) else None
        return Answers(updates, questions_of(asked, self._codec.contexts), asked)


def questions_of(asked: Sequence[tuple[Question[Any], bytes]], contexts: Contexts) -> Questions[Any] | None:
    """Return questions that came one by one in columns."""
    if not asked:
        return None
    questions = [question for question, _ in asked]
    numbers: dict[QuestionKind, int] = {}
    codes = [
        numbers.setdefault(QuestionKind(each.trigger, each.state, each.options), len(numbers)) for each in questions
    ]
    return Questions(
        questions[0].tick,
        np.array([each.agent for each in questions], dtype=np.int64),
        {number: kind for kind, number in numbers.items()},
        np.array(codes, dtype=np.int64),
        contexts.values([each.context for each in questions]),
        contexts,
    )


class Activation:
    """A way in which agents take their turns."""

    unanswered: int
    """Triggers whose answer has not been read."""

    mailboxes: Sequence[Mailbox[bytes]] = ()
    """The agents' mailboxes, by agent id; empty where they have none."""

    def begin(self, tasks: TaskGroup) -> None:
        """Start what runs beside the engine: nothing, if no agent is a task."""

    async def exchange(self, tick: int, triggers: Sequence[Trigger[Any]]) -> Answers:
        """Give each trigger to its agent, and return the answers.

        Raises:
            MailboxClosedError: an agent is quarantined, and takes no triggers.
        """
        raise NotImplementedError

    def stretch(
        self, _ticks: range, _delay: int, _oracle: Oracle[Any], _pending: Sequence[Answered], /
    ) -> Stretch | None:
        """Run ticks together, as `prism.domain.Turns.stretch`; return their outcome, or None to run them one by one."""
        return None

    def end(self) -> None:
        """End the tasks that `begin` started."""
