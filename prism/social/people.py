"""The people in columns: the numbers of their personas that expressions read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from prism.columns import Ints
from prism.config.attributes import TRAITS
from prism.social.persona import Persona

_OWN: Final = ("low_threshold", "high_threshold", "engagement_threshold", "activity")


class People:
    """The columns of personas, each made when it is first read.

    Args:
        personas: the people.
    """

    def __init__(self, personas: Sequence[Persona]) -> None:
        self._personas = personas
        self._columns: dict[str, NDArray[Any] | None] = {}

    @property
    def activity(self) -> NDArray[np.float64]:
        """The activity of each person."""
        return self._numbers("agent.activity", lambda persona: persona.activity)

    def read(self, field: str, people: Ints) -> NDArray[Any] | None:
        """Return a field `agent.NAME` of these people; None if somebody has no such number, truth value or text."""
        if field not in self._columns:
            self._columns[field] = self._made(field.removeprefix("agent."))
        column = self._columns[field]
        return None if column is None else column[people]

    def _made(self, name: str) -> NDArray[Any] | None:
        if name in _OWN:
            return self._numbers(f"agent.{name}", lambda persona: getattr(persona, name))
        if name in TRAITS:
            return self._numbers(f"agent.{name}", lambda persona: getattr(persona.traits, name))
        if name == "interests":
            column = np.empty(len(self._personas), dtype=object)
            column[:] = [persona.interests for persona in self._personas]
            return column
        values = [persona.attributes.get(name) for persona in self._personas]
        kinds = {type(value) for value in values}
        if kinds <= {int, float} or kinds in ({bool}, {str}):
            return np.array(values)
        return None

    def _numbers(self, field: str, of: Callable[[Persona], float]) -> NDArray[np.float64]:
        column = self._columns.get(field)
        if column is None:
            column = self._columns[field] = np.fromiter(map(of, self._personas), np.float64, len(self._personas))
        return column
