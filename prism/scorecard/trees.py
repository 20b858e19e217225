"""The shape of a cascade's tree.

Sources: Goel, Anderson, Hofman & Watts (2016) for structural virality; Vosoughi, Roy & Aral (2018) for depth and the
largest breadth.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

ROOT = -1  # the parent of a root


class Tree(msgspec.Struct, frozen=True, gc=False):
    """A cascade: a post with all replies and reshares below it."""

    # the place of each post's parent in the tree; `ROOT` for the first post, which is the original. A parent comes
    # before its children.
    parents: tuple[int, ...]
    minutes: tuple[float, ...]  # minutes from the original to each post; may be negative in real data

    @property
    def size(self) -> int:
        """The posts of the tree, with the original."""
        return len(self.parents)


ALONE: Final = Tree((ROOT,), (0.0,))
"""The tree of a post without replies and reshares, as most posts are."""


class TreeShape(NamedTuple):
    size: int  # posts, with the original
    depth: int  # steps from the original to the farthest post
    breadth_share: float  # posts at the most common depth, as a share of all posts
    # structural virality: the mean number of steps between two posts; 0 for a single post. It is just below 2 for a
    # star, and grows with the size for a chain.
    virality: float
    half_minutes: float  # minutes until half of the posts were there


def shape_of(tree: Tree) -> TreeShape:
    """Return the shape of a tree, in one pass up and one down."""
    parents, size = tree.parents, tree.size
    if tree is ALONE:
        return _SHAPE_ALONE
    depths, below = [0] * size, [1] * size
    for place in range(1, size):
        parent = parents[place]
        if not 0 <= parent < place:
            raise ValueError(f"expected a parent before post {place} of the tree, got {parent}")
        depths[place] = depths[parent] + 1
    steps = 0
    for place in range(size - 1, 0, -1):
        below[parents[place]] += below[place]
        steps += below[place] * (size - below[place])  # every pair on the two sides of this tie steps over it
    return TreeShape(
        size=size,
        depth=max(depths),
        breadth_share=max(Counter(depths).values()) / size,
        virality=2.0 * steps / (size * (size - 1)) if size > 1 else 0.0,
        half_minutes=sorted(tree.minutes)[(size - 1) // 2],
    )


_SHAPE_ALONE: Final = TreeShape(size=1, depth=0, breadth_share=1.0, virality=0.0, half_minutes=0.0)


def trees_of(posts: Sequence[tuple[int, int, int | None]], tick_minutes: float) -> dict[int, Tree]:
    """Return `{root: its tree}` of posts in the order in which they were made."""
    places: dict[int, tuple[int, int]] = {}
    parents: dict[int, list[int]] = {}
    ticks: dict[int, list[int]] = {}
    for post, tick, parent in posts:
        if parent is None:
            root, at = post, ROOT
            parents[root], ticks[root] = [], []
        elif parent in places:
            root, at = places[parent]
        else:
            raise ValueError(f"post {post} has the parent {parent}, which is not among the posts before it")
        places[post] = root, len(parents[root])
        parents[root].append(at)
        ticks[root].append(tick)
    return {
        root: Tree(tuple(each), tuple((tick - ticks[root][0]) * tick_minutes for tick in ticks[root]))
        for root, each in parents.items()
    }
