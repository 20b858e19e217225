"""The queue of questions that wait for the oracle: by kind and arrival."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from typing import Any, NamedTuple

from actors.core.messages import Decided, QuestionName, name_of_question
from prism.agents import Question
from prism.sharing.archetypes import Place


class WaitingQuestion(NamedTuple):
    """A question that has arrived, and the state of its way to an answer.

    Args:
        decided: its answer, while that is being sent.
        tries: the times that it was asked; `attempts`: those of them that count; `unreadable`: those of them with an
            answer that could not be used.
        failed_at: the time of its latest failure but the present one; its arrival before that.
        place: its place among the questions that share judgements; None if it shares none.
        lost_s: the seconds of all outages before its arrival.
    """

    question: Question[Any]
    arrived: float
    decided: Decided | None = None
    tries: int = 0
    attempts: int = 0
    unreadable: int = 0
    failed_at: float = 0.0
    place: Place | None = None
    lost_s: float = 0.0

    @property
    def name(self) -> QuestionName:
        return name_of_question(self.question)

    @property
    def kind(self) -> Hashable:
        """The tick of the question, and the common part of the prompts of its kind: the trigger, state and options.

        Questions that failed are of another kind, behind all others: these may show that the server is there.
        """
        question = self.question
        return question.tick, question.trigger, question.state, question.options, self.tries


class FairQueue:
    """A queue in which questions of one kind leave one after the other.

    Kinds leave in the order in which their first questions arrived. Questions of a kind begin with the same text, which
    a server with prefix caching then reads once, and not again after each question of another kind.
    """

    def __init__(self) -> None:
        self._kinds: dict[Hashable, deque[WaitingQuestion]] = {}
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def put(self, waiting: WaitingQuestion, *, first: bool = False) -> None:
        """Add a question; `first`: before all others, and the others of its kind follow it."""
        self._size += 1
        if not first:
            self._kinds.setdefault(waiting.kind, deque()).append(waiting)
            return
        own = self._kinds.pop(waiting.kind, deque())
        own.appendleft(waiting)
        self._kinds = {waiting.kind: own, **self._kinds}

    def first(self) -> WaitingQuestion | None:
        """Return the next question without removing it; None when there is none."""
        return next(iter(self._kinds.values()))[0] if self._kinds else None

    def pop(self) -> WaitingQuestion:
        """Remove and return the next question."""
        kind, questions = next(iter(self._kinds.items()))
        found = questions.popleft()
        if not questions:
            del self._kinds[kind]
        self._size -= 1
        return found
