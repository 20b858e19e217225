"""The follow graph with ties that interventions have added and removed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prism.social.graph import FollowGraph, Ints


class ChangedTies:
    """A follow graph that others have changed. It reads as the graph does; the graph itself stays as it is.

    Args:
        graph: the ties before the changes.
    """

    def __init__(self, graph: FollowGraph) -> None:
        self._graph = graph
        self._follows: dict[int, dict[int, bool]] = {}
        """`{followee: {follower: whether there is a tie}}` of the ties that were changed."""

    def change(self, follower: int, followee: int, *, follows: bool) -> None:
        """Add a tie or remove it; nothing happens if it is so already."""
        self._follows.setdefault(followee, {})[follower] = follows

    def followers(self, person: int) -> Ints:
        """Return the people who follow `person`, ascending."""
        given = self._graph.followers(person)
        changed = self._follows.get(person)
        if changed is None:
            return given
        kept = [follower for follower in given.tolist() if follower not in changed]
        return np.array(sorted([*kept, *(each for each, follows in changed.items() if follows)]), dtype=np.int32)

    def follows(self, person: int, other: int) -> bool:
        """Return whether `person` follows `other`."""
        changed = self._follows.get(other, {}).get(person)
        return self._graph.follows(person, other) if changed is None else changed

    def ties_of(self, people: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the ties of people to those whom they follow, with those that were removed."""
        followers, followees = self._graph.ties_of(people)
        changed = [(one, other) for other, ones in self._follows.items() for one in ones]
        added = np.array(changed, dtype=np.int64).reshape(-1, 2)
        return np.concatenate((followers, added[:, 0])), np.concatenate((followees, added[:, 1]))

    def follow(self, people: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return whether each of these people follows the other at the same place."""
        found = self._graph.follow(people, others)
        for place in np.flatnonzero(np.isin(others, list(self._follows))).tolist():
            found[place] = self.follows(int(people[place]), int(others[place]))
        return found
