"""A filter of pairs of people, by which most who do not follow each other are found without a search."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from prism.columns import Ints
from prism.rng import scattered_all
from prism.social.graph import FollowGraph
from prism.social.ties import ChangedTies

ROOM: Final = 16
"""Places of the table for each tie: of the pairs without one, at most a sixteenth pass."""
FEWEST_BITS: Final = 10
AUTHOR_BITS: Final = 20
"""The bits of an author's number that those of a follower do not meet before they are hashed."""


def may_follow(ties: FollowGraph | ChangedTies, readers: Ints, people: Ints, others: Ints) -> NDArray[np.bool_]:
    """Return True for each of these people who follows the other at the same place, and for a few more.

    Source: Bloom, "Space/time trade-offs in hash coding with allowable errors" (1970), with one hash.

    Args:
        readers: everybody among the people, once.
    """
    followers, followees = ties.ties_of(readers)
    bits = max(FEWEST_BITS, (ROOM * len(followees)).bit_length())
    table = np.zeros(1 << bits, dtype=np.bool_)
    table[_hashed(followers, followees, bits)] = True
    return np.asarray(table[_hashed(people, others, bits)])


def _hashed(people: Ints, others: Ints, bits: int) -> Ints:
    """Return a hash of each pair, of so many bits: the highest are mixed best."""
    return (scattered_all((people << AUTHOR_BITS) ^ others) >> np.uint64(64 - bits)).astype(np.int64)
