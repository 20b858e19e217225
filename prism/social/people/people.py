"""The people in columns: the numbers of their personas that expressions read, and the interests of everybody."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from prism.columns import Ints
from prism.config.attributes import TRAITS
from prism.social.people.persona import PERSONALITIES, TRAITS_OF, Persona, Traits
from prism.social.people.synthetic import SyntheticPeople
from prism.social.tables import Interests

_OWN: Final = ("low_threshold", "high_threshold", "engagement_threshold", "activity")
_SYNTHETIC: Final = tuple(TRAITS_OF[each] for each in PERSONALITIES)
"""The traits of synthetic people, by the number of their personality."""


class People:
    """The columns of personas, each made when it is first read.

    Args:
        personas: the people.
    """

    def __init__(self, personas: Sequence[Persona]) -> None:
        self._personas = personas
        self._columns: dict[str, NDArray[Any] | None] = {}
        self.changing: Callable[[str], NDArray[Any] | None] | None = None
        """Returns the present values of a field of everybody, if it changes; None if no field changes."""

    @property
    def activity(self) -> NDArray[np.float64]:
        """The activity of each person."""
        return self.numbers("activity")

    def column(self, field: str) -> NDArray[Any] | None:
        """Return a field `agent.NAME` of everybody; None if somebody has no such number, truth value or text."""
        if self.changing is not None and (now := self.changing(field)) is not None:
            return now
        if field not in self._columns:
            self._columns[field] = self._made(field.removeprefix("agent."))
        return self._columns[field]

    def read(self, field: str, people: Ints) -> NDArray[Any] | None:
        """Return a field of these people, as `column`."""
        column = self.column(field)
        return None if column is None else column[people]

    def _made(self, name: str) -> NDArray[Any] | None:
        if name in _OWN or name in TRAITS:
            return self.numbers(name)
        if name == "interests":
            column = np.empty(len(self._personas), dtype=object)
            column[:] = [persona.interests for persona in self._personas]
            return column
        if isinstance(self._personas, SyntheticPeople):
            values = self._personas.attribute(name)
        else:
            values = [persona.attributes.get(name) for persona in self._personas]
        kinds = {type(value) for value in values}
        if kinds <= {int, float} or kinds in ({bool}, {str}):
            return np.array(values)
        return None

    def traits(self, people: Ints) -> tuple[Sequence[Traits], Sequence[int] | Ints]:
        """Return the distinct traits, and the place of each of these people's traits among them."""
        if isinstance(self._personas, SyntheticPeople):
            return _SYNTHETIC, self._personas.personality[people]
        columns = [self.numbers(name)[people].tolist() for name in TRAITS]
        rows = list(zip(*columns, strict=True))
        places = {each: place for place, each in enumerate(dict.fromkeys(rows))}
        found = [Traits(**dict(zip(TRAITS, each, strict=True))) for each in places]
        return found, [places[each] for each in rows]

    def numbers(self, name: str) -> NDArray[np.float64]:
        """Return a number that everybody has."""
        column = self._columns.get(f"agent.{name}")
        if column is None:
            column = self._columns[f"agent.{name}"] = self._drawn(name)
        return column

    def _drawn(self, name: str) -> NDArray[np.float64]:
        people = self._personas
        if isinstance(people, SyntheticPeople):
            return people.trait(name) if name in TRAITS else np.asarray(getattr(people, name))
        if name in TRAITS:
            return np.fromiter((getattr(each.traits, name) for each in people), np.float64, len(people))
        return np.fromiter((getattr(each, name) for each in people), np.float64, len(people))


def interests_of(personas: Sequence[Persona]) -> tuple[list[str], Interests]:
    """Return the topics of all interests, whose codes are their places, and the interests of people."""
    if isinstance(personas, SyntheticPeople):
        codes = personas.interest_codes.astype(np.int64)
        lengths = np.full(len(codes), codes.shape[1], dtype=np.int64)
        return personas.topics, _interests(len(personas.topics), codes.ravel(), lengths)
    numbers: dict[str, int] = {}
    places = [[numbers.setdefault(topic, len(numbers)) for topic in persona.interests] for persona in personas]
    lengths = np.array([*map(len, places)], dtype=np.int64)
    return [*numbers], _interests(
        len(numbers), np.fromiter(chain.from_iterable(places), np.int64, int(lengths.sum())), lengths
    )


def _interests(count: int, codes: Ints, lengths: Ints) -> Interests:
    """Return the interests of people, of a number of topics.

    Args:
        codes: of all people, one after the other; lengths: how many each person has.
    """
    width = max(1, -(-count // 8))
    people = np.repeat(np.arange(len(lengths)), lengths)
    bits = np.zeros(len(lengths) * width, dtype=np.uint8)
    np.bitwise_or.at(bits, people * width + (codes >> 3), (1 << (codes & 7)).astype(np.uint8))
    starts = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(lengths)))
    of_codes = np.append(np.arange(count + 1), count)  # the last code is of no topic
    return Interests(bits, width, count, starts, codes.astype(np.int32), of_codes, np.arange(count), count)
