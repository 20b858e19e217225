"""The people in columns: the numbers of their personas that expressions read, and the interests of everybody."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from prism.columns import Ints
from prism.config.attributes import TRAITS, Value
from prism.social.people.persona import PERSONALITIES, TRAITS_OF, Persona, Traits
from prism.social.people.synthetic import SyntheticPeople
from prism.social.tables import Interests

_OWN: Final = ("low_threshold", "high_threshold", "engagement_threshold", "activity")
_SYNTHETIC: Final = tuple(TRAITS_OF[each] for each in PERSONALITIES)
"""The traits of synthetic people, by the number of their personality."""


class People:
    """The columns of personas, each made when it is first read."""

    def __init__(self, personas: Sequence[Persona]) -> None:
        self._personas = personas
        self._columns: dict[str, NDArray[Any] | None] = {}
        self.changing: Callable[[str], NDArray[Any] | None] | None = None
        """Returns the present values of a field of everybody, if it changes; None if no field changes."""

    @property
    def activity(self) -> NDArray[np.float64]:
        return self.numbers("activity")

    def column(self, field: str) -> NDArray[Any] | None:
        """Return a field `agent.NAME` of everybody; None if somebody has no such number, truth value or text."""
        if self.changing is not None and (now := self.changing(field)) is not None:
            return now
        if field not in self._columns:
            name, people = field.removeprefix("agent."), self._personas
            if name in _OWN or name in TRAITS:
                return self.numbers(name)
            if name == "interests":
                values = np.empty(len(people), dtype=object)
                values[:] = [persona.interests for persona in people]
                self._columns[field] = values
            else:
                listed = self.attribute(name)
                kinds = {type(value) for value in listed}
                is_one = kinds <= {int, float} or kinds in ({bool}, {str})
                self._columns[field] = np.array(listed) if is_one else None
        return self._columns[field]

    def read(self, field: str, people: Ints) -> NDArray[Any] | None:
        """Return a field of these people, as `column`."""
        column = self.column(field)
        return None if column is None else column[people]

    def traits(self, people: Ints) -> tuple[Sequence[Traits], Sequence[int] | Ints]:
        """Return the distinct traits, and the place of each of these people's traits among them."""
        if isinstance(self._personas, SyntheticPeople):
            return _SYNTHETIC, self._personas.personality[people]
        columns = [self.numbers(name)[people].tolist() for name in TRAITS]
        rows = list(zip(*columns, strict=True))
        places = {each: place for place, each in enumerate(dict.fromkeys(rows))}
        found = [Traits(**dict(zip(TRAITS, each, strict=True))) for each in places]
        return found, [places[each] for each in rows]

    def attribute(self, name: str) -> Sequence[Value | None]:
        """Return an own attribute of everybody at the start; None for each person without a value."""
        people = self._personas
        if isinstance(people, SyntheticPeople):
            return people.attribute(name)
        return [persona.attributes.get(name) for persona in people]

    def texts(self, name: str, in_words: Callable[[Any], str] = str) -> NDArray[np.object_]:
        """Return the name, the personality or the interests of everybody as texts."""
        people = self._personas
        if isinstance(people, SyntheticPeople):
            return people.texts(name, in_words)
        return np.array([in_words(getattr(persona, name)) for persona in people], object)

    def numbers(self, name: str) -> NDArray[np.float64]:
        column = self._columns.get(f"agent.{name}")
        if column is None:
            people = self._personas
            if isinstance(people, SyntheticPeople):
                column = people.trait(name) if name in TRAITS else np.asarray(getattr(people, name))
            else:
                of = [each.traits for each in people] if name in TRAITS else people
                column = np.fromiter((getattr(each, name) for each in of), np.float64, len(people))
            self._columns[f"agent.{name}"] = column
        return column


def interests_of(personas: Sequence[Persona]) -> tuple[list[str], Interests]:
    """Return the topics of all interests, whose codes are their places, and the interests of people."""
    # 1. The codes of all people, one after the other, and how many each has.
    if isinstance(personas, SyntheticPeople):
        topics, table = personas.topics, personas.interest_codes.astype(np.int64)
        codes, lengths = table.ravel(), np.full(len(table), table.shape[1], dtype=np.int64)
    else:
        numbers: dict[str, int] = {}
        places = [[numbers.setdefault(topic, len(numbers)) for topic in persona.interests] for persona in personas]
        topics, lengths = [*numbers], np.array([*map(len, places)], dtype=np.int64)
        codes = np.fromiter(chain.from_iterable(places), np.int64, int(lengths.sum()))
    # 2. A bit for each topic of each person.
    count = len(topics)
    width = max(1, -(-count // 8))
    people = np.repeat(np.arange(len(lengths)), lengths)
    bits = np.zeros(len(lengths) * width, dtype=np.uint8)
    np.bitwise_or.at(bits, people * width + (codes >> 3), (1 << (codes & 7)).astype(np.uint8))
    starts = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(lengths)))
    of_codes = np.append(np.arange(count + 1), count)  # the last code is of no topic
    return topics, Interests(bits, width, count, starts, codes.astype(np.int32), of_codes, np.arange(count), count)
