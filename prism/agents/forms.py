"""The kinds of answers that many agents give, updates and questions, by number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from prism.agents.questions import QuestionKind
from prism.agents.waves import Kind


class HasForms(Protocol):
    """An owner of kinds of answers."""

    forms: Sequence[Kind]
    """The kinds of updates so far, by number; those of questions stand for none."""

    asked: Mapping[int, QuestionKind]
    """The kinds of questions so far, by number."""


class Forms:
    """The kinds of answers so far."""

    def __init__(self) -> None:
        self.kinds: list[Kind] = []
        self.asks = np.zeros(1, dtype=np.int64)
        """1 for each number that is a question's, else 0; the last place is that of ALONE."""

    def learn(self, turns: HasForms) -> None:
        """Take over the kinds that are new."""
        if len(turns.forms) > len(self.kinds):
            self.kinds += turns.forms[len(self.kinds) :]
            self.asks = np.zeros(len(self.kinds) + 1, dtype=np.int64)
            self.asks[[*turns.asked]] = 1
