"""The queue of questions that wait for the oracle: by kind and arrival."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterator
from itertools import chain
from typing import Any, Generic, NamedTuple, TypeVar

from actors.core.messages import Decided, QuestionName
from actors.oracle.call import Answer
from prism.agents import Question
from prism.llm.spending import Spending
from prism.sharing import Place


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
        """The question's agent, tick and trigger."""
        return self.question.agent, self.question.tick, self.question.trigger

    @property
    def kind(self) -> Hashable:
        """The tick of the question, and the common part of the prompts of its kind: the trigger, state and options.

        Questions that failed are of another kind, behind all others: these may show that the server is there.
        """
        question = self.question
        return question.tick, question.trigger, question.state, question.options, self.tries

    def decide(self, answer: Answer, now: float, spent: Spending = ()) -> Decided:
        """Return the message that tells the engine of the answer.

        Args:
            spent: the calls that the answer took.
        """
        question = self.question
        return Decided(
            question.tick,
            question.agent,
            question.trigger,
            answer.state,
            answer.source,
            answer.reason,
            answer.content,
            now - self.arrived,
            spent,
            answer.method,
        )


T = TypeVar("T")


class FairQueue(Generic[T]):
    """A queue in which items of one group leave one after the other.

    Groups leave in the order in which their first items arrived. Questions of a kind begin with the same text, which a
    server with prefix caching then reads once, and not again after each question of another kind.
    """

    def __init__(self) -> None:
        self._groups: dict[Hashable, deque[T]] = {}
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[T]:
        return chain.from_iterable(self._groups.values())

    def put(self, item: T, group: Hashable = None) -> None:
        self._groups.setdefault(group, deque()).append(item)
        self._size += 1

    def put_first(self, item: T, group: Hashable = None) -> None:
        """Add an item before all others; the other items of its group follow it."""
        own = self._groups.pop(group, deque())
        own.appendleft(item)
        self._groups = {group: own, **self._groups}
        self._size += 1

    def first(self) -> T | None:
        """Return the next item without removing it; None when there is none."""
        return next(iter(self), None)

    def pop(self) -> T:
        """Remove and return the next item. Raises: StopIteration."""
        group, items = next(iter(self._groups.items()))
        item = items.popleft()
        if not items:
            del self._groups[group]
        self._size -= 1
        return item
