"""The answers to one wave of triggers, as the engine commits them, and the ways in which agents give them."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from anyio.abc import TaskGroup

from actors.core.kinds import AnswerRows
from actors.core.mailbox import Mailbox
from prism.agents import Question, Trigger, Update
from prism.agents.contexts import Contexts
from prism.agents.questions import Answered, QuestionKind, Questions
from prism.agents.waves import Updates
from prism.domain import Stretch
from prism.statechart import Oracle

Answer = Update[Any] | Question[Any]

_agent = attrgetter("agent")


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

    @classmethod
    def of(cls, encoded: Sequence[bytes], answers: Sequence[Answer], contexts: Contexts) -> Answers:
        """Return answers that came one by one, in any order, at most one of each agent.

        Args:
            encoded: each answer as its agent encoded it.
            contexts: the columns of what questions are about.
        """
        agents = np.fromiter(map(_agent, answers), dtype=np.int64, count=len(answers))
        if (agents[1:] < agents[:-1]).any():
            places = agents.argsort(kind="stable")
            agents, order = agents[places], places.tolist()
            encoded, answers = [encoded[place] for place in order], [answers[place] for place in order]
        # Not `isinstance(each, Question)`: it takes four times as long for structs of another class, which are nearly
        # all.
        updates = [each for each in answers if isinstance(each, Update)]
        if updates and len(updates) == len(answers):
            return cls(Updates.of(updates, agents))
        asked = [(each, code) for each, code in zip(answers, encoded, strict=True) if not isinstance(each, Update)]
        return cls(Updates.of(updates) if updates else None, questions_of(asked, contexts), asked)

    @property
    def number(self) -> int:
        return len(self.updates or ()) + len(self.questions or ())

    def rows(self) -> AnswerRows:
        return AnswerRows.of(self.updates, self.questions)


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
        self,
        ticks: range,  # noqa: ARG002  # most ways cannot
        delay: int,  # noqa: ARG002
        oracle: Oracle[Any],  # noqa: ARG002
        pending: Sequence[Answered],  # noqa: ARG002
    ) -> Stretch | None:
        """Run ticks together; return what came of them. None if they must be run one by one.

        Args:
            ticks, delay, oracle, pending: as of `prism.domain.Turns.stretch`.
        """
        return None

    def end(self) -> None:
        """End the tasks that `begin` started."""
