"""The reactions to posts that interventions have published."""

from __future__ import annotations

from collections.abc import Sequence

from prism.events import Event, PostEvent


class Reactions:
    """Counts of likes, replies and reshares of the posts that interventions have published."""

    def __init__(self) -> None:
        self._posts: dict[int, int] = {}
        """`{post: the number of the intervention that published it}`."""
        self._counts: dict[int, int] = {}

    @property
    def are_counted(self) -> bool:
        """True once an intervention has published a post."""
        return bool(self._posts)

    def publish(self, number: int, events: Sequence[Event]) -> None:
        """Note the post that an intervention has published, if it has."""
        for event in events:
            if isinstance(event, PostEvent):
                self._posts[event.post] = number
                self._counts[number] = 0

    def add(self, events: Sequence[Event]) -> None:
        """Count reactions to these posts."""
        for event in events if self._posts else ():
            if isinstance(event, PostEvent):
                number = self._posts.get(event.post if event.parent is None else event.parent)
                if number is not None:
                    self._counts[number] += 1

    def of(self, number: int) -> int:
        """Return the reactions to the post of an intervention."""
        return self._counts.get(number, 0)

    def state(self) -> tuple[tuple[int, int, int], ...]:
        """Return `(post, intervention, reactions)` of each post."""
        return tuple((post, number, self._counts[number]) for post, number in self._posts.items())

    def restore(self, state: Sequence[tuple[int, int, int]]) -> None:
        """Set the counts to those of a checkpoint."""
        self._posts = {post: number for post, number, _ in state}
        self._counts = {number: count for _, number, count in state}
