"""Cascades: the tree of replies and reshares that grows from one original post."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from prism.columns import Column, Columns, Ints, pack, pack_items
from prism.social import tables as col
from prism.social.posts.post import NO_POST
from prism.social.state import SocialState

CASCADES_A_PIECE = 8192
"""Cascades in one piece of a column."""

MOST = 2.0
"""The rows, for each living cascade, above which forgotten ones are dropped."""
ENOUGH = 1.5
"""The rows, for each living cascade, that may remain after a drop: most of them are then found without a search."""


class Cascade(msgspec.Struct, kw_only=True, frozen=True, gc=False):
    """The size of one cascade so far.

    Args:
        root: the original post.
        posts: the original and every reply and reshare below it.
        depth: steps from the root to the farthest post; 0 if there is only the root.
        engagements: likes, replies and reshares in the whole tree.
        touched: the tick of the latest engagement.
    """

    root: int
    touched: int
    posts: int = 1
    depth: int = 0
    engagements: int = 0


class CascadeSize(msgspec.Struct, frozen=True):
    """A cascade's size and depth, as reports give it. A larger one has more posts, or as many posts and more depth."""

    root: int = -1
    size: int = 0
    depth: int = 0


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
    def _rows(self) -> Ints:
        return self._state.t.cascades[: self.length]

    @property
    def _counts(self) -> Ints:
        return self._state.t.counts.cascades

    def __getitem__(self, root: int) -> Cascade:
        found = np.flatnonzero((self._rows[:, col.ROOT] == root) & (self._rows[:, col.SIZE] > 0))
        if not len(found):
            raise KeyError(root)
        return self._at(self._rows[found[0]].tolist())

    def __contains__(self, root: int) -> bool:
        return bool(((self._rows[:, col.ROOT] == root) & (self._rows[:, col.SIZE] > 0)).any())

    def __len__(self) -> int:
        return int(np.count_nonzero(self._rows[:, col.SIZE]))

    def __iter__(self) -> Iterator[Cascade]:
        rows = self._rows
        for start in range(0, len(rows), CASCADES_A_PIECE):
            piece = rows[start : start + CASCADES_A_PIECE]
            yield from map(self._at, piece[piece[:, col.SIZE] > 0].tolist())

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

    def _at(self, row: list[int]) -> Cascade:
        return Cascade(
            root=row[col.ROOT],
            touched=row[col.TOUCHED],
            posts=row[col.SIZE],
            depth=row[col.DEEPEST],
            engagements=row[col.ENGAGEMENTS],
        )

    def roots(self) -> Callable[[Ints], Ints]:
        """Return a function that gives the roots of cascades by number, with NO_POST for a forgotten one.

        It holds until the next cascade begins or ends.
        """
        counts, rows = self._counts, self._rows
        early, first = self._state.t.early[: counts[col.EARLY]], int(counts[col.CASCADE_FIRST])
        roots = np.where(rows[:, col.SIZE] > 0, rows[:, col.ROOT], NO_POST)
        later = np.append(roots[len(early) :], NO_POST)
        oldest = int(early[0]) if len(early) else first
        is_early = np.zeros(first - oldest + 1, dtype=np.bool_)
        is_early[early[roots[: len(early)] != NO_POST] - oldest] = True

        def root_of(cascades: Ints) -> Ints:
            found = later[np.maximum(cascades - first, -1)]
            at = np.flatnonzero(is_early[np.clip(cascades - oldest, -1, first - oldest)])
            found[at] = roots[np.searchsorted(early, cascades[at])]
            return found

        return root_of

    def sizes(self) -> dict[int, int]:
        """Return `{posts in a cascade: cascades of that size}` over all cascades so far, ascending."""
        sizes, counts = np.unique(self._rows[:, col.SIZE], return_counts=True)
        living = Counter({size: count for size, count in zip(sizes.tolist(), counts.tolist(), strict=True) if size})
        return dict(sorted((self._retired + living).items()))

    def totals(self) -> dict[str, Any]:
        """Return the cascades' part of the run's summary, as JSON values."""
        largest = self.largest
        return {
            "largest_cascade": {"root_post": largest.root, "size": largest.size, "depth": largest.depth},
            "deepest_cascade": self.deepest,
            "cascades_branched": self.branched,
            "cascade_sizes": {str(size): count for size, count in self.sizes().items()},
        }

    def retire(self, before: int) -> None:
        """Forget cascades without an engagement since before that tick. So a long run does not grow."""
        rows = self._rows
        old = np.flatnonzero((rows[:, col.TOUCHED] < before) & (rows[:, col.SIZE] > 0))
        self._retired.update(rows[old, col.SIZE].tolist())
        rows[old, col.SIZE] = 0
        living = np.flatnonzero(rows[:, col.SIZE])
        if self.length > MOST * len(living):
            self._drop(living)

    def _drop(self, living: NDArray[np.intp]) -> None:
        """Drop forgotten cascades from the table: a quarter of the rows at least, so it pays for the copying.

        The second part begins with the oldest living cascade that makes the table short enough. At worst, all the
        living are in the first part.
        """
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
        for table in (state.t.cascades, state.t.worth):
            kept = np.concatenate((table[early], table[begin:length]))
            table[: len(kept)] = kept

    def columns(self) -> Iterator[Column]:
        """Yield every cascade, for `restore`."""
        yield from pack("cascades", self, CASCADES_A_PIECE)
        yield from pack_items("cascades_retired", self._retired)
        yield from pack("cascades_branched", [self.branched])
        yield from pack("cascade_largest", [self.largest])
        yield from pack("cascade_deepest", [self.deepest])

    def restore(self, columns: Columns) -> None:
        """Take over the cascades that these columns hold."""
        cascades = columns.values("cascades", Cascade)
        self._state.make_room(len(cascades))
        counts = self._counts
        if cascades:
            columns_of = [col.ROOT, col.TOUCHED, col.SIZE, col.DEEPEST, col.ENGAGEMENTS]
            self._state.t.cascades[: len(cascades), columns_of] = [
                (each.root, each.touched, each.posts, each.depth, each.engagements) for each in cascades
            ]
        self._state.t.worth[: len(cascades), col.QUALITY] = 1.0
        counts[col.ROWS] = len(cascades)
        self._retired = Counter(columns.items("cascades_retired", int, int))
        counts[col.BRANCHED] = columns.value("cascades_branched", int)
        largest = columns.value("cascade_largest", CascadeSize)
        sizes = [col.LARGEST, col.LARGEST_SIZE, col.LARGEST_DEPTH]
        counts[sizes] = largest.root, largest.size, largest.depth
        counts[col.DEEPEST_OF_ALL] = columns.value("cascade_deepest", int)
