"""Exposures: the people from whom somebody has been shown a cascade, while they have not engaged with it."""

from __future__ import annotations

from collections.abc import Iterator

from prism.columns import Column, Columns, pack_lists
from prism.social.post import Post, author_of


class Exposures:
    """The latest posts that each person has been shown, and the latest cascades that they have engaged with.

    It is kept only where cascades are shown more than once; otherwise it stays empty.

    Args:
        memory: the number of each that is kept for a person.
    """

    def __init__(self, memory: int) -> None:
        self.memory = memory
        self._shown: dict[int, list[tuple[int, int]]] = {}
        """`{person: (root, post shown)}`."""
        self._engaged: dict[int, list[int]] = {}

    def shown(self, agent: int, post: Post) -> None:
        """Remember that a person has been shown a post."""
        shown = self._shown.setdefault(agent, [])
        shown.append((post.root, post.id))
        del shown[: -self.memory]

    def engaged(self, agent: int, root: int) -> None:
        """Remember that a person has liked, answered or reshared something of a cascade."""
        engaged = self._engaged.setdefault(agent, [])
        if root not in engaged:
            engaged.append(root)
            del engaged[: -self.memory]

    def is_new(self, agent: int, post: Post) -> bool:
        """Return whether a post is another exposure: of a cascade shown before, not engaged with, by somebody else.

        What was shown before exposures were kept, as in the past of a fork, is no exposure: it is not shown again.
        """
        before = [author_of(shown) for root, shown in self._shown.get(agent, ()) if root == post.root]
        return bool(before) and post.author not in before and post.root not in self._engaged.get(agent, ())

    def count(self, agent: int, post: Post) -> int:
        """Return how many people have shown the person the cascade of a post, up to this post: at least 1."""
        authors = {post.author}
        for root, shown in self._shown.get(agent, ()):
            if shown == post.id:
                break
            if root == post.root:
                authors.add(author_of(shown))
        return len(authors)

    def columns(self) -> Iterator[Column]:
        """Yield what is kept, for `restore`; nothing if that is nothing."""
        if self._shown:
            yield from pack_lists("exposed_roots", {agent: [root for root, _ in rows] for agent, rows in self._items()})
            yield from pack_lists("exposed_posts", {agent: [post for _, post in rows] for agent, rows in self._items()})
        if self._engaged:
            yield from pack_lists("engaged", self._engaged)

    def restore(self, columns: Columns) -> None:
        """Take over what these columns hold."""
        if "exposed_roots" in columns.unread:
            roots, posts = (columns.lists(f"exposed_{name}", int, int) for name in ("roots", "posts"))
            self._shown = {agent: list(zip(roots[agent], posts[agent], strict=True)) for agent in roots}
        if "engaged" in columns.unread:
            self._engaged = columns.lists("engaged", int, int)

    def _items(self) -> list[tuple[int, list[tuple[int, int]]]]:
        return [*self._shown.items()]
