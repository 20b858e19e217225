"""A feed as docs/people.md defines it, built one post at a time: what the feeds of a run are compared with."""

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from prism.rng import WORLD, Draw, integer, uniform
from prism.social.network import Network
from prism.social.posts.post import Post, author_of
from prism.social.tables import NEWEST, OLDEST, SHOWN_ALL, SHOWN_OUTSIDE
from tests.social.acts import cascades_of, opened, roots_of

Row = tuple[float, int, int, int, int]  # the score, tick, hash, id and root of a post: the largest is shown first


def feed_for(network: Network, agent: int, tick: int) -> list[int]:
    """Return the ids of the posts to show a person, first to last, and remember that they were shown.

    The feed is the one that a run builds, and it is the same as the one that is built here.
    """
    expected, counts = built_feed(network, agent, tick), network.state.t.counts.feeds
    before = counts.copy()
    shown = opened(network, agent, tick)
    every, outside = (counts - before)[[SHOWN_ALL, SHOWN_OUTSIDE]].tolist()
    assert (shown, every - outside, outside) == expected
    return shown


def built_feed(network: Network, agent: int, tick: int) -> tuple[list[int], int, int]:
    """Return the ids of a person's feed, and how many are from people whom they follow and from others."""
    feed = network.feed
    # 1. Of each cascade the best candidate; none of a cascade of the own side from others.
    own = candidates(network, agent, network.state.ring("timeline").of(agent), tick)
    wanted = round(feed.size * feed.out_of_network)
    if feed.fill == "share":
        wanted = shared_places(network, agent, tick, len({row[4] for row in own}))
    pool = pool_of(network, agent, tick) if wanted else ()
    others = [row for row in candidates(network, agent, pool, tick) if not follows(network, agent, author_of(row[3]))]
    inside = {row[4]: row for row in sorted(own)}
    outside = {row[4]: row for row in sorted(others) if row[4] not in inside}
    # 2. As many of each as there are places.
    if feed.fill == "borrow":
        wanted = min(len(outside), max(wanted, feed.size - len(inside)))
    first = sorted(inside.values(), reverse=True)[: feed.size - wanted]
    second = sorted(outside.values(), reverse=True)[:wanted]
    return [row[3] for row in sorted((*first, *second), reverse=True)], len(first), len(second)


def shared_places(network: Network, agent: int, tick: int, own: int) -> int:
    """Return the places for strangers beside so many posts of one's own side: whole ones, with their share as mean."""
    size, share = network.feed.size, network.feed.out_of_network
    mean = size * share
    if share < 1:
        mean = min(mean, own * size * share / (size - size * share))
    return math.floor(mean + uniform(network.seed, agent, tick - tick % network.ticks_per_round, Draw.FEED_SHARE))


def candidates(network: Network, agent: int, numbers: Sequence[int], tick: int) -> list[Row]:
    """Return the posts that are remembered, not by the agent and of no cascade that it has seen.

    With repeated exposure, a copy by another followed person of a cascade without the agent's engagement is one too.
    """
    seen, cascades, found = roots_in(network, "seen", agent), cascades_of(network), []
    for each in numbers:
        post = network.living.get(each)
        if post is None or post.author == agent or not has_come(network, agent, post, tick):
            continue
        is_again = network.feed.exposure != "once" and follows(network, agent, post.author)
        if post.root not in seen or (is_again and is_new(network, agent, post)):
            score = score_of(network, agent, tick, post, cascades[post.root].engagements)
            luck = (post.origin + (post.author << 1)) * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF
            found.append((score, post.created, luck, post.id, post.root))
    return found


def score_of(network: Network, agent: int, tick: int, post: Post, engagements: int) -> float:
    """Return the score of a post for a person by the algorithm of the feed."""
    feed, start = network.feed, tick - tick % network.ticks_per_round
    match feed.algorithm:
        case "chronological":
            return float(post.created)
        case "hot":
            freshness = feed.hot_rounds * network.ticks_per_round
            return math.log10(max(1, engagements)) + post.created / freshness
        case "interest":
            interests = network.population.personas[agent].interests
            match_ = sum(topic in interests for topic in post.topics) / max(1, len(post.topics))
            popularity = engagements / (engagements + network.state.t.settings.popularity_half)
            return match_ + popularity * feed.popularity_weight
    return uniform(network.seed, agent, start, Draw.FEED_ORDER, post.origin)


def follows(network: Network, person: int, other: int) -> bool:
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


def is_new(network: Network, agent: int, post: Post) -> bool:
    """Return whether a post is another exposure: of a cascade shown before, not engaged with, by somebody else.

    What was shown before exposures were kept, as in the past of a fork, is no exposure: it is not shown again.
    """
    shown = zip(roots_in(network, "exposed", agent), network.state.ring("exposed_posts").of(agent), strict=True)
    before = [author_of(each) for root, each in shown if root == post.root]
    return bool(before) and post.author not in before and post.root not in roots_in(network, "engaged", agent)


def pool_of(network: Network, agent: int, tick: int) -> list[int]:
    """Return a sample of the originals for a person and round, by number, without repeats.

    One original more or less changes at most one place of it, unless the number of parts changes.
    """
    t, counts, feed = network.state.t, network.state.t.counts.originals, network.feed
    numbers = t.originals[counts[OLDEST] : counts[NEWEST]]
    origins = t.posts["origin"][network.living.rows(numbers)].astype(np.uint64)
    start = tick - tick % network.ticks_per_round
    bits = max(0, -(-len(origins) // feed.recent) - 1).bit_length()
    if bits:
        part = integer(1 << bits, network.seed, agent, start, Draw.FEED_PART)
        is_in = (mixed(origins, network.seed, Draw.FEED_PART) >> np.uint64(64 - bits)) == part
        numbers, origins = numbers[is_in], origins[is_in]
    pool: list[int] = numbers[sample(origins, feed.pool, network.seed, agent, start, Draw.FEED_POOL)].tolist()
    return pool


def sample(keys: NDArray[np.uint64], count: int, seed: int, agent: int, tick: int, draw: int) -> NDArray[np.intp]:
    """Return the indexes, ascending, of the `count` keys with the smallest hashes; of all keys if there are not more.

    Source: bottom-k samples, Cohen & Kaplan, "Summarizing data using bottom-k sketches" (2007); the hash is SplitMix64,
    Steele, Lea & Flood, "Fast splittable pseudorandom number generators" (2014).
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
