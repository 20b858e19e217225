"""Cascades: the tree of replies and reshares that grows from one original post."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from prism.columns import Column, Columns, Ints, pack_array, pack_fields, pack_items, records_in
from prism.social import tables as col
from prism.social.state import SocialState

MOST = 2.0
"""The rows, for each living cascade, above which forgotten ones are dropped."""
ENOUGH = 1.5
"""The rows, for each living cascade, that may remain after a drop: most of them are then found without a search."""


class CascadeSize(NamedTuple):
    """A cascade's size and depth, as reports give it. A larger one has more posts, or as many posts and more depth."""

    root: int
    size: int
    depth: int


class Cascades:
    """The cascades that still receive engagements, in a table, and the largest one so far.

    They are numbered from 0 in the order in which they begin. Most live equally long, and a few very long. So the table
    has two parts: first the few, whose numbers are in `early`, then every number from CASCADE_FIRST on, living or
    forgotten, whose row is the number less SHIFT.
    """

    def __init__(self, state: SocialState) -> None:
        self._state = state
        self._retired: Counter[int] = Counter()

    @property
    def _counts(self) -> Ints:
        return self._state.t.counts.cascades

    @property
    def length(self) -> int:
        return int(self._counts[col.ROWS])

    @property
    def largest(self) -> CascadeSize:
        return CascadeSize(*self._counts[[col.LARGEST, col.LARGEST_SIZE, col.LARGEST_DEPTH]].tolist())

    @property
    def deepest(self) -> int:
        return int(self._counts[col.DEEPEST_OF_ALL])

    @property
    def branched(self) -> int:
        return int(self._counts[col.BRANCHED])

    def sizes(self) -> dict[int, int]:
        """Return `{posts in a cascade: cascades of that size}` over all cascades so far, ascending."""
        sizes, counts = np.unique(self._state.t.trees["size"][: self.length], return_counts=True)
        living = Counter({size: count for size, count in zip(sizes.tolist(), counts.tolist(), strict=True) if size})
        return dict(sorted((self._retired + living).items()))

    def totals(self) -> dict[str, Any]:
        """Return the cascades' part of the run's summary, as JSON values."""
        largest, sizes = self.largest, self.sizes()
        # An original that nobody answered is a cascade of one post: all are as large, so none is named.
        root, size = (largest.root, largest.size) if largest.size else (None, max(sizes, default=0))
        return {
            "largest_cascade": {"root_post": root, "size": size, "depth": largest.depth},
            "deepest_cascade": self.deepest,
            "cascades_branched": self.branched,
            "cascade_sizes": {str(size): count for size, count in sizes.items()},
        }

    def retire(self, before: int) -> None:
        """Forget cascades without an engagement since before that tick. So a long run does not grow."""
        sizes = self._state.t.trees["size"][: self.length]
        old = np.flatnonzero((self._state.t.cascades["touched"][: self.length] < before) & (sizes > 0))
        self._retired.update(sizes[old].tolist())
        sizes[old] = 0
        living = np.flatnonzero(sizes)
        if self.length > MOST * len(living):
            # Drop forgotten cascades from the table: a quarter of the rows at least, so it pays for the copying.
            counts, state = self._counts, self._state
            length, was_early = self.length, int(np.searchsorted(living, counts[col.EARLY]))
            ends = np.append(living, length)
            lengths = np.arange(len(ends)) + length - ends  # of the table, by the number of cascades in the first part
            count = max(was_early, int(np.argmax(lengths <= ENOUGH * len(living))))
            begin, early = int(ends[count]), living[:count]
            numbers = np.append(state.t.early[early[:was_early]], early[was_early:] + counts[col.SHIFT])
            counts[col.CASCADE_FIRST] = begin + counts[col.SHIFT]
            counts[col.SHIFT] = counts[col.CASCADE_FIRST] - count
            counts[col.EARLY], counts[col.ROWS] = count, count + length - begin
            state.t = state.t._replace(early=numbers if count else np.zeros(1, dtype=np.int64))
            for table in (state.t.cascades, state.t.trees):
                kept = np.concatenate((table[early], table[begin:length]))
                table[: len(kept)] = kept

    def columns(self) -> Iterator[Column]:
        """Yield the table, forgotten cascades included, for `restore`."""
        yield from pack_array("cascade_counts", self._counts)
        yield from pack_array("cascades_early", self._state.t.early[: self._counts[col.EARLY]])
        for table in (self._state.t.cascades, self._state.t.trees):
            yield from pack_fields("cascades", table[: self.length])
        yield from pack_items("cascades_retired", self._retired)

    def restore(self, columns: Columns) -> None:
        state, rows = self._state, records_in(columns, "cascades", col.CASCADE_FIELDS)
        state.make_room(len(rows))
        state.t.cascades[: len(rows)] = rows
        state.t.trees[: len(rows)] = records_in(columns, "cascades", col.TREE_FIELDS)
        self._counts[:] = columns.array("cascade_counts")
        early = columns.array("cascades_early")
        state.t = state.t._replace(early=early if len(early) else np.zeros(1, dtype=np.int64))
        self._retired = Counter(columns.items("cascades_retired", int, int))
