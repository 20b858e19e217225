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

SEVERAL: Final = -1
"""The byte of a post's topics that are not exactly one."""


class Interests:
    """The interests of people.

    Args:
        topics: the topics of all interests; `places`: the place of each interest among them, and `people`: whose it is.
        size: the number of people.
    """

    def __init__(self, topics: Sequence[str], places: Ints, people: Ints, size: int) -> None:
        self._topics = topics
        self._places = {topic: place for place, topic in enumerate(topics)}
        self._width = max(1, -(-len(topics) // 8))
        self._bits = np.zeros(size * self._width, dtype=np.uint8)
        np.bitwise_or.at(self._bits, people * self._width + (places >> 3), (1 << (places & 7)).astype(np.uint8))
        self._bytes: Ints = np.zeros(0, dtype=np.int64)
        """By code of a post's topics: the byte of its only topic in a person's interests, or SEVERAL."""
        self._has_several = False
        self._masks = np.zeros(0, dtype=np.uint8)
        """The bit of the topic in that byte; 0 for a topic that is nobody's interest."""

    def matches(self, people: Ints, codes: Ints, topics: Sequence[tuple[str, ...]]) -> NDArray[np.float64]:
        """Return `topic_match` of each person and the topics of the code at the same place.

        Args:
            topics: those of each code so far.
        """
        if len(self._bytes) < len(topics):
            self._place(topics)
        numbers = self._bytes[codes]
        bits = self._bits[people * self._width + numbers] & self._masks[codes]
        found: NDArray[np.float64] = (bits != 0).astype(np.float64)
        if self._has_several:
            for each in np.flatnonzero(numbers == SEVERAL).tolist():
                found[each] = topic_match(self._of(int(people[each])), topics[codes[each]])
        return found

    def _place(self, topics: Sequence[tuple[str, ...]]) -> None:
        """Find the topics of each code among all topics."""
        bytes_of, masks = list[int](), list[int]()
        for each in topics:
            place = self._places.get(each[0]) if len(each) == 1 else None
            bytes_of.append(SEVERAL if len(each) != 1 else (place or 0) >> 3)
            masks.append(0 if place is None else 1 << (place & 7))
        self._has_several = SEVERAL in bytes_of
        self._bytes, self._masks = np.array(bytes_of, dtype=np.int64), np.array(masks, dtype=np.uint8)

    def _of(self, person: int) -> tuple[str, ...]:
        """Return a person's interests, in the order of all topics."""
        bits = np.unpackbits(self._bits[person * self._width : (person + 1) * self._width], bitorder="little")
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
