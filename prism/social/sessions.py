"""The sessions of everybody: the posts of a feed that are still to be shown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from prism.columns import PIECE, Column, Columns, Ints, Rows, pack_array, pack_rows, places_in_lists
from prism.social.living import LivingPosts
from prism.social.post import NO_POST

CLOSED: Final = -1
GONE: Final = -2
"""The number, and the id, of a post that is forgotten."""


class Sessions:
    """The latest feed of each person, and how much of it is left. A session is open from its feed until it is closed.

    Args:
        size: the number of people.
    """

    def __init__(self, size: int) -> None:
        self.shown: Ints = np.zeros(size, dtype=np.int64)
        """The number of posts in the feed of each person's latest session."""
        self._left = np.full(size, CLOSED, dtype=np.int64)
        self._posts = np.zeros((size, 0), dtype=np.int32)
        """The numbers of the posts of each person's feed, first to last."""

    def is_open(self, people: Ints) -> NDArray[np.bool_]:
        """Return whether each of these people has a session."""
        return np.asarray(self._left[people] != CLOSED)

    def left(self, people: Ints) -> Ints:
        """Return how many posts each of these people have still to see; 0 without a session."""
        return np.asarray(np.maximum(self._left[people], 0))

    def open(self, people: Ints, rows: Ints, numbers: Ints) -> Ints:
        """Open sessions, and return where each one's posts end in `numbers`.

        Args:
            rows: the person of each post, as a place among the people, ascending; `numbers`: the posts, first to last.
        """
        counts = np.bincount(rows, minlength=len(people))
        self._widen(int(counts.max(initial=0)))
        self._posts[people[rows], places_in_lists(counts)] = numbers
        self.shown[people] = self._left[people] = counts
        return np.cumsum(counts)

    def next(self, people: Ints) -> Ints:
        """Return the number of the next post of each of these people, who have one, and take it out of what is left."""
        found: Ints = self._posts[people, self.shown[people] - self._left[people]].astype(np.int64)
        self._left[people] -= 1
        return found

    def close(self, people: Ints) -> None:
        """Close the sessions of these people."""
        self._left[people] = CLOSED

    def places(self, people: Ints) -> Ints:
        """Return the number of posts of the feed before the one in view, of each of these people."""
        return np.asarray(np.maximum(self.shown[people] - self.left(people) - 1, 0))

    def place(self, person: int) -> tuple[int, int]:
        """Return the number of posts of a person's feed before the one in view, and in all."""
        shown = int(self.shown[person])
        return max(0, shown - max(0, int(self._left[person])) - 1), shown

    def columns(self, living: LivingPosts) -> Iterator[Column]:
        """Yield the sessions, for `restore`."""
        yield from pack_array("shown", self.shown)
        people = np.flatnonzero(self._left != CLOSED)
        for start in range(0, max(1, len(people)), PIECE):
            yield from pack_rows("sessions", self._rows(people[start : start + PIECE], living))

    def restore(self, columns: Columns, living: LivingPosts) -> None:
        """Take over the sessions that these columns hold."""
        self.shown = columns.array("shown")
        self._widen(int(self.shown.max(initial=0)))
        for person, posts in columns.lists("sessions", int, int).items():
            shown = int(self.shown[person])
            self._left[person] = len(posts)
            numbers = map(living.number, reversed(posts))
            self._posts[person, shown - len(posts) : shown] = [GONE if each == NO_POST else each for each in numbers]

    def _rows(self, people: Ints, living: LivingPosts) -> Rows:
        """Return the ids of the posts that are still to be shown in the sessions of these people, last first."""
        left = self._left[people]
        owners = np.repeat(people, left)
        numbers = self._posts[owners, self.shown[owners] - 1 - places_in_lists(left)].astype(np.int64)
        return Rows(people, left, living.ids_or(numbers, GONE))

    def _widen(self, width: int) -> None:
        if width > self._posts.shape[1]:
            wider = np.zeros((len(self._posts), width), dtype=np.int32)
            wider[:, : self._posts.shape[1]] = self._posts
            self._posts = wider
