"""The interests of everybody as bits, so that the match of many people and posts is a few operations on arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from prism.columns import Ints
from prism.social.persona import Persona
from prism.social.post import topic_match
from prism.social.synthetic import SyntheticPeople

NOBODYS: Final = -1
"""The place of a topic that is nobody's interest."""
SEVERAL: Final = -2
"""The place of a post's topics that are not exactly one."""


class Interests:
    """The interests of people.

    Args:
        topics: the topics of all interests; `places`: the place of each interest among them, and `people`: whose it is.
        size: the number of people.
    """

    def __init__(self, topics: Sequence[str], places: Ints, people: Ints, size: int) -> None:
        self._topics = topics
        self._places = {topic: place for place, topic in enumerate(topics)}
        self._bits = np.zeros((size, max(1, -(-len(topics) // 8))), dtype=np.uint8)
        np.bitwise_or.at(self._bits, (people, places >> 3), (1 << (places & 7)).astype(np.uint8))
        self._codes: list[int] = []
        """By code of a post's topics: the place of its only topic."""

    def matches(self, people: Ints, codes: Ints, topics: Sequence[tuple[str, ...]]) -> NDArray[np.float64]:
        """Return `topic_match` of each person and the topics of the code at the same place.

        Args:
            topics: those of each code so far.
        """
        self._codes += [self._place(each) for each in topics[len(self._codes) :]]
        places = np.array(self._codes, dtype=np.int64)[codes]
        single = np.maximum(places, 0)
        bits = self._bits[people, single >> 3] >> (single & 7).astype(np.uint8)
        found: NDArray[np.float64] = (bits & 1).astype(np.float64)
        found[places < 0] = 0.0
        for each in np.flatnonzero(places == SEVERAL).tolist():
            found[each] = topic_match(self._of(int(people[each])), topics[codes[each]])
        return found

    def _place(self, topics: tuple[str, ...]) -> int:
        return self._places.get(topics[0], NOBODYS) if len(topics) == 1 else SEVERAL

    def _of(self, person: int) -> tuple[str, ...]:
        """Return a person's interests, in the order of all topics."""
        bits = np.unpackbits(self._bits[person], bitorder="little")
        return tuple(self._topics[place] for place in np.flatnonzero(bits).tolist())


def interests_of(personas: Sequence[Persona]) -> Interests:
    """Return the interests of people."""
    if isinstance(personas, SyntheticPeople):
        codes = personas.interest_codes.astype(np.int64)
        people = np.repeat(np.arange(len(codes)), codes.shape[1])
        return Interests(personas.topics, codes.ravel(), people, len(codes))
    numbers: dict[str, int] = {}
    whose, places = list[int](), list[int]()
    for person, persona in enumerate(personas):
        for topic in persona.interests:
            whose.append(person)
            places.append(numbers.setdefault(topic, len(numbers)))
    return Interests([*numbers], np.array(places, dtype=np.int64), np.array(whose, dtype=np.int64), len(personas))
