"""The posts of a run and the trees that they make, in a bounded amount of memory."""

from __future__ import annotations

from typing import NamedTuple

POSTS_MAX = 1_000_000
"""Posts that are kept, about 250 bytes each; the page says so if there are more."""


class TreePost(NamedTuple):
    """A post of a tree.

    Args:
        parent: the place of its parent in the tree; -1 for the original.
    """

    post: int
    parent: int
    tick: int
    kind: str


class Posts:
    """Posts in the order in which they were made."""

    def __init__(self) -> None:
        self._trees: dict[int, list[TreePost]] = {}
        """`{original: the posts of its tree, in the order in which they were made}`."""
        self._places: dict[int, tuple[int, int]] = {}
        """`{post: its original, and its place in the tree}`."""
        self.left_out = 0
        """Posts that came after `POSTS_MAX` others."""

    def __len__(self) -> int:
        return len(self._places)

    def add(self, tick: int, kind: str, post: int, parent: int | None) -> None:
        """Add a post; likes are not posts. A post whose parent was left out is left out, too."""
        if kind == "like":
            return
        root, above = (post, -1) if parent is None else self._places.get(parent, (post, None))
        if above is None or len(self._places) >= POSTS_MAX:
            self.left_out += 1
            return
        tree = self._trees.setdefault(root, [])
        self._places[post] = root, len(tree)
        tree.append(TreePost(post, above, tick, kind))

    def largest(self, count: int) -> list[tuple[int, int, int]]:
        """Return `(original, posts of its tree, tick)` of the largest trees, the largest first, equal ones by age.

        A tree has more posts than its original.
        """
        trees = [tree for tree in self._trees.copy().values() if len(tree) > 1]
        return [(tree[0].post, len(tree), tree[0].tick) for tree in sorted(trees, key=lambda tree: -len(tree))[:count]]

    def tree(self, original: int) -> list[TreePost]:
        """Return the tree of an original, in the order in which its posts were made.

        Raises:
            LookupError: there is no such original.
        """
        return [*self._trees[original]]
