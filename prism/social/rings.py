"""The latest few numbers of every person, such as the posts that came to them: one row of an array each."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from prism.columns import BLOCK, Ints, Rows, places_in_lists, runs


class Rings:
    """The latest numbers of every person, at most `depth` each. A row is a ring: a new number takes the oldest's place.

    Args:
        size: the number of people.
        depth: the most numbers that a person keeps. It may change: a person has no more once the next one comes.
        dtype: of the numbers.
    """

    def __init__(self, size: int, depth: int, dtype: type[np.int32 | np.int64] = np.int32) -> None:
        self.depth = depth
        self._rows: NDArray[np.int32 | np.int64] = np.zeros((size, max(1, depth)), dtype=dtype)
        self._flat = self._rows.reshape(-1)
        self._ends = np.zeros(size, dtype=np.int32)
        """The place of each person's next number."""
        self.counts = np.zeros(size, dtype=np.int32)
        """The numbers that each person has."""

    def add(self, people: Ints, numbers: Ints) -> None:
        """Add numbers, each to the person at the same place: those of one person ascending."""
        keys = np.sort((people << 32) | numbers)
        people, numbers = keys >> 32, keys & 0xFFFFFFFF
        starts, lengths = runs(people)
        self.extend(Rows(people[starts], lengths, numbers))

    def extend(self, rows: Rows) -> None:
        """Add the numbers of each row to those of its person, in order."""
        people, lengths = rows.keys, rows.lengths
        counts = np.minimum(self.counts[people] + lengths, self.depth)
        if self._rows.shape[1] < self.depth:  # an intervention has raised it
            self._widen(self.depth)
        width, ends = self._rows.shape[1], self._ends[people]
        places = (ends.repeat(lengths) + places_in_lists(lengths)) % width
        self._flat[(people * width).repeat(lengths) + places] = rows.values  # of one place the last one stays
        self._ends[people] = (ends + lengths) % width
        self.counts[people] = counts

    def latest(self, people: Ints) -> tuple[NDArray[np.int32 | np.int64], NDArray[np.int32]]:
        """Return the numbers of these people, latest first, as a row each, and how many of each row count."""
        counts = self.counts[people]
        width = int(counts.max(initial=0))
        places = self._ends[people][:, None] - 1 - np.arange(width, dtype=np.int32)
        places += np.where(places < 0, self._rows.shape[1], 0).astype(np.int32)
        return self._flat[(people * self._rows.shape[1])[:, None] + places], counts

    def of(self, person: int) -> list[int]:
        """Return one person's numbers, oldest first."""
        rows, counts = self.latest(np.array([person], dtype=np.int64))
        found: list[int] = rows[0, : counts[0]][::-1].tolist()
        return found

    def blocks(self) -> Iterator[Rows]:
        """Yield the numbers of all who have any, oldest first, of some people at a time; at least one block."""
        people, width = np.flatnonzero(self.counts), self._rows.shape[1]
        step = max(1, BLOCK // width)
        for start in range(0, max(1, len(people)), step):
            block = people[start : start + step]
            lengths = self.counts[block].astype(np.int64)
            first = np.repeat(self._ends[block] - lengths, lengths)
            places = (first + places_in_lists(lengths)) % width
            values = self._flat[np.repeat(block * width, lengths) + places]
            yield Rows(block, lengths, values.astype(np.int64))

    def fill(self, rows: Rows) -> None:
        """Set the numbers of everybody, who have none yet."""
        width = int(rows.lengths.max(initial=1))
        if width > self._rows.shape[1]:
            self._widen(width)
        ends = np.cumsum(rows.lengths)
        step = max(1, BLOCK // width)
        for start in range(0, len(rows.keys), step):
            block, lengths = rows.keys[start : start + step], rows.lengths[start : start + step]
            values = rows.values[ends[start] - lengths[0] : ends[start] - lengths[0] + int(lengths.sum())]
            self._rows[np.repeat(block, lengths), places_in_lists(lengths)] = values
        self.counts[rows.keys] = rows.lengths
        self._ends[rows.keys] = rows.lengths % self._rows.shape[1]

    def _widen(self, width: int) -> None:
        """Give every row room for this many numbers."""
        people = np.arange(len(self._rows))
        rows, counts = self.latest(people)
        wider = np.zeros((len(people), width), dtype=rows.dtype)
        places = counts[:, None] - 1 - np.arange(rows.shape[1], dtype=np.int32)
        held = places >= 0
        wider[np.repeat(people, held.sum(axis=1)), places[held]] = rows[held]
        self._rows, self._flat, self._ends = wider, wider.reshape(-1), counts % wider.shape[1]
