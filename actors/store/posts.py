"""The posts of a run in columns, in the order in which they were made, and the cascades that they form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from actors.store.record import Record, tick_of_rows
from actors.store.segments import TableRows
from prism.columns import Ints, places_among
from prism.events import MADE, NUMBER_BITS

COLUMNS: Final = ("agent", "what", "post", "parent")
"""The columns of the table of posts that are read."""

PART: Final = 1 << 20
"""The posts that are looked for at once: that bounds the memory."""


class MadePost(NamedTuple):
    """A post: its id, the tick in which it was made, its author, its kind, and the post that it answers or reshares."""

    post: int
    tick: int
    author: int
    kind: str
    parent: int | None


class Posts(NamedTuple):
    """Posts as columns of shape (posts,)."""

    ids: Ints
    ticks: Ints
    authors: Ints
    kinds: Ints  # the place of each post's kind in `MADE`
    parents: Ints  # the post that it answers or reshares; -1 for none
    above: Ints  # the place of the parent; -1 for none
    roots: Ints  # the place of the original of its cascade
    order: Ints  # the places of the posts by ascending id

    def followed_by(self, tables: Sequence[TableRows]) -> Posts:
        """Return these posts with those of the blocks after them."""
        if not any(len(table.rows) for table in tables):
            return self
        before = len(self.ids)
        added = [[tick_of_rows(table), *(table.columns[name] for name in COLUMNS)] for table in tables]
        own = (self.ticks, self.authors, self.kinds, self.ids, self.parents)
        ticks, authors, kinds, ids, parents = (
            np.concatenate([old, *each]).astype(np.int64, copy=False)
            for old, each in zip(own, zip(*added, strict=True), strict=True)
        )
        found = Posts(ids, ticks, authors, kinds, parents, self.above, self.roots, np.argsort(ids, kind="stable"))
        # A step towards the original from each new post, then from there another one, until none is left.
        above = found.places(parents[before:])
        roots = np.concatenate([self.roots, np.where(above < 0, np.arange(before, len(ids)), above)])
        while not np.array_equal(nearer := roots[roots], roots):
            roots = nearer
        return found._replace(above=np.append(self.above, above), roots=roots)

    def at(self, places: Ints | slice) -> list[MadePost]:
        """Return the posts at some places."""
        columns = (each[places].tolist() for each in (self.ids, self.ticks, self.authors, self.kinds, self.parents))
        return [
            MadePost(post, tick, author, MADE[kind], None if parent < 0 else parent)
            for post, tick, author, kind, parent in zip(*columns, strict=True)
        ]

    def places(self, ids: Ints) -> Ints:
        """Return the place of each post; -1 for one that is not there."""
        return Places(self)(ids) if len(self.ids) else np.full(len(ids), -1)

    def tree(self, post: int) -> list[MadePost]:
        """Return a post and all below it, in the order in which they were made; empty if there is no such post."""
        [place] = self.places(np.array([post])).tolist()
        if place < 0:
            return []
        inside = np.flatnonzero(self.roots == self.roots[place])
        is_below = set[int]()
        # A parent comes before its children.
        for each, parent in zip(inside.tolist(), self.above[inside].tolist(), strict=True):
            if each == place or parent in is_below:
                is_below.add(each)
        return self.at(np.array(sorted(is_below)))

    def largest(self, count: int) -> list[tuple[MadePost, int]]:
        """Return the originals of the largest cascades and the posts of each, the largest first, equal ones by age.

        A cascade has more posts than its original.
        """
        sizes = np.bincount(self.roots, minlength=len(self.ids))
        chosen = np.argsort(-sizes, kind="stable")[:count]
        chosen = chosen[sizes[chosen] > 1]
        return list(zip(self.at(chosen), sizes[chosen].tolist(), strict=True))


class Places:
    """The places of posts by their ids, of at least one post.

    Those of an author have numbers that follow each other, so a post is as far from the first of them as its number
    says. Searching takes ten times as long for millions.
    """

    def __init__(self, posts: Posts) -> None:
        self._ordered, self._largest = posts.ids[posts.order], int(posts.ids.max())
        self._firsts = np.searchsorted(self._ordered, np.arange((self._largest >> NUMBER_BITS) + 1) << NUMBER_BITS)
        self._places = np.append(posts.order, -1)

    def __call__(self, ids: Ints) -> Ints:
        """Return the place of each post; -1 for one that is not there."""
        found = np.full(len(ids), -1)
        for start in range(0, len(ids), PART):
            part = ids[start : start + PART]
            known = (part >= 0) & (part <= self._largest)
            near = self._firsts[np.where(known, part, 0) >> NUMBER_BITS] + (part & ((1 << NUMBER_BITS) - 1))
            near = np.minimum(near, len(self._ordered) - 1)
            near = np.where(known & (self._ordered[near] == part), near, -1)
            others = np.flatnonzero(known & (near < 0))
            near[others] = places_among(self._ordered, part[others])
            found[start : start + PART] = self._places[near]
        return found


NO_POSTS: Final = Posts(*[np.empty(0, np.int64)] * 8)


def posts_until(record: Record, until: int) -> Posts:
    """Return the posts of a run that were made before a tick; none in a domain without posts."""
    tables = (block.tables.get("posts") for block in record.blocks(until=until, wanted={"posts": COLUMNS}))
    return NO_POSTS.followed_by([table for table in tables if table is not None])
