"""The newest originals of everybody: the posts from which the out-of-network side of a feed is sampled."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from prism.rng import Draw, sample
from prism.social.post import Post


class RecentOriginals:
    """A queue of the newest originals, in arrays, so that a sample of a thousand takes some microseconds.

    Args:
        limit: the number of originals that are kept; above 0.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._ids = np.empty(2 * limit, dtype=np.int64)
        self._origins = np.empty(2 * limit, dtype=np.uint64)
        self._first = self._end = 0

    def __iter__(self) -> Iterator[int]:
        """Yield the ids, oldest first."""
        yield from self._ids[self._first : self._end].tolist()

    def __len__(self) -> int:
        return self._end - self._first

    def append(self, post: Post) -> None:
        """Add an original; the oldest goes if there are too many."""
        if self._end == len(self._ids):
            kept = len(self)
            for array in (self._ids, self._origins):
                array[:kept] = array[self._first : self._end].copy()
            self._first, self._end = 0, kept
        self._ids[self._end], self._origins[self._end] = post.id, post.origin
        self._end += 1
        self._first = max(self._first, self._end - self._limit)

    def with_limit(self, limit: int) -> RecentOriginals:
        """Return a queue of the newest of these with another limit."""
        other = RecentOriginals(limit)
        kept = min(limit, len(self))
        other._ids[:kept] = self._ids[self._end - kept : self._end]
        other._origins[:kept] = self._origins[self._end - kept : self._end]
        other._end = kept
        return other

    def drop_oldest(self, is_forgotten: Callable[[int], bool]) -> None:
        """Drop the oldest originals as long as they are forgotten."""
        while self._first < self._end and is_forgotten(int(self._ids[self._first])):
            self._first += 1

    def sampled(self, count: int, seed: int, agent: int, round_start: int) -> list[int]:
        """Return the ids of a sample for one reader and round, without repeats; of all, if there are not more.

        One original more or less changes at most one place of it, so samples of two conditions stay matched.
        """
        origins = self._origins[self._first : self._end]
        chosen = sample(origins, count, seed, agent, round_start, Draw.FEED_POOL)
        found: list[int] = self._ids[self._first : self._end][chosen].tolist()
        return found
