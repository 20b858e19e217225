"""The answers to one wave of triggers, as the engine commits them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

from prism.agents import Question, Update
from prism.agents.waves import Updates

Answer = tuple[int, bytes, Update[Any] | Question[Any]]
"""The agent, its answer as it encoded it, and the answer."""


class Answers(NamedTuple):
    """The answers to one wave.

    Args:
        updates: the updates; None if there is none.
        questions: the questions, each as its agent encoded it, ascending by agent.
        encoded: pieces of all answers as they were encoded, ascending by agent; `number`: how many answers these are.
    """

    updates: Updates | None
    questions: Sequence[tuple[Question[Any], bytes]]
    encoded: Sequence[bytes]
    number: int

    @classmethod
    def of(cls, answers: list[Answer]) -> Answers:
        """Return answers that have come one by one, in any order."""
        answers.sort()  # by agent; each occurs once, so nothing else is compared
        updates = [answer for _, _, answer in answers if isinstance(answer, Update)]
        questions = [(answer, encoded) for _, encoded, answer in answers if isinstance(answer, Question)]
        encoded = [encoded for _, encoded, _ in answers]
        return cls(Updates.of(updates) if updates else None, questions, encoded, len(answers))

    def each(self) -> Iterator[Update[Any] | Question[Any]]:
        """Yield them one by one, updates first."""
        return chain(self.updates or (), (question for question, _ in self.questions))
