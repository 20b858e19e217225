"""The originals that are not forgotten: the posts from which the out-of-network side of a feed is sampled."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism.rng import Draw, integer, mixed, sample
from prism.social.post import Post

FIRST_SIZE = 1024


class Parts(NamedTuple):
    """The originals, split by a hash of each into equal parts.

    Args:
        order: the places of all originals, part by part; oldest first in each.
        starts: where each part starts in it, and where the last one ends.
    """

    order: NDArray[np.intp]
    starts: NDArray[np.intp]


class Originals:
    """A queue of originals, in arrays, so that a sample of a thousand takes some microseconds.

    With more than `part_size` originals, a reader's sample is drawn from a part of them: every original is in one of
    2, 4, 8, ... parts by a hash, and every reader draws a part anew in each round. So each original is equally likely
    to be sampled however many there are, and a sample costs no more.

    Args:
        part_size: the number of originals that a part has at most, on average; above 0.
    """

    def __init__(self, part_size: int) -> None:
        self.part_size = part_size
        self._ids = np.empty(FIRST_SIZE, dtype=np.int64)
        self._origins = np.empty(FIRST_SIZE, dtype=np.uint64)
        self._first = self._end = 0
        self._parts: Parts | None = None
        """Made when a sample is drawn, and again after any change."""

    def __len__(self) -> int:
        return self._end - self._first

    def newest(self, count: int) -> list[int]:
        """Return the ids of the newest originals, oldest first."""
        found: list[int] = self._ids[max(self._first, self._end - count) : self._end].tolist()
        return found

    def append(self, post: Post) -> None:
        """Add an original."""
        if self._end == len(self._ids):
            self._make_room()
        self._ids[self._end], self._origins[self._end] = post.id, post.origin
        self._end += 1
        self._parts = None

    def _make_room(self) -> None:
        """Move the originals to the beginning of arrays that are at most half full."""
        size = max(FIRST_SIZE, 2 * len(self))
        ids, origins, kept = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.uint64), len(self)
        ids[:kept], origins[:kept] = self._ids[self._first : self._end], self._origins[self._first : self._end]
        self._ids, self._origins = ids, origins
        self._first, self._end = 0, kept

    def drop_oldest(self, is_forgotten: Callable[[int], bool]) -> None:
        """Drop the oldest originals as long as they are forgotten."""
        while self._first < self._end and is_forgotten(int(self._ids[self._first])):
            self._first += 1
            self._parts = None

    def sampled(self, count: int, seed: int, agent: int, round_start: int) -> list[int]:
        """Return the ids of a sample for one reader and round, without repeats; of all, if there are not more.

        One original more or less changes at most one place of it, unless the number of parts changes: samples of two
        conditions stay matched.
        """
        ids, origins = self._ids[self._first : self._end], self._origins[self._first : self._end]
        if len(ids) > self.part_size:
            parts = self._parts or self._split(origins, seed)
            part = integer(len(parts.starts) - 1, seed, agent, round_start, Draw.FEED_PART)
            places = parts.order[parts.starts[part] : parts.starts[part + 1]]
            ids, origins = ids[places], origins[places]
        chosen = sample(origins, count, seed, agent, round_start, Draw.FEED_POOL)
        found: list[int] = ids[chosen].tolist()
        return found

    def _split(self, origins: NDArray[np.uint64], seed: int) -> Parts:
        bits = (-(-len(origins) // self.part_size) - 1).bit_length()
        part_of = (mixed(origins, seed, Draw.FEED_PART) >> np.uint64(64 - bits)).astype(np.intp)
        order = np.argsort(part_of, kind="stable")
        self._parts = Parts(order, np.searchsorted(part_of[order], np.arange((1 << bits) + 1)))
        return self._parts
