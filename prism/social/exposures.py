"""Exposures: the people from whom somebody has been shown a cascade, while they have not engaged with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice

import numpy as np
from numpy.typing import NDArray

from prism.columns import BLOCK, LISTS_A_PIECE, Column, Columns, Ints, Rows, pack_rows
from prism.social.cascade import Cascades
from prism.social.post import NO_POST, NUMBER_BITS, Post, author_of
from prism.social.rings import Rings

Flags = NDArray[np.bool_]


class Exposures:
    """The latest posts that each person has been shown, and the latest cascades that they have engaged with.

    It is kept only where cascades are shown more than once; otherwise it stays empty.

    Args:
        size: the number of people.
        memory: the number of each that is kept for a person.
        cascades: the cascades of the posts.
    """

    def __init__(self, size: int, memory: int, cascades: Cascades) -> None:
        self._size = size
        self._memory = memory
        self._all = cascades
        self._posts: Rings | None = None
        """The ids of the posts that each person has been shown; made with the first of them."""
        self._cascades = Rings(0, 0)
        """The numbers of their cascades, at the same places."""
        self._engaged: dict[int, list[int]] = {}
        """`{person: numbers of cascades}`."""

    def remember(self, memory: int) -> None:
        """Keep so many for each person from now on."""
        self._memory = self._cascades.depth = memory
        if self._posts is not None:
            self._posts.depth = memory

    def show(self, shown: Rows, cascades: Ints) -> None:
        """Remember that people have been shown posts, by their ids, of these cascades."""
        self._posts_shown().extend(shown)
        self._cascades.extend(shown._replace(values=cascades))

    def _posts_shown(self) -> Rings:
        if self._posts is None:
            self._posts = Rings(self._size, self._memory, dtype=np.int64)
            self._cascades = Rings(self._size, self._memory)
        return self._posts

    def engaged(self, agent: int, cascade: int) -> None:
        """Remember that a person has liked, answered or reshared something of a cascade."""
        engaged = self._engaged.setdefault(agent, [])
        if cascade not in engaged:
            engaged.append(cascade)
            del engaged[: -self._memory]

    def are_new(self, readers: Ints, rows: Ints, cascades: Ints, authors: Ints) -> Flags:
        """Return whether posts are further exposures: of a cascade shown before, not engaged with, by somebody else.

        What was shown before exposures were kept, as in the past of a fork, is no exposure: it is not shown again.

        Args:
            readers: people, each once.
            rows: the place of the person among them, for each post; cascades and authors: of the posts.
        """
        if self._posts is None:
            return np.zeros(len(rows), dtype=np.bool_)
        shown, of = _latest(self._posts, readers), _latest(self._cascades, readers)
        is_before, is_same = np.zeros((2, len(rows)), dtype=np.bool_)
        for ids, numbers in zip(shown.T, of.T, strict=True):
            alike = numbers[rows] == cascades
            is_before |= alike
            is_same |= alike & (ids[rows] >> NUMBER_BITS == authors)
        found = is_before & ~is_same
        for place in np.flatnonzero(found).tolist():
            found[place] = cascades[place] not in self._engaged.get(int(readers[rows[place]]), ())
        return found

    def count(self, agent: int, post: Post) -> int:
        """Return how many people have shown the person the cascade of a post, up to this post: at least 1."""
        authors, cascade = {post.author}, self._all.number(post.root)
        for number, shown in self._of(agent):
            if shown == post.id:
                break
            if number == cascade:
                authors.add(author_of(shown))
        return len(authors)

    def counts(self, people: Ints, posts: Ints, cascades: Ints) -> Ints:
        """Return `count` of these people and posts, by their ids, of these cascades."""
        found = np.ones(len(people), dtype=np.int64)
        if self._posts is None:
            return found
        step = max(1, BLOCK // max(1, self._memory))
        for start in range(0, len(people), step):
            part = slice(start, start + step)
            self._count(people[part], posts[part], cascades[part], found[part])
        return found

    def _count(self, people: Ints, posts: Ints, cascades: Ints, found: Ints) -> None:
        shown, of = _latest(self._posts_shown(), people), _latest(self._cascades, people)
        width = shown.shape[1]
        is_it = shown[:, ::-1] == posts[:, None]  # oldest first, and so is what follows
        first = np.where(is_it.any(axis=1), is_it.argmax(axis=1), width)
        alike = (of[:, ::-1] == cascades[:, None]) & (np.arange(width) < first[:, None])
        for place in np.flatnonzero(alike.any(axis=1)).tolist():
            authors = {int(posts[place]) >> NUMBER_BITS, *(shown[place, ::-1][alike[place]] >> NUMBER_BITS).tolist()}
            found[place] = len(authors)

    def _of(self, agent: int) -> list[tuple[int, int]]:
        """Return the cascade and the id of each post that a person has been shown, oldest first."""
        return [] if self._posts is None else [*zip(self._cascades.of(agent), self._posts.of(agent), strict=True)]

    def columns(self) -> Iterator[Column]:
        """Yield what is kept, for `restore`; nothing if that is nothing. A forgotten cascade is NO_POST."""
        if self._posts is not None:
            root_of = self._all.roots()
            for of, posts in zip(self._cascades.blocks(), self._posts.blocks(), strict=True):
                yield from pack_rows("exposed_roots", of._replace(values=root_of(of.values)))
                yield from pack_rows("exposed_posts", posts)
        if self._engaged:
            root_of, left = self._all.roots(), iter(self._engaged.items())
            while block := [*islice(left, LISTS_A_PIECE)]:
                yield from pack_rows("engaged", _rows(block, root_of))

    def restore(self, columns: Columns) -> None:
        """Take over what these columns hold."""
        if "exposed_roots" in columns.unread:
            roots, posts = columns.rows("exposed_roots"), columns.rows("exposed_posts")
            self._posts_shown().fill(posts)
            self._cascades.fill(roots._replace(values=self._all.numbers(roots.values)))
        if "engaged" in columns.unread:
            rows = columns.rows("engaged")
            numbers, ends = self._all.numbers(rows.values).tolist(), np.cumsum(rows.lengths).tolist()
            starts = [0, *ends[:-1]]
            spans = zip(rows.keys.tolist(), starts, ends, strict=True)
            self._engaged = {person: numbers[start:end] for person, start, end in spans}


def _rows(lists: Sequence[tuple[int, list[int]]], root_of: Callable[[Ints], Ints]) -> Rows:
    """Return the roots of the cascades of some people."""
    people = np.array([person for person, _ in lists])
    lengths = np.array([len(cascades) for _, cascades in lists])
    return Rows(people, lengths, root_of(np.fromiter(chain.from_iterable(each for _, each in lists), np.int64)))


def _latest(rings: Rings, people: Ints) -> NDArray[np.int32 | np.int64]:
    """Return the numbers of people, latest first, as a row each, with NO_POST after the last."""
    rows, counts = rings.latest(people)
    rows[np.arange(rows.shape[1]) >= counts[:, None]] = NO_POST
    return rows
