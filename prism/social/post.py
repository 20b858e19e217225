"""A post, and one person's view of it."""

from __future__ import annotations

from enum import StrEnum, unique
from typing import Any, Final

import msgspec

NUMBER_BITS: Final = 24
"""Bits of a post's id for its number among its author's posts."""

AUTHORS_MAX: Final = 1 << 29
"""The limit of authors: ids stay below 2**53, which every reader of JSON and every table keeps exactly."""


@unique
class PostKind(StrEnum):
    """The kind of a post: original, reply or reshare."""

    ORIGINAL = "original"
    REPLY = "reply"
    RESHARE = "reshare"


class Post(msgspec.Struct, kw_only=True):
    """A post and the counts of its engagements.

    Args:
        id: the author's number and the author's count of posts before it, as `post_id` says.
        author: the author's number.
        topics: the topics of the post.
        created: the tick of the post.
        parent: the post that it answers or reshares; None for an original.
        root: the original at the head of its cascade; its own id for an original.
        depth: steps from the root; 0 for an original.
        likes: people who liked it; `replies` and `reshares` count its direct children in the same way.
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
        """The likes, replies and reshares together."""
        return self.likes + self.replies + self.reshares

    @property
    def is_copy(self) -> bool:
        """True for an original and for a reshare of it, which spread the cascade; a reply does not."""
        return self.kind is not PostKind.REPLY

    def velocity(self, tick: int, ticks_per_round: int) -> float:
        """Return the engagements a round over its life so far, which counts as one round at least."""
        return self.engagements * ticks_per_round / max(ticks_per_round, tick - self.created)


class PostView(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One person's view of a post.

    Args:
        id: the post.
        author: the author's number, and `author_name`.
        age_ticks: ticks since the post was made.
        velocity: engagements a round.
        popularity: n / (n + popularity_half) for the n engagements of its whole cascade; 0 to 1.
        followed: whether the person follows the author.
        topic_match: the share of its topics that are among the person's interests; 0 to 1.
        appeal: the person's unobserved taste for its cascade: u to the power of `appeal_power` for a uniform draw u of
            theirs, times the quality; 0 to 1.
        fatigue: the share of the session's feed already seen; 0 to 1.
        quality: what its cascade is worth to everybody, above 0 and 1 on average; it is in the appeal already.
        exposures: people from whom the person has been shown the cascade, this time included.
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
    quality: float = 1.0
    exposures: int = 1

    def prompt_fields(self) -> dict[str, Any]:
        """Return the fields for a language model: only those that a person would see; the others are for the chart."""
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


def post_id(author: int, number: int) -> int:
    """Return the id of a post: `author << 24 | number`, below 2**53. No count is shared by two authors.

    Args:
        author: the author's number, below 2**29.
        number: how many posts the author has made before: originals, replies and reshares together, below 2**24.

    Raises:
        ValueError: one of them is out of its range.
    """
    if not 0 <= author < AUTHORS_MAX:
        raise ValueError(f"an author's number must be from 0 to {AUTHORS_MAX - 1:,}, got {author:,}")
    if not 0 <= number < 1 << NUMBER_BITS:
        raise ValueError(f"person {author:,} has made {number:,} posts, which is the most that one person can make")
    return author << NUMBER_BITS | number


def author_of(post: int) -> int:
    """Return the author's number in a post's id."""
    return post >> NUMBER_BITS


def popularity(engagements: int, half: float) -> float:
    """Return social proof between 0 and 1: n / (n + half)."""
    return engagements / (engagements + half)


def topic_match(interests: tuple[str, ...], topics: tuple[str, ...]) -> float:
    """Return the share of the topics that are among the interests; 0 for a post without topics."""
    return sum(topic in interests for topic in topics) / len(topics) if topics else 0.0
