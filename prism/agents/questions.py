"""The questions of one wave in columns, the decisions that answer them, and the kinds of answers so far.

A question or a decision is made as an object only on access.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from prism.agents.contexts import Contexts
from prism.agents.turn import Decision, Question, Trigger
from prism.agents.waves import Kind
from prism.columns import Ints, OnAccess
from prism.rows import Values, part_of

C = TypeVar("C")


class QuestionKind(NamedTuple):
    """The kind of a question, which many agents can ask."""

    trigger: str
    state: str
    options: tuple[str, ...]


class Questions(OnAccess[Question[C]]):
    """The questions of one wave, ascending by agent.

    Args:
        kinds: `{number: kind}`, and `codes`: the number of each question's among them.
        columns: what the questions are about, as `contexts` has it, from the row `first` on.
        seen: their part that the embedded choice of their domain reads; None for questions that it has answered.
    """

    def __init__(  # its columns
        self,
        tick: int,
        agents: Ints,
        kinds: Mapping[int, QuestionKind],
        codes: Ints,
        columns: Sequence[Values],
        contexts: Contexts,
        seen: Any = None,
        first: int = 0,
    ) -> None:
        self.tick = tick
        self.agents = agents
        self.kinds = kinds
        self.codes = codes
        self._columns = columns
        self._first = first
        self.contexts = contexts
        self.seen = seen

    def __len__(self) -> int:
        return len(self.agents)

    def made(self, place: int) -> Question[C]:
        kind = self.kinds[int(self.codes[place])]
        return Question(self.tick, int(self.agents[place]), *kind, self.contexts.at(self._columns, self._first + place))

    @property
    def columns(self) -> tuple[Values, ...]:
        """The contexts of the questions: a column for each field."""
        first, end = self._first, self._first + len(self)
        return tuple(each if len(each) == end and not first else part_of(each, first, end) for each in self._columns)


Answered = tuple[Questions[Any], Ints]
"""Questions in columns, and the number of the option that the oracle chose in each."""


class Decisions(OnAccess[Trigger[C]]):
    """Triggers that bring the answers to questions: the outcome of each depends on the tick of its question.

    Args:
        tick: the tick in which they take effect.
        questions: the questions; chosen: the number of the option chosen in each.
        source: a `Source`: who has chosen.
    """

    def __init__(self, tick: int, questions: Questions[C], chosen: Ints, source: str) -> None:
        self.tick = tick
        self.questions = questions
        self.chosen = chosen
        self.source = source

    def __len__(self) -> int:
        return len(self.questions)

    @property
    def agents(self) -> Ints:
        return self.questions.agents

    def made(self, place: int) -> Trigger[C]:
        question = self.questions.made(place)
        decision = Decision(question.options[int(self.chosen[place])], self.source, question.tick)
        return Trigger(self.tick, question.agent, question.trigger, question.context, decision)


class Forms:
    """The kinds of answers so far."""

    def __init__(self) -> None:
        self.kinds: list[Kind] = []
        self.asks = np.zeros(1, dtype=np.int64)
        """1 for each number that is a question's, else 0; the last place is that of ALONE."""

    def learn(self, forms: Sequence[Kind], asked: Mapping[int, QuestionKind]) -> None:
        """Take over the kinds of `prism.domain.Turns` that are new."""
        if len(forms) > len(self.kinds):
            self.kinds += forms[len(self.kinds) :]
            self.asks = np.zeros(len(self.kinds) + 1, dtype=np.int64)
            self.asks[[*asked]] = 1
