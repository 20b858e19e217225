"""The originals that are not forgotten: the posts from which the out-of-network side of a feed is sampled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism.columns import Ints
from prism.rng import Draw, integer, integers, mixed, mixed_for, sample

FIRST_SIZE = 1024
AT_ONCE = 65_536
"""Hashes that are drawn at once: as many as the processor's cache holds."""


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
        self._numbers = np.empty(FIRST_SIZE, dtype=np.int64)
        self._origins = np.empty(FIRST_SIZE, dtype=np.uint64)
        self._first = self._end = 0
        self._parts: Parts | None = None
        """Made when a sample is drawn, and again after any change."""

    def __len__(self) -> int:
        return self._end - self._first

    def newest(self, count: int) -> list[int]:
        """Return the numbers of the newest originals, oldest first."""
        found: list[int] = self._numbers[max(self._first, self._end - count) : self._end].tolist()
        return found

    def append(self, number: int, origin: int) -> None:
        """Add an original, by the number of its post, which is greater than those before it."""
        if self._end == len(self._numbers):
            self._make_room()
        self._numbers[self._end], self._origins[self._end] = number, origin
        self._end += 1
        self._parts = None

    def _make_room(self) -> None:
        """Move the originals to the beginning of arrays that are at most half full."""
        size = max(FIRST_SIZE, 2 * len(self))
        numbers, origins, kept = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.uint64), len(self)
        numbers[:kept], origins[:kept] = self._numbers[self._first : self._end], self._origins[self._first : self._end]
        self._numbers, self._origins = numbers, origins
        self._first, self._end = 0, kept

    def drop_before(self, number: int) -> None:
        """Drop the originals with a lower number: they are forgotten."""
        dropped = int(np.searchsorted(self._numbers[self._first : self._end], number))
        if dropped:
            self._first += dropped
            self._parts = None

    def sampled(self, count: int, seed: int, agent: int, round_start: int) -> list[int]:
        """Return the numbers of a sample for one reader and round, without repeats; of all, if there are not more.

        One original more or less changes at most one place of it, unless the number of parts changes: samples of two
        conditions stay matched.
        """
        numbers, origins = self._numbers[self._first : self._end], self._origins[self._first : self._end]
        if len(numbers) > self.part_size:
            parts = self._parts or self._split(origins, seed)
            part = integer(len(parts.starts) - 1, seed, agent, round_start, Draw.FEED_PART)
            places = parts.order[parts.starts[part] : parts.starts[part + 1]]
            numbers, origins = numbers[places], origins[places]
        chosen = sample(origins, count, seed, agent, round_start, Draw.FEED_POOL)
        found: list[int] = numbers[chosen].tolist()
        return found

    def sampled_by(self, readers: Ints, known: Ints, count: int, seed: int, round_start: int) -> tuple[Ints, Ints]:
        """Return the samples of many readers, as `sampled` finds them: places among the readers, and numbers.

        Args:
            readers: who they are.
            known: how many of the originals there were when each of them looked, oldest first; ascending.
        """
        places, numbers = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
        origins, draw = self._origins[self._first : self._end], _Draw(count, seed, round_start)
        bits = np.array([self._bits(each) for each in known.tolist()])
        for each in np.unique(bits).tolist():
            these = np.flatnonzero(bits == each)
            parts = self._parted(each, origins, seed)
            of = (
                integers(1 << each, seed, readers[these], round_start, Draw.FEED_PART) if each else np.zeros_like(these)
            )
            for part in np.unique(of).tolist():
                among = parts.order[parts.starts[part] : parts.starts[part + 1]]
                here = these[of == part]
                for start in range(0, len(here), step := max(1, AT_ONCE // max(1, len(among)))):
                    chunk = here[start : start + step]
                    rows, found = _drawn(origins, among, readers[chunk], known[chunk], draw)
                    places.append(chunk[rows])
                    numbers.append(self._numbers[self._first + found])
        return np.concatenate(places), np.concatenate(numbers)

    def _bits(self, known: int) -> int:
        """Return how many bits of a hash say in which part an original is, of so many."""
        return (-(-known // self.part_size) - 1).bit_length() if known > self.part_size else 0

    def _parted(self, bits: int, origins: NDArray[np.uint64], seed: int) -> Parts:
        if not bits:
            return Parts(np.arange(len(origins)), np.array([0, len(origins)]))
        part_of = (mixed(origins, seed, Draw.FEED_PART) >> np.uint64(64 - bits)).astype(np.intp)
        order = np.argsort(part_of, kind="stable")
        return Parts(order, np.searchsorted(part_of[order], np.arange((1 << bits) + 1)))

    def _split(self, origins: NDArray[np.uint64], seed: int) -> Parts:
        self._parts = self._parted(self._bits(len(origins)), origins, seed)
        return self._parts


class _Draw(NamedTuple):
    """The settings of samples: places of each, the run's seed, and the first tick of the round."""

    places: int
    seed: int
    round_start: int


def _drawn(
    origins: NDArray[np.uint64], among: NDArray[np.intp], readers: Ints, known: Ints, draw: _Draw
) -> tuple[Ints, Ints]:
    """Return a sample for each reader from the same originals, as rows and places: those with the smallest hashes."""
    among = among[: np.searchsorted(among, known[-1])]  # of the last reader, who knows most
    late = among >= known[:, None]
    if len(among) <= draw.places:
        rows, columns = np.nonzero(~late)
        return rows, among[columns]
    keys = mixed_for(origins[among], draw.seed, Draw.FEED_POOL, readers, draw.round_start)
    keys[late] = np.iinfo(np.uint64).max
    chosen = np.sort(np.argpartition(keys, draw.places, axis=1)[:, : draw.places], axis=1)
    rows, columns = np.nonzero(~np.take_along_axis(late, chosen, axis=1))
    return rows, among[chosen[rows, columns]]
