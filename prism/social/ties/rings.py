"""The latest few numbers of every person, such as the posts that came to them: one row of a table each."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism.columns import BLOCK, Rows, places_in_lists


class Rings:
    """The latest numbers of every person. A row is a ring: a new number takes the oldest's place.

    Args:
        rows: a row for each person.
        ends: the place of each person's next number.
        counts: the numbers that each person has.
    """

    def __init__(self, rows: NDArray[Any], ends: NDArray[np.integer], counts: NDArray[np.integer]) -> None:
        self.rows = rows
        self._ends = ends
        self._counts = counts

    def of(self, person: int) -> list[int]:
        count = int(self._counts[person])
        places = (int(self._ends[person]) - count + np.arange(count)) % self.rows.shape[1]
        found: list[int] = self.rows[person, places].tolist()
        return found

    def some(self, people: range) -> Rows:
        """Return the numbers, oldest first, of those of these people who have any."""
        block = people.start + np.flatnonzero(self._counts[people.start : people.stop])
        lengths = self._counts[block].astype(np.int64)
        owners = np.repeat(block, lengths)
        places = (np.repeat(self._ends[block] - lengths, lengths) + places_in_lists(lengths)) % self.rows.shape[1]
        return Rows(block, lengths, self.rows[owners, places].astype(np.int64))

    def fill(self, rows: Rows) -> None:
        """Set the first numbers of everybody. There is room for them."""
        ends = np.cumsum(rows.lengths)
        step = max(1, BLOCK // self.rows.shape[1])
        for start in range(0, len(rows.keys), step):
            block, lengths = rows.keys[start : start + step], rows.lengths[start : start + step]
            values = rows.values[ends[start] - lengths[0] : ends[start] - lengths[0] + int(lengths.sum())]
            self.rows[np.repeat(block, lengths), places_in_lists(lengths)] = values
        self._counts[rows.keys] = rows.lengths
        self._ends[rows.keys] = rows.lengths % self.rows.shape[1]

    def widened(self, width: int) -> NDArray[Any]:
        """Return rows with room for this many numbers each: these, if they have it."""
        if width <= self.rows.shape[1]:
            return self.rows
        # In a wider row the numbers stand from its beginning: a place of a ring is taken modulo the width.
        wider = np.zeros((len(self.rows), width), dtype=self.rows.dtype)
        step = max(1, BLOCK // self.rows.shape[1])
        for start in range(0, len(self.rows), step):
            block = self.some(range(start, min(start + step, len(self.rows))))
            wider[np.repeat(block.keys, block.lengths), places_in_lists(block.lengths)] = block.values
        self._ends[:] = self._counts
        return wider
