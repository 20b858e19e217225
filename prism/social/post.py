"""A post, and what one person is shown of it."""

from __future__ import annotations

from enum import StrEnum, unique
from typing import Any, Final

import msgspec

POPULARITY_HALF: Final = 10.0
"""Engagements at which a post counts as half as popular as one can be. Uncalibrated."""


@unique
class PostKind(StrEnum):
    """How a post came about."""

    ORIGINAL = "original"
    REPLY = "reply"
    RESHARE = "reshare"


class Post(msgspec.Struct, kw_only=True):
    """A post and what became of it.

    Args:
        author: the author's number.
        topics: what it is about.
        created: the tick it was posted in.
        parent: the post it answers or reshares; None for an original.
        root: the original at the head of its cascade; its own id for an original.
        depth: steps from the root; 0 for an original.
        likes: people who liked it; `replies` and `reshares` likewise count its direct children.
    """

    id: int
    author: int
    text: str
    topics: tuple[str, ...]
    created: int
    root: int
    kind: PostKind = PostKind.ORIGINAL
    parent: int | None = None
    depth: int = 0
    likes: int = 0
    replies: int = 0
    reshares: int = 0

    @property
    def engagements(self) -> int:
        """Likes, replies and reshares together."""
        return self.likes + self.replies + self.reshares

    def velocity(self, tick: int, ticks_per_round: int) -> float:
        """Engagements a round over its life so far, which counts as one round at least."""
        return self.engagements * ticks_per_round / max(ticks_per_round, tick - self.created)


class PostView(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What one person sees of a post.

    Args:
        id: the post.
        author: the author's number, and `author_name`.
        age_ticks: ticks since it was posted.
        velocity: engagements a round.
        popularity: n / (n + 10) for the n engagements of its whole cascade; 0 to 1.
        followed: whether the person follows the author.
        topic_match: share of its topics that the person cares about; 0 to 1.
        appeal: the person's unobserved taste for its cascade: u cubed for a uniform draw u of theirs, 0 to 1, mean 1/4,
            because most posts say nothing to most people.
        fatigue: share of the session's feed already seen; 0 to 1.
    """

    id: int
    author: int
    author_name: str
    text: str
    topics: tuple[str, ...]
    age_ticks: int
    likes: int
    replies: int
    reshares: int
    velocity: float
    popularity: float
    followed: bool
    topic_match: float
    appeal: float
    fatigue: float

    def prompt_fields(self) -> dict[str, Any]:
        """What a language model is told: what a person would see, and none of what only the statechart may know."""
        return {
            "author": self.author_name,
            "text": self.text,
            "topics": list(self.topics),
            "ticks_ago": self.age_ticks,
            "likes": self.likes,
            "replies": self.replies,
            "reshares": self.reshares,
            "you_follow_the_author": self.followed,
        }


def popularity(engagements: int) -> float:
    """Social proof between 0 and 1: n / (n + 10)."""
    return engagements / (engagements + POPULARITY_HALF)


def topic_match(interests: tuple[str, ...], topics: tuple[str, ...]) -> float:
    """The share of the topics that are among the interests; 0 for a post without topics."""
    return sum(topic in interests for topic in topics) / len(topics) if topics else 0.0
