"""The posts that are not forgotten, by the number in which they were made, with what feeds read of them in columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from prism.columns import Ints, looked_up
from prism.errors import PostLimitError
from prism.rng import scattered_all
from prism.social.cascade import Cascades
from prism.social.post import NO_POST, Post

FIRST_ROOM: Final = 1024
NUMBERS_MAX: Final = 2**31 - 1
"""The most posts of a run: their numbers are in columns of 32 bits."""


class LivingPosts:
    """A queue of posts: they are numbered from 0 in the order in which they are made, and forgotten in the same order.

    What changes with an engagement is in a post; the columns have what does not.

    Args:
        cascades: the cascades of the posts.
    """

    def __init__(self, cascades: Cascades) -> None:
        self.first = 0
        """The number of the oldest post that is not forgotten."""
        self._base = 0
        """The number of the post at index 0 of the columns."""
        self._posts: list[Post] = []
        self._by_id: dict[int, int] = {}
        self._named = 0
        """The posts with lower numbers are in `_by_id`; a run seldom asks for one by its id."""
        self.topics: list[tuple[str, ...]] = []
        """The topics of posts, by their code."""
        self._codes: dict[tuple[str, ...], int] = {}
        self._cascades = cascades
        self._room = _Room(FIRST_ROOM)
        self._filled = 0
        """The posts with lower numbers are in the columns; those of a wave come there together."""
        self._ordered = 0
        """The posts with lower numbers have their final place in the order of posts."""
        self._is_ordered = True
        """False once there are posts that have no place."""

    def __len__(self) -> int:
        return len(self._posts)

    def __iter__(self) -> Iterator[Post]:
        return iter(self._posts)

    @property
    def end(self) -> int:
        """The number of the next post."""
        return self.first + len(self._posts)

    def get(self, number: int) -> Post | None:
        """Return a post by its number; None if it is forgotten, or there is none."""
        index = number - self.first
        return self._posts[index] if 0 <= index < len(self._posts) else None

    def number(self, post: int) -> int:
        """Return the number of a post, by its id; NO_POST if it is forgotten."""
        return self._numbers.get(post, NO_POST)

    def numbers(self, posts: Ints) -> Ints:
        """Return the numbers of posts by their ids, with NO_POST for a forgotten one."""
        return looked_up(self._numbers, posts, NO_POST)

    def add(self, *posts: Post) -> int:
        """Add new posts, and return the number of the first. Their cascades have begun already.

        Raises:
            PostLimitError: the run has made `NUMBERS_MAX` posts.
        """
        number = self.end
        if number + len(posts) > NUMBERS_MAX:
            raise PostLimitError(NUMBERS_MAX, posts[0].created)
        self._posts.extend(posts)
        self._is_ordered = False
        return number

    @property
    def _numbers(self) -> dict[int, int]:
        """`{id: number}` of all posts."""
        start = max(self._named, self.first)
        for number, post in enumerate(self._posts[start - self.first :], start):
            self._by_id[post.id] = number
        self._named = self.end
        return self._by_id

    @property
    def _columns(self) -> _Room:
        """The columns, with all posts."""
        if self._filled < self.end:
            self._fill()
        return self._room

    def _fill(self) -> None:
        """Put the posts that are not yet there into the columns."""
        if self.end - self._base > len(self._room.author):
            kept, size = self._filled - self.first, len(self._posts)
            self._room.move(self.first - self._base, kept, size + size // 4)
            self._base = self.first
        new, room = self._posts[self._filled - self.first :], self._room
        indices = slice(self._filled - self._base, self.end - self._base)
        room.id[indices] = [post.id for post in new]
        room.author[indices] = [post.author for post in new]
        room.created[indices] = [post.created for post in new]
        room.origin[indices] = [post.origin for post in new]
        room.cascade[indices] = [self._cascades.number(post.root) for post in new]
        room.topics[indices] = codes = [self._code(post.topics) for post in new]
        for post, code in zip(new, codes, strict=True):
            post.topics = self.topics[code]  # equal topics are one object: there are a million posts
        self._filled = self.end

    def _code(self, topics: tuple[str, ...]) -> int:
        code = self._codes.setdefault(topics, len(self.topics))
        if code == len(self.topics):
            self.topics.append(topics)
        return code

    def forget(self, before: int) -> list[Post]:
        """Forget the posts of earlier ticks, and return them."""
        created = self._columns.created[self.first - self._base : self.end - self._base]
        count = int(np.searchsorted(created, before))
        old = self._posts[:count]
        del self._posts[:count]
        for post in old[: max(0, self._named - self.first)]:
            del self._by_id[post.id]
        self.first += count
        return old

    def places(self, numbers: Ints) -> Ints:
        """Return the places of posts in the order by tick, luck and id of all that are not forgotten."""
        return self._order().place[numbers - self._base].astype(np.int64) - self.first

    def at_places(self, places: Ints) -> Ints:
        """Return the numbers of the posts at these places of the order."""
        return self._order().at_place[places + (self.first - self._base)].astype(np.int64)

    def _order(self) -> _Room:
        """Return the columns, with the places of all posts. Only the posts of the newest tick may change theirs."""
        columns = self._columns
        if not self._is_ordered:
            start = max(self._ordered, self.first)
            new = np.arange(start - self._base, self.end - self._base)
            created, ids = columns.created[new], columns.id[new]
            order = np.lexsort((ids, _lucks(columns.origin[new], columns.author[new].astype(np.int64)), created))
            columns.place[new[order]] = new + self._base
            columns.at_place[new] = new[order] + self._base
            if len(new):
                self._ordered = start + int(np.searchsorted(created, created[-1]))
            self._is_ordered = True
        return columns

    def ids(self, numbers: Ints) -> Ints:
        """Return the ids of posts that are not forgotten."""
        return self._columns.id[numbers - self._base]

    def ids_or(self, numbers: Ints, missing: int) -> Ints:
        """Return the ids of posts, with `missing` for a forgotten one."""
        found, is_known = np.full(len(numbers), missing, dtype=np.int64), numbers >= self.first
        found[is_known] = self.ids(numbers[is_known])
        return found

    def authors(self, numbers: Ints) -> Ints:
        """Return the authors of posts that are not forgotten."""
        return self._columns.author[numbers - self._base].astype(np.int64)

    def created(self, numbers: Ints) -> Ints:
        """Return the ticks of posts that are not forgotten."""
        return self._columns.created[numbers - self._base]

    def origins(self, numbers: Ints) -> Ints:
        """Return the origins of posts that are not forgotten."""
        return self._columns.origin[numbers - self._base]

    def cascades(self, numbers: Ints) -> Ints:
        """Return the numbers of the cascades of posts that are not forgotten."""
        return self._columns.cascade[numbers - self._base].astype(np.int64)

    def topic_codes(self, numbers: Ints) -> Ints:
        """Return the codes of the topics of posts that are not forgotten."""
        return self._columns.topics[numbers - self._base].astype(np.int64)


class _Room:
    """The columns of posts. Authors are below 2**29; posts, cascades and codes of topics are numbered below 2**31.

    The place of a post in the order of posts is counted as if none was forgotten; `at_place` has the number of the post
    at each place.
    """

    def __init__(self, size: int) -> None:
        self.id, self.created, self.origin = np.zeros((3, size), dtype=np.int64)
        self.author, self.cascade, self.topics, self.place, self.at_place = np.zeros((5, size), dtype=np.int32)

    def move(self, first: int, kept: int, size: int) -> None:
        """Begin with the kept values, and have room for so many. It holds one column twice at a time."""
        for name, column in vars(self).items():
            if size > len(column):
                larger = np.zeros(size + size // 4, dtype=column.dtype)
                larger[:kept] = column[first : first + kept]
                setattr(self, name, larger)
            else:
                column[:kept] = column[first : first + kept]


def _lucks(origins: Ints, authors: Ints) -> NDArray[np.uint64]:
    """Return a hash of each post: of two that are equal otherwise, the one with the higher hash comes first.

    It depends on the original and on who made the post, never on what else they have made, so that pairs stay matched.
    """
    return scattered_all(origins + (authors << 1))
