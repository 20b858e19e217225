"""The questions of one wave in columns, and the decisions that answer them. The objects are made only on access."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from prism.agents.turn import Decision, Question, Trigger
from prism.columns import Ints, OnAccess

C = TypeVar("C")

_encode: Final = msgspec.msgpack.Encoder().encode


class QuestionKind(NamedTuple):
    """The kind of a question, which many agents can ask."""

    trigger: str
    state: str
    options: tuple[str, ...]


class Questions(OnAccess[Question[C]]):
    """The questions of one wave, ascending by agent.

    Args:
        kinds: `{number: kind}`, and `codes`: the number of each question's among them.
        contexts: what the questions are about, each as msgpack has it; the n-th ends at `ends[n]`.
        decode: returns a question of its bytes.
        seen: their part that the embedded choice of their domain reads; None for questions that it has answered.
    """

    def __init__(  # its columns
        self,
        tick: int,
        agents: Ints,
        kinds: Mapping[int, QuestionKind],
        codes: Ints,
        contexts: NDArray[np.uint8],
        ends: Ints,
        decode: Callable[[bytes], Question[C]],
        seen: Any = None,
    ) -> None:
        self.tick = tick
        self.agents = agents
        self.kinds = kinds
        self.codes = codes
        self.contexts = contexts
        self.ends = ends
        self.seen = seen
        self._decode = decode

    def __len__(self) -> int:
        return len(self.agents)

    def made(self, place: int) -> Question[C]:
        return self._decode(self.encoded(place))

    def encoded(self, place: int) -> bytes:
        """Return the question at a place as its agent would have encoded it."""
        start = int(self.ends[place - 1]) if place else 0
        question: Question[C] = Question(self.tick, int(self.agents[place]), *self.kinds[int(self.codes[place])])
        return without_context(_encode(question)) + self.contexts[start : int(self.ends[place])].tobytes()


def without_context(encoded: bytes) -> bytes:
    """Return the bytes of a question without a context up to where a context would be."""
    return encoded[:-1]


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

    def made(self, place: int) -> Trigger[C]:
        question = self.questions.made(place)
        decision = Decision(question.options[int(self.chosen[place])], self.source, question.tick)
        return Trigger(self.tick, question.agent, question.trigger, question.context, decision)
