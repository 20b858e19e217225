"""The posts that are not forgotten, numbered in the order in which they were made: a reader of their table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism.columns import Column, Columns, Ints, pack, pack_array, pack_fields, pack_items, places_among, records_in
from prism.events import NUMBER_BITS
from prism.kernels import python_rows
from prism.social import tables as col
from prism.social.posts.post import NO_POST, Post, PostKind
from prism.social.state import SocialState

KINDS: Final = (PostKind.ORIGINAL, PostKind.REPLY, PostKind.RESHARE)  # the kinds of posts, by their number
AT_ONCE: Final = 4096  # posts that are made into objects together


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
        both = zip(python_rows(rows), python_rows(details), strict=True)
        of_posts = zip(ids_of(rows).tolist(), numbers.tolist(), roots, both, strict=True)
        return [
            Post(
                id=post,
                author=row.author,
                text=texts.get(number, ""),
                topics=topics[row.topics],
                created=row.created,
                root=root,
                kind=KINDS[row.kind],
                parent=None if more.parent == NO_POST else more.parent,
                depth=more.depth,
                origin=row.origin,
                likes=more.likes,
                replies=more.replies,
                reshares=more.reshares,
                given=more.given,
            )
            for post, number, root, (row, more) in of_posts
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
        counts = self._state.t.counts.posts
        return of[counts[col.FIRST] - counts[col.BASE] : counts[col.END] - counts[col.BASE]]

    def _ids(self) -> Ints:
        return ids_of(self._rows(self._state.t.posts))

    def ids(self, numbers: Ints) -> Ints:
        return ids_of(self._state.t.posts[self.rows(numbers)])

    def forget(self, before: int) -> None:
        t = self._state.t
        t.counts.posts[col.FIRST] += np.searchsorted(self._rows(t.posts)["created"], before)
        originals = t.counts.originals
        live = t.originals[originals[col.OLDEST] : originals[col.NEWEST]]
        if dropped := int(np.searchsorted(live, t.counts.posts[col.FIRST])):
            originals[col.OLDEST] += dropped
            originals[col.BITS] = -1
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
        originals = counts[col.FIRST] + np.flatnonzero(rows["kind"] == col.IS_ORIGINAL)
        state.t.originals[: len(originals)] = originals
        state.t.counts.originals[:] = 0, len(originals), -1
        state.texts = columns.items("texts", int, str)


MOST = 2.0  # the rows, for each living cascade, above which forgotten ones are dropped
ENOUGH = 1.5
"""The rows, for each living cascade, that may remain after a drop: most of them are then found without a search."""


class CascadeSize(NamedTuple):
    """A cascade's size and depth, as reports give it. A larger one has more posts, or as many posts and more depth."""

    root: int
    size: int
    depth: int


class Cascades:
    """The cascades that still receive engagements, in a table, and the largest one so far.

    They are numbered from 0 in the order in which they begin. Most live equally long, and a few very long. So the table
    has two parts: first the few, whose numbers are in `early`, then every number from CASCADE_FIRST on, living or
    forgotten, whose row is the number less SHIFT.
    """

    def __init__(self, state: SocialState) -> None:
        self._state = state
        self._retired: Counter[int] = Counter()

    @property
    def _counts(self) -> Ints:
        return self._state.t.counts.cascades

    @property
    def length(self) -> int:
        return int(self._counts[col.ROWS])

    @property
    def largest(self) -> CascadeSize:
        return CascadeSize(*self._counts[[col.LARGEST, col.LARGEST_SIZE, col.LARGEST_DEPTH]].tolist())

    def sizes(self) -> dict[int, int]:
        """Return `{posts in a cascade: cascades of that size}` over all cascades so far, ascending."""
        sizes, counts = np.unique(self._state.t.trees["size"][: self.length], return_counts=True)
        living = Counter({size: count for size, count in zip(sizes.tolist(), counts.tolist(), strict=True) if size})
        return dict(sorted((self._retired + living).items()))

    def totals(self) -> dict[str, Any]:
        """Return the cascades' part of the run's summary, as JSON values."""
        largest, sizes = self.largest, self.sizes()
        # An original that nobody answered is a cascade of one post: all are as large, so none is named.
        root, size = (largest.root, largest.size) if largest.size else (None, max(sizes, default=0))
        return {
            "largest_cascade": {"root_post": root, "size": size, "depth": largest.depth},
            "deepest_cascade": int(self._counts[col.DEEPEST_OF_ALL]),
            "cascades_branched": int(self._counts[col.BRANCHED]),
            "cascade_sizes": {str(size): count for size, count in sizes.items()},
        }

    def retire(self, before: int) -> None:
        """Forget cascades without an engagement since before that tick. So a long run does not grow."""
        sizes = self._state.t.trees["size"][: self.length]
        old = np.flatnonzero((self._state.t.cascades["touched"][: self.length] < before) & (sizes > 0))
        self._retired.update(sizes[old].tolist())
        sizes[old] = 0
        living = np.flatnonzero(sizes)
        if self.length > MOST * len(living):
            # Drop forgotten cascades from the table: a quarter of the rows at least, so it pays for the copying.
            counts, state = self._counts, self._state
            length, was_early = self.length, int(np.searchsorted(living, counts[col.EARLY]))
            ends = np.append(living, length)
            lengths = np.arange(len(ends)) + length - ends  # of the table, by the number of cascades in the first part
            count = max(was_early, int(np.argmax(lengths <= ENOUGH * len(living))))
            begin, early = int(ends[count]), living[:count]
            numbers = np.append(state.t.early[early[:was_early]], early[was_early:] + counts[col.SHIFT])
            counts[col.CASCADE_FIRST] = begin + counts[col.SHIFT]
            counts[col.SHIFT] = counts[col.CASCADE_FIRST] - count
            counts[col.EARLY], counts[col.ROWS] = count, count + length - begin
            state.t = state.t._replace(early=numbers if count else np.zeros(1, dtype=np.int64))
            for table in (state.t.cascades, state.t.trees):
                kept = np.concatenate((table[early], table[begin:length]))
                table[: len(kept)] = kept

    def columns(self) -> Iterator[Column]:
        """Yield the table, forgotten cascades included, for `restore`."""
        yield from pack_array("cascade_counts", self._counts)
        yield from pack_array("cascades_early", self._state.t.early[: self._counts[col.EARLY]])
        for table in (self._state.t.cascades, self._state.t.trees):
            yield from pack_fields("cascades", table[: self.length])
        yield from pack_items("cascades_retired", self._retired)

    def restore(self, columns: Columns) -> None:
        state, rows = self._state, records_in(columns, "cascades", col.CASCADE_FIELDS)
        state.make_room(len(rows))
        state.t.cascades[: len(rows)] = rows
        state.t.trees[: len(rows)] = records_in(columns, "cascades", col.TREE_FIELDS)
        self._counts[:] = columns.array("cascade_counts")
        early = columns.array("cascades_early")
        state.t = state.t._replace(early=early if len(early) else np.zeros(1, dtype=np.int64))
        self._retired = Counter(columns.items("cascades_retired", int, int))
