"""The answers to one wave of triggers, as the engine commits them, and the ways in which agents give them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from anyio.abc import TaskGroup

from actors.core.mailbox import Mailbox
from prism.agents import Question, Trigger, Update
from prism.agents.questions import Answered, Questions
from prism.agents.waves import Kind, Updates
from prism.domain import Stretch
from prism.statechart import Oracle

Answer = Update[Any] | Question[Any]

_agent = attrgetter("agent")


class Answers(NamedTuple):
    """The answers to one wave.

    Args:
        updates: the updates; None if there are no updates.
        questions: the questions, each as its agent encoded it, ascending by agent; or in columns.
        encoded: pieces of all answers as they were encoded, ascending by agent; `number`: how many answers these are.
    """

    updates: Updates | None
    questions: Sequence[tuple[Question[Any], bytes]] | Questions[Any]
    encoded: Sequence[bytes]
    number: int

    @classmethod
    def of(cls, encoded: Sequence[bytes], answers: Sequence[Answer]) -> Answers:
        """Return answers that came one by one, in any order, at most one of each agent.

        Args:
            encoded: each answer as its agent encoded it.
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
            return cls(Updates.of(updates, agents), (), encoded, len(encoded))
        asked = [(each, code) for each, code in zip(answers, encoded, strict=True) if not isinstance(each, Update)]
        return cls(Updates.of(updates) if updates else None, asked, encoded, len(encoded))

    def each(self) -> Iterator[Answer]:
        """Yield them one by one, updates first."""
        asked = self.questions
        questions = asked if isinstance(asked, Questions) else (question for question, _ in asked)
        return chain(self.updates or (), questions)


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
    ) -> tuple[Stretch, Sequence[Kind]] | None:
        """Run ticks together; return their results, with the kinds of updates. None if they must be run one by one.

        Args:
            ticks, delay, oracle, pending: as of `prism.domain.Turns.stretch`.
        """
        return None

    def end(self) -> None:
        """End the tasks that `begin` started."""
