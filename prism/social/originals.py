"""The originals that are not forgotten: the posts from which the out-of-network side of a feed is sampled."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism.columns import Ints, distinct, runs
from prism.rng import Draw, integers, mixed, mixed_below, mixed_for, salts
from prism.social.post import NO_POST

FIRST_SIZE = 1024
AT_ONCE = 32_768
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
        self._room = np.empty((2, AT_ONCE), dtype=np.uint64)
        """Room in which hashes are drawn: to take a megabyte anew takes as long as a few readers' samples."""

    def __len__(self) -> int:
        return self._end - self._first

    def newest(self, count: int) -> list[int]:
        """Return the numbers of the newest originals, oldest first."""
        found: list[int] = self._numbers[max(self._first, self._end - count) : self._end].tolist()
        return found

    def extend(self, numbers: Sequence[int], origins: Sequence[int]) -> None:
        """Add originals, by the numbers of their posts, ascending and greater than those before them."""
        end = self._end + len(numbers)
        if end > len(self._numbers):
            self._make_room(len(numbers))
            end = self._end + len(numbers)
        self._numbers[self._end : end], self._origins[self._end : end] = numbers, origins
        self._end = end

    def _make_room(self, more: int) -> None:
        """Move the originals to the beginning of arrays that are at most half full with so many more."""
        size = max(FIRST_SIZE, 2 * (len(self) + more))
        numbers, origins, kept = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.uint64), len(self)
        numbers[:kept], origins[:kept] = self._numbers[self._first : self._end], self._origins[self._first : self._end]
        self._numbers, self._origins = numbers, origins
        self._first, self._end = 0, kept

    def drop_before(self, number: int) -> None:
        """Drop the originals with a lower number: they are forgotten."""
        dropped = int(np.searchsorted(self._numbers[self._first : self._end], number))
        self._first += dropped

    def sampled_by(self, readers: Ints, known: Ints, count: int, seed: int, round_start: int) -> Ints:
        """Return the samples of readers, without repeats: the numbers, a row each, and NO_POST for none.

        One original more or less changes at most one place of a sample, unless the number of parts changes: samples of
        two conditions stay matched.

        Source: bottom-k samples, Cohen & Kaplan, "Summarizing data using bottom-k sketches" (2007).

        Args:
            readers: who they are.
            known: how many of the originals there were when each of them looked, oldest first; ascending.
        """
        origins = self._origins[self._first : self._end]
        samples = _Samples(origins, known, salts(seed, Draw.FEED_POOL, readers, round_start), count, self._room)
        bits = np.frexp(np.maximum(-(-known // self.part_size) - 1, 0))[1]  # that say in which part an original is
        for each in distinct(bits).tolist():
            these = np.flatnonzero(bits == each)
            parts = self._parted(each, origins, seed)
            of = (
                integers(1 << each, seed, readers[these], round_start, Draw.FEED_PART) if each else np.zeros_like(these)
            )
            for part in distinct(of).tolist():
                among = parts.order[parts.starts[part] : parts.starts[part + 1]]
                samples.draw(among, these[of == part])
        places = samples.drawn()
        return np.where(places == NO_POST, NO_POST, self._numbers[self._first + places])

    def _parted(self, bits: int, origins: NDArray[np.uint64], seed: int) -> Parts:
        if not bits:
            return Parts(np.arange(len(origins)), np.array([0, len(origins)]))
        part_of = (mixed(origins, seed, Draw.FEED_PART) >> np.uint64(64 - bits)).astype(np.intp)
        order = np.argsort(part_of, kind="stable")
        return Parts(order, np.searchsorted(part_of[order], np.arange((1 << bits) + 1)))


class _Samples:
    """The samples of many readers: of the originals that each may get, those with the smallest hashes.

    Args:
        origins: those of all originals; known: how many of them each reader knows, ascending.
        salted: the `salts` of each reader.
        count: the places of a sample.
        room: two rows in which to work.
    """

    def __init__(
        self,
        origins: NDArray[np.uint64],
        known: Ints,
        salted: NDArray[np.uint64],
        count: int,
        room: NDArray[np.uint64],
    ) -> None:
        self._origins = origins
        self._known = known
        self._salted = salted
        self._count = count
        self._found = np.full((len(known), min(count, len(origins))), NO_POST, dtype=np.int64)
        self._likely = count + 3 * math.isqrt(count) + 4
        """So many of the smallest hashes are kept of each reader, on average: seldom fewer than `count`."""
        self._kept: list[tuple[Ints, NDArray[np.intp], NDArray[np.uint64]]] = []
        """The reader, the original and its hash of all that are kept; the readers one after the other."""
        self._room = room

    def draw(self, among: NDArray[np.intp], readers: Ints) -> None:
        """Draw the samples of some readers, ascending, from the same originals, ascending."""
        if self._room.shape[1] < len(among):
            self._room = np.empty((2, len(among)), dtype=np.uint64)
        for start in range(0, len(readers), step := max(1, AT_ONCE // max(1, len(among)))):
            here = readers[start : start + step]
            fewest, most = np.searchsorted(among, self._known[here[[0, -1]]]).tolist()
            if fewest > 2 * self._likely:
                self._keep(among[:most], here, fewest)
            else:
                self._draw_fully(among[:most], here)

    def drawn(self) -> Ints:
        """Return the places of the originals that each reader gets, in a row each, with NO_POST for none."""
        self._choose()
        return self._found

    def _keep(self, among: NDArray[np.intp], readers: Ints, fewest: int) -> None:
        """Keep the smallest hashes of readers, of whom each knows so many originals at least."""
        kept, hashes = mixed_below(self._likely / fewest, self._origins[among], self._salted[readers], self._room)
        rows = kept // len(among)
        originals = among[kept - rows * len(among)]
        fit = originals < self._known[readers[rows]]
        is_short = np.bincount(rows[fit], minlength=len(readers)) < self._count
        if is_short.any():
            self._draw_fully(among, readers[is_short])
            fit &= ~is_short[rows]
        self._kept.append((readers[rows[fit]], originals[fit], hashes[fit]))
        if sum(len(each) for each, *_ in self._kept) > AT_ONCE:
            self._choose()

    def _choose(self) -> None:
        """Choose the smallest of the hashes that are kept."""
        if not any(len(readers) for readers, *_ in self._kept):
            return
        rows, originals, hashes = map(np.concatenate, zip(*self._kept, strict=True))
        self._kept.clear()
        starts, lengths = runs(rows)
        table = np.full((len(starts), int(lengths.max())), np.iinfo(np.uint64).max)
        table[np.arange(table.shape[1]) < lengths[:, None]] = hashes
        chosen = np.argpartition(table, self._count - 1, axis=1)[:, : self._count]
        self._found[rows[starts]] = originals[starts[:, None] + chosen]

    def _draw_fully(self, among: NDArray[np.intp], readers: Ints) -> None:
        """Draw the samples of readers by comparing all hashes."""
        late = among >= self._known[readers][:, None]
        if len(among) <= self._count:
            self._found[readers, : len(among)] = np.where(late, NO_POST, among)
            return
        keys = mixed_for(self._origins[among], self._salted[readers])
        keys[late] = np.iinfo(np.uint64).max
        chosen = np.argpartition(keys, self._count, axis=1)[:, : self._count]
        self._found[readers] = np.where(np.take_along_axis(late, chosen, axis=1), NO_POST, among[chosen])
