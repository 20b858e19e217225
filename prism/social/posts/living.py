"""The posts that are not forgotten, numbered in the order in which they were made: a reader of their table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from prism.columns import Column, Columns, Ints, looked_up, pack, pack_array, pack_items
from prism.social import tables as col
from prism.social.posts.post import NO_POST, Post, PostKind
from prism.social.state import SocialState

KINDS: Final = (PostKind.ORIGINAL, PostKind.REPLY, PostKind.RESHARE)
"""The kinds of posts, by their number."""
AT_ONCE: Final = 4096
"""Posts that are made into objects together."""


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
        rows = state.t.posts[self.rows(numbers)]
        roots = state.t.cascades[state.cascade_rows(rows[:, col.CASCADE]), col.ROOT].tolist()
        texts, topics = state.texts, state.topics
        return [
            Post(
                id=row[col.ID],
                author=row[col.AUTHOR],
                text=texts.get(number, ""),
                topics=topics[row[col.TOPICS]],
                created=row[col.CREATED],
                root=root,
                kind=KINDS[row[col.KIND]],
                parent=None if row[col.PARENT] == NO_POST else row[col.PARENT],
                depth=row[col.DEPTH],
                origin=row[col.ORIGIN],
                likes=row[col.LIKES],
                replies=row[col.REPLIES],
                reshares=row[col.RESHARES],
                given=row[col.GIVEN],
            )
            for number, row, root in zip(numbers.tolist(), rows.tolist(), roots, strict=True)
        ]

    def rows(self, numbers: Ints) -> Ints:
        return np.asarray(numbers - self._state.t.counts.posts[col.BASE])

    def number(self, post: int) -> int:
        """Return the number of a post, by its id; NO_POST if it is forgotten."""
        found = np.flatnonzero(self._ids() == post)
        return self.first + int(found[0]) if len(found) else NO_POST

    def numbers(self, posts: Ints) -> Ints:
        """Return the numbers of posts by their ids, with NO_POST for a forgotten one."""
        return looked_up(dict(zip(self._ids().tolist(), range(self.first, self.end), strict=True)), posts, NO_POST)

    def _rows(self) -> Ints:
        counts = self._state.t.counts.posts
        return self._state.t.posts[counts[col.FIRST] - counts[col.BASE] : counts[col.END] - counts[col.BASE]]

    def _ids(self) -> Ints:
        return np.asarray(self._rows()[:, col.ID])

    def ids(self, numbers: Ints) -> Ints:
        return np.asarray(self._state.t.posts[self.rows(numbers), col.ID])

    def forget(self, before: int) -> None:
        self._state.t.counts.posts[col.FIRST] += np.searchsorted(self._rows()[:, col.CREATED], before)
        if self._state.texts:
            self._state.texts = {number: text for number, text in self._state.texts.items() if number >= self.first}

    def columns(self) -> Iterator[Column]:
        yield from pack("posts_first", [self.first])
        yield from pack_array("posts", self._rows().ravel())
        yield from pack("topics", self._state.topics)
        yield from pack_items("texts", self._state.texts)

    def restore(self, columns: Columns) -> None:
        state, rows = self._state, columns.array("posts").reshape(-1, col.POST_COLUMNS)
        codes = np.array(state.codes_of(columns.values("topics", tuple[str, ...])))  # a fork may have others
        rows[:, col.TOPICS] = codes[rows[:, col.TOPICS]]
        state.make_room(len(rows))
        state.t.posts[: len(rows)] = rows
        counts = state.t.counts.posts
        counts[[col.FIRST, col.BASE]] = columns.value("posts_first", int)
        counts[col.END] = counts[col.FIRST] + len(rows)
        state.texts = columns.items("texts", int, str)
