"""Cascades: the tree of replies and reshares that grows from one original post."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec
import numpy as np

from prism.columns import Column, Columns, Ints, looked_up, pack, pack_items
from prism.social.post import NO_POST, Post, PostKind

CASCADES_A_PIECE = 8192
"""Cascades in one piece of a column."""


class CascadeEdge(NamedTuple):
    """One step of a cascade: `child` answers or reshares `parent`, in the tree of `root`."""

    tick: int
    root: int
    parent: int
    child: int
    kind: PostKind


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
    long: those few have the first places of the columns, and from `_first` on every number has a place.
    """

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        """`{root: the number of its cascade}`."""
        self._early = np.empty(0, dtype=np.int64)
        """The numbers of the cascades in the first places of the columns, ascending."""
        self._first = 0
        """The number of the cascade in the place after theirs."""
        self._shift = 0
        """The numbers from there on, less their places."""
        self._roots = array("q")
        self._touched = array("q")
        self._posts = array("I")
        """The posts of each cascade; 0 of one that is forgotten."""
        self._depths = array("I")
        self._engagements = array("I")
        self.largest = CascadeSize()
        self.deepest = 0
        self.branched = 0
        """The number of cascades with at least one reply or reshare."""
        self._retired: Counter[int] = Counter()

    def __getitem__(self, root: int) -> Cascade:
        return self._at(self._place(self._numbers[root]))

    def __contains__(self, root: int) -> bool:
        return root in self._numbers

    def __len__(self) -> int:
        return len(self._numbers)

    def __iter__(self) -> Iterator[Cascade]:
        return map(self._at, map(self._place, self._numbers.values()))

    def _place(self, number: int) -> int:
        """Return the place of a cascade that is not forgotten. Hot paths have this line themselves."""
        return number - self._shift if number >= self._first else self._early_place(number)

    def _early_place(self, number: int) -> int:
        return int(np.searchsorted(self._early, number))

    def _places(self, cascades: Ints) -> Ints:
        """Return the places of such cascades."""
        places = cascades - self._shift
        early = np.flatnonzero(cascades < self._first)
        places[early] = np.searchsorted(self._early, cascades[early])
        return places

    def _at(self, place: int) -> Cascade:
        return Cascade(
            root=self._roots[place],
            touched=self._touched[place],
            posts=self._posts[place],
            depth=self._depths[place],
            engagements=self._engagements[place],
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
        early, first = self._early, self._first
        roots = np.where(np.asarray(self._posts) > 0, np.asarray(self._roots), NO_POST)
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

    def _numbers_at(self, places: Ints) -> Ints:
        """Return the numbers of the cascades in these places, ascending."""
        early = int(np.searchsorted(places, len(self._early)))
        return np.append(self._early[places[:early]], places[early:] + self._shift)

    def engagements(self, cascades: Ints) -> Ints:
        """Return the engagements of cascades that are not forgotten, by number."""
        return np.asarray(self._engagements)[self._places(cascades)].astype(np.int64)

    def engagements_of(self, root: int) -> int:
        """Return the engagements of the cascade of a root that is not forgotten."""
        number = self._numbers[root]
        return self._engagements[number - self._shift if number >= self._first else self._early_place(number)]

    def started(self, post: Post) -> None:
        """Start a cascade with an original post."""
        self._begin(Cascade(root=post.id, touched=post.created))

    def _begin(self, cascade: Cascade) -> None:
        self._numbers[cascade.root] = len(self._roots) + self._shift
        self._roots.append(cascade.root)
        self._touched.append(cascade.touched)
        self._posts.append(cascade.posts)
        self._depths.append(cascade.depth)
        self._engagements.append(cascade.engagements)

    def engaged(self, root: int, tick: int) -> int:
        """Count a like, reply or reshare of a post of the tree, and return the cascade's number."""
        number = self._numbers[root]
        place = number - self._shift if number >= self._first else self._early_place(number)
        self._engagements[place] += 1
        self._touched[place] = tick
        return number

    def grown(self, child: Post) -> None:
        """Add a reply or reshare, which is counted as an engagement, to its cascade."""
        number = self._numbers[child.root]
        place = number - self._shift if number >= self._first else self._early_place(number)
        posts, depth = self._posts[place] + 1, max(self._depths[place], child.depth)
        self._posts[place], self._depths[place] = posts, depth
        self.branched += posts == 2
        self.deepest = max(self.deepest, depth)
        if (posts, depth) > (self.largest.size, self.largest.depth):
            self.largest = CascadeSize(child.root, posts, depth)

    def sizes(self) -> dict[int, int]:
        """Return `{posts in a cascade: cascades of that size}` over all cascades so far, ascending."""
        counts = self._retired + Counter(posts for posts in self._posts if posts)
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
        posts = np.asarray(self._posts)
        old = np.flatnonzero((np.asarray(self._touched) < before) & (posts > 0))
        self._retired.update(posts[old].tolist())
        for root in np.asarray(self._roots)[old].tolist():
            del self._numbers[root]
        posts[old] = 0
        if len(posts) > 2 * len(self._numbers):
            self._drop(np.flatnonzero(posts))

    def _drop(self, living: Ints) -> None:
        """Drop the places of the forgotten: all of those before the younger three quarters of the living."""
        begin = max(len(self._early), int(living[len(living) // 4])) if len(living) else len(self._roots)
        early = living[: np.searchsorted(living, begin)]
        numbers = self._numbers_at(np.append(early, begin))
        self._early, self._first = numbers[:-1], int(numbers[-1])
        self._shift = self._first - len(self._early)
        for name in ("_roots", "_touched", "_posts", "_depths", "_engagements"):
            column = getattr(self, name)
            kept = np.asarray(column)[early]
            setattr(self, name, array(column.typecode, kept.tobytes()) + column[begin:])

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
            self._begin(cascade)
        self._retired = Counter(columns.items("cascades_retired", int, int))
        self.branched = columns.value("cascades_branched", int)
        self.largest = columns.value("cascade_largest", CascadeSize)
        self.deepest = columns.value("cascade_deepest", int)


def edge_of(post: Post) -> CascadeEdge | None:
    """Return the step that a reply or reshare added to its cascade; None for an original."""
    if post.parent is None:
        return None
    return CascadeEdge(post.created, post.root, post.parent, post.id, post.kind)
