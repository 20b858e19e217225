"""The kinds of answers that many agents give, updates and questions, with their bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

import msgspec
import numpy as np
from msgspec import structs

from prism.agents.questions import QuestionKind, without_context
from prism.agents.turn import Question, Update
from prism.agents.waves import Kind

_encode: Final = msgspec.msgpack.Encoder().encode


class HasForms(Protocol):
    """An owner of kinds of answers."""

    forms: Sequence[tuple[Kind, Any]]
    """The kinds of updates so far, each with its effect or None, by number; those of questions stand for none."""

    asked: Mapping[int, QuestionKind]
    """The kinds of questions so far, by number."""


class Forms:
    """The kinds of answers so far, each with its effect, and the bytes that follow an agent's number in them."""

    def __init__(self) -> None:
        self.kinds: list[Kind] = []
        self.effects: list[Any] = []
        self.asks = np.zeros(1, dtype=np.int64)
        """1 for each number that is a question's, else 0; the last place is that of ALONE."""
        self.tails = np.zeros(0, dtype=np.uint8)
        """The bytes of the n-th kind from `starts[n]` on."""
        self.starts = np.zeros(1, dtype=np.int64)
        self.longest = 0  # bytes of the longest tail

    def learn(self, turns: HasForms) -> None:
        """Take over the kinds that are new."""
        new = turns.forms[len(self.kinds) :]
        if not new:
            return
        tails = [_parts(Update(0, 0, *kind, effect))[1] for kind, effect in new]
        for number, asked in turns.asked.items():
            if number >= len(self.kinds):
                tails[number - len(self.kinds)] = without_context(_parts(Question(0, 0, *asked))[1])
        self.kinds += [kind for kind, _ in new]
        self.effects += [effect for _, effect in new]
        self.asks = np.zeros(len(turns.forms) + 1, dtype=np.int64)
        self.asks[[*turns.asked]] = 1
        self.tails = np.concatenate((self.tails, np.frombuffer(b"".join(tails), dtype=np.uint8)))
        self.starts = np.append(self.starts, self.starts[-1] + np.cumsum([*map(len, tails)], dtype=np.int64))
        self.longest = max(self.longest, *map(len, tails))


def _parts(answer: Update[Any] | Question[Any]) -> tuple[bytes, bytes]:
    """Return what comes before and after the agent's number in an encoded answer of agent 0."""
    zero, one = _encode(answer), _encode(structs.replace(answer, agent=1))
    place = next(place for place, (byte, other) in enumerate(zip(zero, one, strict=True)) if byte != other)
    return zero[:place], zero[place + 1 :]


FIRST: Final[tuple[Update[Any] | Question[Any], ...]] = (Update(0, 0, "", "", "", ""), Question(0, 0, "", "", ()))
HEADS: Final = np.frombuffer(bytearray(b"".join(_parts(each)[0][:-1] for each in FIRST)), dtype=np.uint8).reshape(2, -1)
"""The bytes before the tick and the agent's number, in an update and in a question."""
