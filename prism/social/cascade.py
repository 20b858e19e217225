"""Cascades: the tree of replies and reshares that grows from one original post."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import count, repeat
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from prism.columns import Column, Columns, Ints, looked_up, pack, pack_items
from prism.social.post import NO_POST, Post

CASCADES_A_PIECE = 8192
"""Cascades in one piece of a column."""

MOST = 2.0
"""The length of the columns, for each living cascade, above which forgotten ones are dropped."""
ENOUGH = 1.5
"""The length to which they are dropped, if that leaves an index to numbers in a row, without a search."""


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
    """The cascades that still receive engagements, in columns, and the largest one so far.

    They are numbered from 0 in the order in which they begin. Most live for as long as each other, and a few for very
    long. So the columns have two parts: first the few, whose numbers are in a list, then every number from `_first` on,
    living or forgotten, whose index is the number less `_shift`.
    """

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        """`{root: the number of its cascade}`."""
        self._early = array("q")
        """The numbers of the cascades in the first part of the columns, ascending."""
        self._first = 0
        """The number of the first cascade in the second part."""
        self._shift = 0
        """The numbers in the second part, less their indices."""
        self._columns = _Columns()
        self.largest = CascadeSize()
        self.deepest = 0
        self.branched = 0
        """The number of cascades with at least one reply or reshare."""
        self._retired: Counter[int] = Counter()

    def __getitem__(self, root: int) -> Cascade:
        return self._at(self._index(self._numbers[root]))

    def __contains__(self, root: int) -> bool:
        return root in self._numbers

    def __len__(self) -> int:
        return len(self._numbers)

    def __iter__(self) -> Iterator[Cascade]:
        return map(self._at, map(self._index, self._numbers.values()))

    @property
    def length(self) -> int:
        """The length of the columns, with the forgotten cascades that are still in them."""
        return len(self._columns)

    def _index(self, number: int) -> int:
        """Return the index of a cascade that is not forgotten."""
        return number - self._shift if number >= self._first else bisect_left(self._early, number)

    def _indices(self, cascades: Ints) -> Ints:
        """Return the indices of cascades that are not forgotten."""
        indices = cascades - self._shift
        if self._early:
            early = np.flatnonzero(cascades < self._first)
            indices[early] = np.searchsorted(np.asarray(self._early), cascades[early])
        return indices

    def _at(self, index: int) -> Cascade:
        columns = self._columns
        return Cascade(
            root=columns.roots[index],
            touched=columns.touched[index],
            posts=columns.posts[index],
            depth=columns.depths[index],
            engagements=columns.engagements[index],
        )

    def number(self, root: int) -> int:
        """Return the number of the cascade of a root; NO_POST if it is forgotten."""
        return self._numbers.get(root, NO_POST)

    def numbers(self, roots: Ints) -> Ints:
        """Return the numbers of the cascades of roots, with NO_POST for a forgotten one."""
        return looked_up(self._numbers, roots, NO_POST)

    def roots(self) -> Callable[[Ints], Ints]:
        """Return a function that gives the roots of cascades by number, with NO_POST for a forgotten one.

        It holds until the next cascade begins or ends.
        """
        early, first = np.array(self._early), self._first
        roots = np.where(np.asarray(self._columns.posts) > 0, np.asarray(self._columns.roots), NO_POST)
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

    def engagements(self, cascades: Ints) -> Ints:
        """Return the engagements of cascades that are not forgotten, by number."""
        return np.asarray(self._columns.engagements)[self._indices(cascades)].astype(np.int64)

    def engagements_of(self, root: int) -> int:
        """Return the engagements of the cascade of a root that is not forgotten."""
        return self._columns.engagements[self._index(self._numbers[root])]

    def started(self, *posts: Post) -> None:
        """Start a cascade with each of these originals."""
        first, roots = len(self._columns) + self._shift, [post.id for post in posts]
        self._numbers.update(zip(roots, count(first)))
        self._columns.extend(roots, [post.created for post in posts])

    def engaged(self, cascades: Ints, tick: int) -> None:
        """Count likes, replies or reshares of posts of these cascades, by number."""
        indices = self._indices(cascades)
        np.add.at(np.asarray(self._columns.engagements), indices, 1)
        np.asarray(self._columns.touched)[indices] = tick

    def grown(self, child: Post) -> None:
        """Add a reply or reshare, which is counted as an engagement, to its cascade."""
        index, columns = self._index(self._numbers[child.root]), self._columns
        posts, depth = columns.posts[index] + 1, max(columns.depths[index], child.depth)
        columns.posts[index], columns.depths[index] = posts, depth
        self.branched += posts == 2
        self.deepest = max(self.deepest, depth)
        if (posts, depth) > (self.largest.size, self.largest.depth):
            self.largest = CascadeSize(child.root, posts, depth)

    def sizes(self) -> dict[int, int]:
        """Return `{posts in a cascade: cascades of that size}` over all cascades so far, ascending."""
        counts = self._retired + Counter(posts for posts in self._columns.posts if posts)
        return dict(sorted(counts.items()))

    def totals(self) -> dict[str, Any]:
        """Return the cascades' part of the run's summary, as JSON values."""
        return {
            "largest_cascade": {"root_post": self.largest.root, "size": self.largest.size, "depth": self.largest.depth},
            "deepest_cascade": self.deepest,
            "cascades_branched": self.branched,
            "cascade_sizes": {str(size): count for size, count in self.sizes().items()},
        }

    def retire(self, before: int) -> None:
        """Forget cascades without an engagement since before that tick. So a long run does not grow."""
        living = self._forget(before)
        if self.length > MOST * len(living):
            self._drop(living)

    def _forget(self, before: int) -> NDArray[np.intp]:
        """Forget the cascades that are too old, and return the indices of the others."""
        columns = self._columns
        posts = np.asarray(columns.posts)
        old = np.flatnonzero((np.asarray(columns.touched) < before) & (posts > 0))
        self._retired.update(posts[old].tolist())
        for root in np.asarray(columns.roots)[old].tolist():
            del self._numbers[root]
        posts[old] = 0
        return np.flatnonzero(posts)

    def _drop(self, living: NDArray[np.intp]) -> None:
        """Drop forgotten cascades from the columns: a quarter of the length at least, so it pays for the copying.

        The second part begins with the oldest living cascade that makes the columns short enough. At worst, all the
        living are in the first part.
        """
        length, was_early = self.length, int(np.searchsorted(living, len(self._early)))
        ends = np.append(living, length)
        lengths = np.arange(len(ends)) + length - ends  # of the columns, by the number of cascades in the first part
        count = max(was_early, int(np.argmax(lengths <= ENOUGH * len(living))))
        begin, early = int(ends[count]), living[:count]
        numbers = np.append(np.asarray(self._early)[early[:was_early]], early[was_early:] + self._shift)
        self._first = begin + self._shift
        self._shift = self._first - count
        self._early = array("q", numbers.tobytes())
        self._columns.keep(early, begin)

    def columns(self) -> Iterator[Column]:
        """Yield every cascade, for `restore`."""
        yield from pack("cascades", self, CASCADES_A_PIECE)
        yield from pack_items("cascades_retired", self._retired)
        yield from pack("cascades_branched", [self.branched])
        yield from pack("cascade_largest", [self.largest])
        yield from pack("cascade_deepest", [self.deepest])

    def restore(self, columns: Columns) -> None:
        """Take over the cascades that these columns hold."""
        for cascade in columns.values("cascades", Cascade):
            self._numbers[cascade.root] = len(self._columns) + self._shift
            self._columns.append(cascade)
        self._retired = Counter(columns.items("cascades_retired", int, int))
        self.branched = columns.value("cascades_branched", int)
        self.largest = columns.value("cascade_largest", CascadeSize)
        self.deepest = columns.value("cascade_deepest", int)


class _Columns:
    """The columns of cascades, each with one value for each cascade."""

    def __init__(self) -> None:
        self.roots = array("q")
        self.touched = array("q")
        self.posts = array("I")
        """The posts of each cascade; 0 of one that is forgotten."""
        self.depths = array("I")
        self.engagements = array("I")

    def __len__(self) -> int:
        return len(self.roots)

    def append(self, cascade: Cascade) -> None:
        """Add a cascade at the end."""
        self.roots.append(cascade.root)
        self.touched.append(cascade.touched)
        self.posts.append(cascade.posts)
        self.depths.append(cascade.depth)
        self.engagements.append(cascade.engagements)

    def extend(self, roots: Sequence[int], touched: Sequence[int]) -> None:
        """Add cascades of one post each at the end."""
        self.roots.extend(roots)
        self.touched.extend(touched)
        self.posts.extend(repeat(1, len(roots)))
        self.depths.extend(repeat(0, len(roots)))
        self.engagements.extend(repeat(0, len(roots)))

    def keep(self, indices: NDArray[np.intp], begin: int) -> None:
        """Keep the cascades at these indices, which are below `begin`, and all from `begin` on."""
        for column in vars(self).values():
            kept = np.asarray(column)[indices]
            column[:begin] = array(column.typecode, kept.tobytes())
