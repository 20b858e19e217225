"""The interests of everybody in arrays."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np

from prism.columns import Ints
from prism.social.people.persona import Persona
from prism.social.people.synthetic import SyntheticPeople
from prism.social.tables import Interests


def interests_of(personas: Sequence[Persona]) -> tuple[list[str], Interests]:
    """Return the topics of all interests, whose codes are their places, and the interests of people."""
    if isinstance(personas, SyntheticPeople):
        codes = personas.interest_codes.astype(np.int64)
        lengths = np.full(len(codes), codes.shape[1], dtype=np.int64)
        return personas.topics, _made(len(personas.topics), codes.ravel(), lengths)
    numbers: dict[str, int] = {}
    places = [[numbers.setdefault(topic, len(numbers)) for topic in persona.interests] for persona in personas]
    lengths = np.array([*map(len, places)], dtype=np.int64)
    return [*numbers], _made(
        len(numbers), np.fromiter(chain.from_iterable(places), np.int64, int(lengths.sum())), lengths
    )


def _made(count: int, codes: Ints, lengths: Ints) -> Interests:
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
