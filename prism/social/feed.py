"""The feed of one person: the scores of candidates, and the mix of in-network and out-of-network posts.

| algorithm | score of post p for person i at tick t | source |
|---|---|---|
| chronological | created(p) | every early timeline |
| hot | log10(max(1, engagements(p))) + created(p) / tau, tau `hot_rounds` | Reddit's ranking, Salihefendic (2010) |
| interest | topic_match(i, p) + `popularity_weight` popularity(p) | content-based, Pazzani & Billsus (2007) |
| random | a draw of i, the round and the original of p | the neutral baseline |

Equal scores are ordered by the newer post, then by a hash of the post, so an order never depends on how candidates were
collected, and no author is favoured.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism.rng import Draw, scattered, scattered_all, uniform
from prism.social.post import Post, popularity, topic_match


class Reader(NamedTuple):
    """The person who gets the feed, the tick, and the constants of the scores.

    Args:
        round_start: the first tick of the tick's round.
        freshness: ticks that count in `hot` as much as ten times the engagements.
        popularity_weight: the weight of popularity in `interest`.
        popularity_half: the engagements at which popularity is one half.
    """

    seed: int
    agent: int
    tick: int
    round_start: int
    interests: tuple[str, ...]
    freshness: float
    popularity_weight: float
    popularity_half: float


Score = Callable[[Reader, Post, int], float]
"""`(reader, post, engagements of the post's cascade)` -> the score; the highest is shown first."""


def chronological(_: Reader, post: Post, __: int) -> float:
    """Return the tick of the post."""
    return float(post.created)


def hot(reader: Reader, post: Post, engagements: int) -> float:
    """Return the score in which ten times the engagements count as much as `freshness` ticks of age."""
    return math.log10(max(1, engagements)) + post.created / reader.freshness


def interest(reader: Reader, post: Post, engagements: int) -> float:
    """Return the match of the post's topics, and its popularity by its weight."""
    match = topic_match(reader.interests, post.topics)
    return match + popularity(engagements, reader.popularity_half) * reader.popularity_weight


def random_order(reader: Reader, post: Post, _: int) -> float:
    """Return a draw of this person, round and original."""
    return uniform(reader.seed, reader.agent, reader.round_start, Draw.FEED_ORDER, post.origin)


SCORES: dict[str, Score] = {
    "chronological": chronological,
    "hot": hot,
    "interest": interest,
    "random": random_order,
}


class Candidate(NamedTuple):
    """A post that could be shown, and the engagements of its cascade."""

    post: Post
    engagements: int


class BuiltFeed(NamedTuple):
    """A feed: the ids of its posts, first to last, and how many of them are of each side."""

    posts: list[int]
    in_network: int
    out_of_network: int


def build_feed(
    algorithm: str,
    reader: Reader,
    in_network: Iterable[Candidate],
    out_of_network: Iterable[Candidate],
    quota: tuple[int, int],
    *,
    borrow: bool = False,
) -> BuiltFeed:
    """Return the posts to show, at most one of each cascade.

    Args:
        algorithm: a key of SCORES.
        in_network: candidates from people that the reader follows.
        out_of_network: candidates from others.
        quota: the number of each to show, at most.
        borrow: whether one side fills the places for which the other has too few posts; otherwise they stay empty.
    """
    score = SCORES[algorithm]

    def ranked(candidates: Iterable[Candidate]) -> Ranked:
        rows = [
            (score(reader, post, count), post.created, luck(post), post.id, post.root) for post, count in candidates
        ]
        rows.sort(reverse=True)
        return rows

    inside, outside = _one_of_each_cascade(ranked(in_network), ranked(out_of_network))
    wanted_inside, wanted_outside = quota
    if borrow:
        total = wanted_inside + wanted_outside
        wanted_outside = min(len(outside), max(wanted_outside, total - len(inside)))
        wanted_inside = total - wanted_outside
    inside, outside = inside[:wanted_inside], outside[:wanted_outside]
    chosen = sorted((*inside, *outside), reverse=True)
    return BuiltFeed([row[ID] for row in chosen], len(inside), len(outside))


def luck(post: Post) -> int:
    """Return a hash of a post, from 0 to 2**64 - 1: of two posts that are equal otherwise, the higher one comes first.

    It depends on the original and on who made the post, never on what else they have made, so that pairs stay matched.
    """
    return scattered(post.origin + (post.author << 1))


def lucks(origins: NDArray[np.int64], authors: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return `luck` of posts by these authors."""
    return scattered_all(origins + (authors << 1))


Ranked = list[tuple[float, int, int, int, int]]
"""`(score, tick, luck, id, root)` of posts, the first to be shown first."""
ID: Final = 3
ROOT: Final = 4


def _one_of_each_cascade(*lists: Ranked) -> Sequence[Ranked]:
    """Return the lists with only the first post of each cascade; an earlier list has priority."""
    seen: dict[int, None] = {}
    kept: list[Ranked] = []
    for rows in lists:
        first = []
        for row in rows:
            if row[ROOT] not in seen:
                seen[row[ROOT]] = None
                first.append(row)
        kept.append(first)
    return kept
