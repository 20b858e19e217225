"""The posts that are not forgotten, numbered in the order in which they were made: a reader of their table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from prism.columns import Ints, looked_up
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

    def _ids(self) -> Ints:
        base = self._state.t.counts.posts[col.BASE]
        return np.asarray(self._state.t.posts[self.first - base : self.end - base, col.ID])

    def ids(self, numbers: Ints) -> Ints:
        return np.asarray(self._state.t.posts[self.rows(numbers), col.ID])

    def ids_or(self, numbers: Ints, missing: int) -> Ints:
        """Return the ids of posts, with `missing` for a forgotten one."""
        found, is_known = np.full(len(numbers), missing, dtype=np.int64), numbers >= self.first
        found[is_known] = self.ids(numbers[is_known])
        return found

    def forget(self, before: int) -> None:
        """Forget the posts of earlier ticks."""
        posts, counts = self._state.t.posts, self._state.t.counts.posts
        created = posts[counts[col.FIRST] - counts[col.BASE] : counts[col.END] - counts[col.BASE], col.CREATED]
        counts[col.FIRST] += np.searchsorted(created, before)
        if self._state.texts:
            self._state.texts = {number: text for number, text in self._state.texts.items() if number >= self.first}

    def restore(self, posts: Sequence[Post]) -> None:
        """Take over posts, oldest first, as the first ones. Their cascades are known already."""
        state = self._state
        state.make_room(len(posts))
        cascades = state.cascade_numbers(np.array([post.root for post in posts], dtype=np.int64)).tolist()
        topics = state.codes_of(post.topics for post in posts)
        rows = [
            {
                col.ID: post.id,
                col.AUTHOR: post.author,
                col.CREATED: post.created,
                col.ORIGIN: post.origin,
                col.CASCADE: cascade,
                col.TOPICS: code,
                col.KIND: KINDS.index(post.kind),
                col.PARENT: NO_POST if post.parent is None else post.parent,
                col.DEPTH: post.depth,
                col.LIKES: post.likes,
                col.REPLIES: post.replies,
                col.RESHARES: post.reshares,
                col.GIVEN: post.given,
            }
            for post, cascade, code in zip(posts, cascades, topics, strict=True)
        ]
        if rows:
            state.t.posts[: len(rows), [*rows[0]]] = [[*row.values()] for row in rows]
        state.texts.update({number: post.text for number, post in enumerate(posts) if post.text})
        state.t.counts.posts[col.END] = len(posts)
