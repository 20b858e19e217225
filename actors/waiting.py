"""A question at the oracle, from its arrival until its answer is sent."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

from actors.consultation import Verdict
from actors.messages import Decided, QuestionName
from prism.agents import Question


class Waiting(NamedTuple):
    """A question that has arrived, what identical questions have in common, and its answer while that is being sent."""

    question: Question[Any]
    arrived: float
    key: Hashable | None = None
    decided: Decided | None = None

    @property
    def name(self) -> QuestionName:
        """The agent, tick and trigger that it is known by."""
        return self.question.agent, self.question.tick, self.question.trigger

    def answer(self, verdict: Verdict, now: float) -> Decided:
        """What the engine is told."""
        question = self.question
        return Decided(
            question.tick,
            question.agent,
            question.trigger,
            verdict.state,
            verdict.source,
            verdict.reason,
            verdict.content,
            now - self.arrived,
        )
