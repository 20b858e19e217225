"""Cascades: the tree of replies and reshares that grows from one original post."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from prism.columns import Column, Columns, pack, pack_items
from prism.social.post import Post, PostKind

CASCADES_A_PIECE = 8192
"""Cascades in one piece of a column."""


class CascadeEdge(NamedTuple):
    """One step of a cascade: `child` answers or reshares `parent`, in the tree of `root`."""

    tick: int
    root: int
    parent: int
    child: int
    kind: PostKind


class Cascade(msgspec.Struct, kw_only=True, gc=False):
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

    def liked(self, tick: int) -> None:
        """Count a like of a post of the tree."""
        self.engagements += 1
        self.touched = tick

    def grown(self, child: Post) -> None:
        """Count a reply or reshare that joined the tree."""
        self.posts += 1
        self.depth = max(self.depth, child.depth)
        self.liked(child.created)


class CascadeSize(msgspec.Struct, frozen=True):
    """A cascade's size and depth, as reports give it. A larger one has more posts, or as many posts and more depth."""

    root: int = -1
    size: int = 0
    depth: int = 0


class Cascades:
    """The cascades that still receive engagements, and the largest one so far."""

    def __init__(self) -> None:
        self._living: dict[int, Cascade] = {}
        self.largest = CascadeSize()
        self.deepest = 0
        self.branched = 0
        """The number of cascades with at least one reply or reshare."""
        self._retired: Counter[int] = Counter()

    def __getitem__(self, root: int) -> Cascade:
        return self._living[root]

    def __contains__(self, root: int) -> bool:
        return root in self._living

    def __len__(self) -> int:
        return len(self._living)

    def __iter__(self) -> Iterator[Cascade]:
        return iter(self._living.values())

    def started(self, post: Post) -> None:
        """Start a cascade with an original post."""
        self._living[post.id] = Cascade(root=post.id, touched=post.created)

    def grown(self, child: Post) -> None:
        """Add a reply or reshare to its cascade."""
        cascade = self._living[child.root]
        self.branched += cascade.posts == 1
        cascade.grown(child)
        self.deepest = max(self.deepest, cascade.depth)
        if (cascade.posts, cascade.depth) > (self.largest.size, self.largest.depth):
            self.largest = CascadeSize(cascade.root, cascade.posts, cascade.depth)

    def sizes(self) -> dict[int, int]:
        """Return `{posts in a cascade: cascades of that size}` over all cascades so far, ascending."""
        counts = self._retired + Counter(cascade.posts for cascade in self._living.values())
        return dict(sorted(counts.items()))

    def totals(self) -> dict[str, Any]:
        """Return the cascades' part of the run's summary, as JSON values."""
        return {
            "largest_cascade": {"root_post": self.largest.root, "size": self.largest.size, "depth": self.largest.depth},
            "deepest_cascade": self.deepest,
            "cascades_branched": self.branched,
            "cascade_sizes": {str(size): count for size, count in self.sizes().items()},
        }

    def retire(self, before: int) -> list[int]:
        """Forget cascades without an engagement since before that tick, and return their roots.

        So a long run does not grow.
        """
        old = [root for root, cascade in self._living.items() if cascade.touched < before]
        for root in old:
            self._retired[self._living.pop(root).posts] += 1
        return old

    def columns(self) -> Iterator[Column]:
        """Yield every cascade, for `restore`."""
        yield from pack("cascades", self._living.values(), CASCADES_A_PIECE)
        yield from pack_items("cascades_retired", self._retired)
        yield from pack("cascades_branched", [self.branched])
        yield from pack("cascade_largest", [self.largest])
        yield from pack("cascade_deepest", [self.deepest])

    def restore(self, columns: Columns) -> None:
        """Take over the cascades that these columns hold."""
        self._living = {cascade.root: cascade for cascade in columns.values("cascades", Cascade)}
        self._retired = Counter(columns.items("cascades_retired", int, int))
        self.branched = columns.value("cascades_branched", int)
        self.largest = columns.value("cascade_largest", CascadeSize)
        self.deepest = columns.value("cascade_deepest", int)


def edge_of(post: Post) -> CascadeEdge | None:
    """Return the step that a reply or reshare added to its cascade; None for an original."""
    if post.parent is None:
        return None
    return CascadeEdge(post.created, post.root, post.parent, post.id, post.kind)
