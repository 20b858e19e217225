"""The interests of everybody as bits, so that the match of many people and posts is a few operations on arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from prism.columns import Ints
from prism.social.post import topic_match

NOBODYS: Final = -1
"""The place of a topic that is nobody's interest."""
SEVERAL: Final = -2
"""The place of a post's topics that are not exactly one."""


class Interests:
    """The interests of people.

    Args:
        interests: of each person.
    """

    def __init__(self, interests: Sequence[tuple[str, ...]]) -> None:
        self._of = interests
        self._places: dict[str, int] = {}
        people, topics = list[int](), list[int]()
        for person, those in enumerate(interests):
            for topic in those:
                people.append(person)
                topics.append(self._places.setdefault(topic, len(self._places)))
        self._bits = np.zeros((len(interests), max(1, -(-len(self._places) // 8))), dtype=np.uint8)
        places = np.array(topics, dtype=np.int64)
        bits = (1 << (places & 7)).astype(np.uint8)
        np.bitwise_or.at(self._bits, (np.array(people, dtype=np.int64), places >> 3), bits)
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
            found[each] = topic_match(self._of[people[each]], topics[codes[each]])
        return found

    def _place(self, topics: tuple[str, ...]) -> int:
        return self._places.get(topics[0], NOBODYS) if len(topics) == 1 else SEVERAL
