"""The posts that are not forgotten, numbered in the order in which they were made: a reader of their table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from prism.columns import Column, Columns, Ints, pack, pack_fields, pack_items, places_among, records_in
from prism.events import NUMBER_BITS
from prism.social import tables as col
from prism.social.posts.post import NO_POST, Post, PostKind
from prism.social.state import SocialState

KINDS: Final = (PostKind.ORIGINAL, PostKind.REPLY, PostKind.RESHARE)
"""The kinds of posts, by their number."""
AT_ONCE: Final = 4096
"""Posts that are made into objects together."""


def ids_of(posts: NDArray[Any]) -> Ints:
    """Return the ids of posts, by their rows."""
    return np.asarray(posts["author"].astype(np.int64) << NUMBER_BITS | posts["made"])


class LivingPosts:
    """A queue of posts: they are numbered from 0 in the order in which they are made, and forgotten in that order."""

    def __init__(self, state: SocialState) -> None:
        self._state = state

    def __len__(self) -> int:
        return self.end - self.first

    def __iter__(self) -> Iterator[Post]:
        for start in range(self.first, self.end, AT_ONCE):
            yield from self.made(np.arange(start, min(start + AT_ONCE, self.end)))

    @property
    def first(self) -> int:
        return int(self._state.t.counts.posts[col.FIRST])

    @property
    def end(self) -> int:
        return int(self._state.t.counts.posts[col.END])

    def get(self, number: int) -> Post | None:
        """Return a post by its number, as it is now; None if it is forgotten, or there is none."""
        return self.made(np.array([number]))[0] if self.first <= number < self.end else None

    def made(self, numbers: Ints) -> list[Post]:
        state = self._state
        places = self.rows(numbers)
        rows, details = state.t.posts[places], state.t.details[places]
        roots = state.t.trees["root"][state.cascade_rows(rows["cascade"])].tolist()
        texts, topics = state.texts, state.topics
        of_posts = zip(ids_of(rows).tolist(), numbers.tolist(), roots, rows.tolist(), details.tolist(), strict=True)
        return [
            Post(
                id=post,
                author=author,
                text=texts.get(number, ""),
                topics=topics[code],
                created=created,
                root=root,
                kind=KINDS[kind],
                parent=None if parent == NO_POST else parent,
                depth=depth,
                origin=origin,
                likes=likes,
                replies=replies,
                reshares=reshares,
                given=given,
            )
            for post, number, root, (origin, author, _, created, code, _, kind), (
                parent,
                depth,
                likes,
                replies,
                reshares,
                given,
            ) in of_posts
        ]

    def rows(self, numbers: Ints) -> Ints:
        return np.asarray(numbers - self._state.t.counts.posts[col.BASE])

    def number(self, post: int) -> int:
        """Return the number of a post, by its id; NO_POST if it is forgotten."""
        found = np.flatnonzero(self._ids() == post)
        return self.first + int(found[0]) if len(found) else NO_POST

    def numbers(self, posts: Ints) -> Ints:
        """Return the numbers of posts by their ids, with NO_POST for a forgotten one."""
        ids = self._ids()
        order = np.argsort(ids)
        numbers = np.append(self.first + order, NO_POST)  # the last one is that of the place -1
        return np.asarray(numbers[places_among(ids[order], posts)])

    def _rows(self, of: NDArray[Any]) -> NDArray[Any]:
        """Return the rows of the posts that are not forgotten, of a table of posts."""
        counts = self._state.t.counts.posts
        return of[counts[col.FIRST] - counts[col.BASE] : counts[col.END] - counts[col.BASE]]

    def _ids(self) -> Ints:
        return ids_of(self._rows(self._state.t.posts))

    def ids(self, numbers: Ints) -> Ints:
        return ids_of(self._state.t.posts[self.rows(numbers)])

    def forget(self, before: int) -> None:
        self._state.t.counts.posts[col.FIRST] += np.searchsorted(self._rows(self._state.t.posts)["created"], before)
        if self._state.texts:
            self._state.texts = {number: text for number, text in self._state.texts.items() if number >= self.first}

    def columns(self) -> Iterator[Column]:
        yield from pack("posts_first", [self.first])
        for table in (self._state.t.posts, self._state.t.details):
            yield from pack_fields("posts", self._rows(table))
        yield from pack("topics", self._state.topics)
        yield from pack_items("texts", self._state.texts)

    def restore(self, columns: Columns) -> None:
        state, rows = self._state, records_in(columns, "posts", col.POST_FIELDS)
        codes = np.array(state.codes_of(columns.values("topics", tuple[str, ...])))  # a fork may have others
        rows["topics"] = codes[rows["topics"]]
        state.make_room(len(rows))
        state.t.posts[: len(rows)] = rows
        state.t.details[: len(rows)] = records_in(columns, "posts", col.DETAIL_FIELDS)
        counts = state.t.counts.posts
        counts[[col.FIRST, col.BASE]] = columns.value("posts_first", int)
        counts[col.END] = counts[col.FIRST] + len(rows)
        state.texts = columns.items("texts", int, str)
