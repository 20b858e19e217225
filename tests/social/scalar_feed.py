"""A feed as docs/people.md defines it, built one post at a time: what the feeds of a run are compared with."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from statistics import NormalDist
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism.rng import WORLD, Draw, integer, uniform
from prism.social.network import Network
from prism.social.posts.post import Post, author_of
from prism.social.tables import NEWEST, OLDEST, ORIGIN, SHOWN_ALL, SHOWN_OUTSIDE
from tests.social.acts import cascades_of, roots_of
from tests.social.in_view import opened


def feed_for(network: Network, agent: int, tick: int) -> list[int]:
    """Return the ids of the posts to show a person, first to last, and remember that they were shown.

    The feed is the one that a run builds, and it is the same as the one that is built here.
    """
    expected, counts = built_feed(network, agent, tick), network.state.t.counts.feeds
    before = counts.copy()
    shown = opened(network, agent, tick)
    every, outside = (counts - before)[[SHOWN_ALL, SHOWN_OUTSIDE]].tolist()
    assert (shown, every - outside, outside) == tuple(expected)
    return shown


def built_feed(network: Network, agent: int, tick: int) -> BuiltFeed:
    """Return the feed to show a person."""
    feed, seen = network.feed, roots_in(network, "seen", agent)
    inside = [*_candidates(network, agent, network.state.ring("timeline").of(agent), seen, tick)]
    outside = round(feed.size * feed.out_of_network)
    if feed.fill == "share":
        outside = shared_places(network, agent, tick, len({each.post.root for each in inside}))
    pool = pool_of(network, agent, tick) if outside else ()
    strangers = (
        each for each in _candidates(network, agent, pool, seen, tick) if not follows(network, agent, each.post.author)
    )
    return build_feed(
        feed.algorithm,
        reader_of(network, agent, tick),
        inside,
        strangers,
        (feed.size - outside, outside),
        borrow=feed.fill == "borrow",
    )


def shared_places(network: Network, agent: int, tick: int, own: int) -> int:
    """Return the places for strangers beside so many posts of one's own side: whole ones, with their share as mean."""
    size, share = network.feed.size, network.feed.out_of_network
    mean = size * share
    if share < 1:
        mean = min(mean, own * size * share / (size - size * share))
    return math.floor(mean + uniform(network.seed, agent, tick - tick % network.ticks_per_round, Draw.FEED_SHARE))


def reader_of(network: Network, agent: int, tick: int) -> Reader:
    """Return a person who gets a feed, with the constants of the scores."""
    return Reader(
        network.seed,
        agent,
        tick,
        tick - tick % network.ticks_per_round,
        network.population.personas[agent].interests,
        freshness=network.feed.hot_rounds * network.ticks_per_round,
        popularity_weight=network.feed.popularity_weight,
        popularity_half=network.state.t.settings.popularity_half,
    )


def pool_of(network: Network, agent: int, tick: int) -> list[int]:
    """Return a sample of the originals for a person and round, by number, without repeats."""
    t, counts = network.state.t, network.state.t.counts.originals
    numbers = t.originals[counts[OLDEST] : counts[NEWEST]]
    origins = t.posts[network.living.rows(numbers), ORIGIN].astype(np.uint64)
    start = tick - tick % network.ticks_per_round
    found = sampled(origins, network.feed.recent, network.feed.pool, network.seed, agent, start)
    pool: list[int] = numbers[found].tolist()
    return pool


def follows(network: Network, person: int, other: int) -> bool:
    """Return whether a person follows another one."""
    followees = network.state.t.ties.followees
    return other in followees.values[followees.starts[person] : followees.ends[person]]


def roots_in(network: Network, ring: str, person: int) -> list[int]:
    """Return the roots of the cascades in a person's ring, oldest first, with NO_POST for a forgotten one."""
    return roots_of(network, network.state.ring(ring).of(person))


def has_come(network: Network, agent: int, post: Post, tick: int) -> bool:
    """Return whether a log-normal time, with a factor of the original, has passed since a post was made."""
    settings, normal = network.state.t.settings, NormalDist()
    if not settings.response:
        return True
    shares = (
        uniform(network.seed, author_of(post.root), 0, Draw.SPEED, post.origin),
        uniform(network.seed, agent, post.author, Draw.RESPONSE, post.origin),
    )
    of_original, of_person = (normal.inv_cdf(share) for share in shares)
    ticks = settings.response * math.exp(settings.speed_sigma * of_original + settings.response_sigma * of_person)
    return tick - post.created >= ticks


def _candidates(
    network: Network, agent: int, numbers: Sequence[int], seen: Sequence[int], tick: int
) -> list[Candidate]:
    """Return the posts that are remembered, not by the agent and of no cascade that it has seen.

    With repeated exposure, a copy by another followed person of a cascade without the agent's engagement is one too.
    """
    again, found, cascades = network.feed.exposure != "once", [], cascades_of(network)
    for each in numbers:
        post = network.living.get(each)
        if post is None or post.author == agent or not has_come(network, agent, post, tick):
            continue
        is_again = again and follows(network, agent, post.author) and is_new(network, agent, post)
        if post.root not in seen or is_again:
            found.append(Candidate(post, cascades[post.root].engagements))
    return found


def is_new(network: Network, agent: int, post: Post) -> bool:
    """Return whether a post is another exposure: of a cascade shown before, not engaged with, by somebody else.

    What was shown before exposures were kept, as in the past of a fork, is no exposure: it is not shown again.
    """
    shown = zip(roots_in(network, "exposed", agent), network.state.ring("exposed_posts").of(agent), strict=True)
    before = [author_of(each) for root, each in shown if root == post.root]
    return bool(before) and post.author not in before and post.root not in roots_in(network, "engaged", agent)


def sampled(
    origins: NDArray[np.uint64], part_size: int, count: int, seed: int, agent: int, round_start: int
) -> NDArray[np.intp]:
    """Return the places, ascending, of a sample for one reader and round; of all, if there are not more.

    One original more or less changes at most one place of it, unless the number of parts changes.
    """
    places, bits = np.arange(len(origins)), max(0, -(-len(origins) // part_size) - 1).bit_length()
    if bits:
        part = integer(1 << bits, seed, agent, round_start, Draw.FEED_PART)
        places = np.flatnonzero((mixed(origins, seed, Draw.FEED_PART) >> np.uint64(64 - bits)) == part)
    return np.asarray(places[sample(origins[places], count, seed, agent, round_start, Draw.FEED_POOL)])


def sample(keys: NDArray[np.uint64], count: int, seed: int, agent: int, tick: int, draw: int) -> NDArray[np.intp]:
    """Return the indexes, ascending, of `count` keys drawn without repeats; of all keys if there are not more.

    Those with the smallest hashes are drawn, so the luck of a key does not depend on the other keys: with one key more
    or less, at most one place of the sample changes.

    Source: bottom-k samples, Cohen & Kaplan, "Summarizing data using bottom-k sketches" (2007); the hash is SplitMix64,
    Steele, Lea & Flood, "Fast splittable pseudorandom number generators" (2014).

    Args:
        keys: what can be drawn; all different, or equal ones are drawn together.
        count: how many to draw, 0 or more; seed, agent, tick, draw: as in `uniform`.
    """
    if count >= len(keys):
        return np.arange(len(keys))
    return np.sort(np.argpartition(mixed(keys, seed, draw, agent, tick), count)[:count])


def mixed(keys: NDArray[np.uint64], seed: int, draw: int, agent: int = WORLD, tick: int = 0) -> NDArray[np.uint64]:
    """Return 64 random bits for each key, a pure function of the key and the other arguments: SplitMix64."""
    bits = (keys ^ np.uint64(integer(1 << 64, seed, agent, tick, draw))) + np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
    return np.asarray(bits ^ (bits >> np.uint64(31)))


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
    return (post.origin + (post.author << 1)) * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF


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


def popularity(engagements: int, half: float) -> float:
    """Return social proof between 0 and 1: n / (n + half)."""
    return engagements / (engagements + half)


def topic_match(interests: tuple[str, ...], topics: tuple[str, ...]) -> float:
    """Return the share of the topics that are among the interests; 0 for a post without topics."""
    if len(topics) == 1:  # nearly always
        return 1.0 if topics[0] in interests else 0.0
    return sum(topic in interests for topic in topics) / len(topics) if topics else 0.0
