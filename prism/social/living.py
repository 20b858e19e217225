"""The posts that are not forgotten, by the number in which they were made, with what feeds read of them in columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

import numpy as np

from prism.columns import BLOCK, Ints
from prism.social.feed import lucks
from prism.social.post import Post

FIRST_ROOM: Final = 1024
NO_POST: Final = -1
"""The number of no post."""
MANY: Final = -2
"""The code of topics that are not exactly one."""
NUMBERS_MAX: Final = 2**31 - 1
NO_KEY: Final = -(2**63)
"""No id of a post."""


class LivingPosts:
    """A queue of posts: they are numbered from 0 in the order in which they are made, and forgotten in the same order.

    What changes with an engagement is in a post; the columns have what does not, and the engagements of cascades.
    """

    def __init__(self) -> None:
        self.first = 0
        """The number of the oldest post that is not forgotten."""
        self._base = 0
        """The number of the post in the first place of the columns."""
        self._posts: list[Post] = []
        self._numbers: dict[int, int] = {}
        """`{id: number}`."""
        self.topics: list[tuple[str, ...]] = []
        """The topics of posts, by their code."""
        self._codes: dict[tuple[str, ...], int] = {}
        self._cascades: dict[int, int] = {}
        """`{root: the number of its cascade}`, numbered from 0 in the order in which they begin."""
        self._begun = 0
        self._engagements = np.zeros(FIRST_ROOM, dtype=np.int64)
        """By number of the cascade, less `_first_cascade`."""
        self._first_cascade = 0
        self._room = _Room(FIRST_ROOM)
        self._filled = 0
        """The posts with lower numbers are in the columns; those of a wave come there together."""
        self._ordered = 0
        """The posts with lower numbers have their final place in the order of posts."""
        self._by_place: Ints | None = None
        """The number of the post at each place, less `first`; made anew after any change."""

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
        place = number - self.first
        return self._posts[place] if 0 <= place < len(self._posts) else None

    def number(self, post: int) -> int:
        """Return the number of a post, by its id; NO_POST if it is forgotten."""
        return self._numbers.get(post, NO_POST)

    def cascade(self, root: int) -> int:
        """Return the number of the cascade of a root; NO_POST if it is forgotten."""
        return self._cascades.get(root, NO_POST)

    def numbers(self, posts: Ints) -> Ints:
        """Return the numbers of posts by their ids, with NO_POST for a forgotten one."""
        return _looked_up(self._numbers, posts)

    def cascades_of(self, roots: Ints) -> Ints:
        """Return the numbers of the cascades of roots, with NO_POST for a forgotten one."""
        return _looked_up(self._cascades, roots)

    def roots(self) -> Callable[[Ints], Ints]:
        """Return a function that gives the roots of cascades by number, with NO_POST for a forgotten one.

        It holds until the next cascade begins or ends.
        """
        first = self._first_cascade
        roots = np.full(self._begun - first + 1, NO_POST, dtype=np.int64)
        numbers = np.fromiter(self._cascades.values(), np.int64, len(self._cascades))
        roots[numbers - first] = np.fromiter(self._cascades, np.int64, len(self._cascades))
        return lambda cascades: roots[np.where(cascades < first, -1, cascades - first)]

    def begin(self, root: int, engagements: int = 0) -> None:
        """Number a new cascade."""
        place = self._begun - self._first_cascade
        if place == len(self._engagements):
            oldest = min(self._cascades.values(), default=self._begun)
            kept = self._engagements[oldest - self._first_cascade :]
            self._engagements = np.zeros(max(FIRST_ROOM, 2 * len(kept)), dtype=np.int64)
            self._engagements[: len(kept)] = kept
            self._first_cascade, place = oldest, self._begun - oldest
        if engagements:
            self._engagements[place] = engagements
        self._cascades[root] = self._begun
        self._begun += 1

    def end_cascade(self, root: int) -> None:
        """Forget a cascade."""
        del self._cascades[root]

    def engaged(self, root: int) -> int:
        """Count an engagement with a cascade, and return its number."""
        number = self._cascades[root]
        self._engagements[number - self._first_cascade] += 1
        return number

    def add(self, post: Post) -> int:
        """Number a new post, whose cascade has one.

        Raises:
            OverflowError: the run has made 2**31 posts.
        """
        number = self.end
        if number >= NUMBERS_MAX:
            raise OverflowError(f"a run can make {NUMBERS_MAX:,} posts, and this one has")
        post.topics = self.topics[self._code(post.topics)]  # equal topics are one object: there are a million posts
        self._posts.append(post)
        self._numbers[post.id] = number
        self._by_place = None
        return number

    @property
    def _columns(self) -> _Room:
        """The columns, with all posts."""
        if self._filled < self.end:
            self._fill()
        return self._room

    def _fill(self) -> None:
        """Put the posts that are not yet there into the columns."""
        if self.end - self._base > len(self._room.author):
            self._room = self._room.moved(self.first - self._base, self._filled - self.first, 2 * len(self._posts))
            self._base = self.first
        new, room = self._posts[self._filled - self.first :], self._room
        places = slice(self._filled - self._base, self.end - self._base)
        room.id[places] = [post.id for post in new]
        room.author[places] = [post.author for post in new]
        room.created[places] = [post.created for post in new]
        room.origin[places] = [post.origin for post in new]
        room.cascade[places] = [self._cascades[post.root] for post in new]
        room.topics[places] = [self._code(post.topics) for post in new]
        self._filled = self.end

    def _code(self, topics: tuple[str, ...]) -> int:
        code = self._codes.setdefault(topics, len(self.topics))
        if code == len(self.topics):
            self.topics.append(topics)
        return code

    def forget(self, before: int) -> list[Post]:
        """Forget the posts of earlier ticks, and return them."""
        count = int(np.searchsorted(self.created(np.arange(self.first, self.end)), before))
        old = self._posts[:count]
        del self._posts[:count]
        for post in old:
            del self._numbers[post.id]
        self.first += count
        self._by_place = None
        return old

    def places(self, numbers: Ints) -> Ints:
        """Return the places of posts in the order by tick, luck and id of all that are not forgotten."""
        self._order()
        return self._columns.place[numbers - self._base] - self.first

    def at_places(self, places: Ints) -> Ints:
        """Return the numbers of the posts at these places of the order."""
        return self._order()[places]

    def _order(self) -> Ints:
        """Return the numbers of the posts in order. Only the posts of the newest tick may change their places."""
        if self._by_place is None:
            start, columns = max(self._ordered, self.first), self._columns
            new = np.arange(start - self._base, self.end - self._base)
            created, ids = columns.created[new], columns.id[new]
            order = np.lexsort((ids, lucks(columns.origin[new], columns.author[new]), created))
            columns.place[new[order]] = new + self._base
            if len(new):
                self._ordered = start + int(np.searchsorted(created, created[-1]))
            numbers = np.arange(self.first, self.end)
            self._by_place = np.empty_like(numbers)
            self._by_place[columns.place[numbers - self._base] - self.first] = numbers
        return self._by_place

    def ids(self, numbers: Ints) -> Ints:
        """Return the ids of posts that are not forgotten."""
        return self._columns.id[numbers - self._base]

    def authors(self, numbers: Ints) -> Ints:
        """Return the authors of such posts."""
        return self._columns.author[numbers - self._base]

    def created(self, numbers: Ints) -> Ints:
        """Return the ticks of such posts."""
        return self._columns.created[numbers - self._base]

    def origins(self, numbers: Ints) -> Ints:
        """Return the origins of such posts."""
        return self._columns.origin[numbers - self._base]

    def cascades(self, numbers: Ints) -> Ints:
        """Return the numbers of the cascades of such posts."""
        return self._columns.cascade[numbers - self._base]

    def topic_codes(self, numbers: Ints) -> Ints:
        """Return the codes of the topics of such posts."""
        return self._columns.topics[numbers - self._base]

    def engagements(self, cascades: Ints) -> Ints:
        """Return the engagements of cascades that are not forgotten, by number."""
        return self._engagements[cascades - self._first_cascade]


def _looked_up(found: Mapping[int, int], keys: Ints) -> Ints:
    """Return the value of each key, with NO_POST where there is none. It takes a few blocks of memory besides."""
    known, values = (np.fromiter(side, np.int64, len(found)) for side in (found.keys(), found.values()))
    order = np.argsort(known)
    known, values = np.append(known[order], NO_KEY), np.append(values[order], NO_POST)
    result = np.empty_like(keys)
    for start in range(0, len(keys), BLOCK):
        block = keys[start : start + BLOCK]
        places = np.searchsorted(known[:-1], block)
        result[start : start + BLOCK] = np.where(known[places] == block, values[places], NO_POST)
    return result


class _Room:
    """The columns of posts."""

    def __init__(self, room: int) -> None:
        columns = np.zeros((7, room), dtype=np.int64)
        self.id, self.author, self.created, self.origin, self.cascade, self.topics, self.place = columns

    def moved(self, first: int, kept: int, size: int) -> _Room:
        """Return new columns of this size, which begin with the kept ones."""
        new = _Room(max(FIRST_ROOM, size))
        for name, column in vars(self).items():
            getattr(new, name)[:kept] = column[first : first + kept]
        return new
