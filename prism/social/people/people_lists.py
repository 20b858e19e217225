"""Lists of people that change, such as those whom each person follows, and rings of each person's latest numbers.

A list has room behind it. One that is full moves to the end of the values, with room for as many again, so that lists
grow at a constant cost a tie, and the space that they leave is never more than the space that they use.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism.columns import BLOCK, Ints, Rows, places_in_lists
from prism.social.tables import Lists, grown

SPARE = 4
"""The places that even a short list gets behind it when it moves."""


class PeopleLists:
    """A list of people for each person, with room to grow.

    Args:
        lists: the lists as they are now; the arrays stay as they are.
    """

    def __init__(self, lists: Lists) -> None:
        self.lists = Lists(lists.starts.copy(), lists.ends.copy(), lists.values.copy())
        """The lists: arrays that kernels may change, until `make_room` makes others."""
        self._limits = self.lists.ends.copy()
        self._end = len(self.lists.values)

    def make_room(self, owners: Ints) -> None:
        """Give these people's lists room for one more, for each time that a person is named."""
        # 1. The people whose list has no room for so many more.
        owners, more = np.unique(owners, return_counts=True)
        is_full = self.lists.ends[owners] + more > self._limits[owners]
        owners, more = owners[is_full], more[is_full]
        before = self.lists.starts[owners]
        lengths = self.lists.ends[owners] - before
        # 2. Twice as much room for each of these, one after the other behind all values.
        rooms = 2 * lengths + more + SPARE
        starts = self._end + np.cumsum(rooms) - rooms
        self._end += int(rooms.sum())
        # 3. Their people move there. The old places are never used again.
        values, places = grown(self.lists.values, self._end), places_in_lists(lengths)
        values[np.repeat(starts, lengths) + places] = values[np.repeat(before, lengths) + places]
        self.lists = self.lists._replace(values=values)
        self.lists.starts[owners], self.lists.ends[owners] = starts, starts + lengths
        self._limits[owners] = starts + rooms


def rows_of(lists: Lists, people: Ints) -> Rows:
    lengths = lists.ends[people] - lists.starts[people]
    values = lists.values[np.repeat(lists.starts[people], lengths) + places_in_lists(lengths)]
    return Rows(people, lengths, values.astype(np.int64))


def lists_from(starts: Ints, values: NDArray[Any]) -> Lists:
    """Return lists that stand one after the other: person i's from `starts[i]` to before `starts[i + 1]`."""
    return Lists(starts[:-1], starts[1:], values.astype(np.int32, copy=False))


def lists_of(size: int, rows: Rows) -> Lists:
    """Return the lists of so many people, of whom those without a row have an empty one."""
    lengths = np.zeros(size, dtype=np.int64)
    lengths[rows.keys] = rows.lengths
    return lists_from(np.concatenate(([0], np.cumsum(lengths))), rows.values)


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
