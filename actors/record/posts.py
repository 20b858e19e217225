"""The posts of a run and the trees that they make, in a bounded amount of memory."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import NamedTuple

POSTS_MAX = 1_000_000
"""Posts that are kept, about 150 bytes each; the page says so if there are more."""


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
        self._places: dict[int, int] = {}
        self._posts, self._parents, self._roots, self._ticks = array("q"), array("i"), array("i"), array("i")
        self._is_reply = bytearray()
        self._sizes: dict[int, int] = {}
        """`{place of an original: posts of its tree}`, of trees with more than the original."""
        self.left_out = 0
        """Posts that came after `POSTS_MAX` others."""

    def __len__(self) -> int:
        return len(self._posts)

    def add(self, tick: int, kind: str, post: int, parent: int | None) -> None:
        """Add a post; likes are not posts. A post whose parent was left out is left out, too."""
        if kind == "like":
            return
        above = -1 if parent is None else self._places.get(parent)
        if above is None or len(self._posts) >= POSTS_MAX:
            self.left_out += 1
            return
        place = len(self._posts)
        root = place if above < 0 else self._roots[above]
        self._places[post] = place
        self._posts.append(post)
        self._parents.append(above)
        self._roots.append(root)
        self._ticks.append(tick)
        self._is_reply.append(kind == "reply")
        if above >= 0:
            self._sizes[root] = self._sizes.get(root, 1) + 1

    def largest(self, count: int) -> list[tuple[int, int, int]]:
        """Return `(original, posts of its tree, tick)` of the largest trees, the largest first, equal ones by age."""
        best = sorted(self._sizes.copy().items(), key=lambda item: (-item[1], item[0]))[:count]
        return [(self._posts[root], size, self._ticks[root]) for root, size in best]

    def tree(self, original: int) -> list[TreePost]:
        """Return the tree of an original, in the order in which its posts were made.

        Raises:
            LookupError: there is no such original.
        """
        root = self._places[original]
        if self._roots[root] != root:
            raise LookupError(original)
        return list(self._walk(root))

    def _walk(self, root: int) -> Iterator[TreePost]:
        inside: dict[int, int] = {}
        left = self._sizes.get(root, 1)
        for place in range(root, len(self._posts)):
            if self._roots[place] != root:
                continue
            above = self._parents[place]
            kind = "publish" if above < 0 else "reply" if self._is_reply[place] else "reshare"
            yield TreePost(self._posts[place], inside.get(above, -1), self._ticks[place], kind)
            inside[place] = len(inside)
            left -= 1
            if not left:
                return
