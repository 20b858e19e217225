"""The answers to one wave of triggers, as the engine commits them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from prism.agents import Question, Update
from prism.agents.questions import Questions
from prism.agents.waves import Updates

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
