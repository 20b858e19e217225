"""The originals of everybody: each is as likely to be sampled, however many there are."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from prism.config import FeedConfig, RelevanceConfig
from prism.social.network import Network
from prism.social.people.population import Population
from prism.social.posts.post import Post, origin_of, post_id
from prism.social.ties.graph import FollowGraph
from tests.social.in_view import opened
from tests.social.people import persona
from tests.social.scalar_feed import feed_for, luck, pool_of, roots_in, sampled


def original(author: int, tick: int = 0) -> Post:
    new = post_id(author, 0)
    return Post(id=new, author=author, text="", topics=(), created=tick, root=new, origin=origin_of(author, tick, 0))


def origins(count: int) -> NDArray[np.uint64]:
    return np.array([origin_of(author, 0, 0) for author in range(count)], dtype=np.uint64)


def strangers(people: int, **feed: Any) -> Network:
    """Return a network of people of whom nobody follows anybody, and whose feeds have room for the whole sample."""
    settings = {"out_of_network": 1.0, "algorithm": "chronological", "size": 20, "pool": 20, **feed}
    population = Population(personas=(persona(),) * people, graph=FollowGraph(people, [], []))
    return Network(population, FeedConfig(**settings), seed=1, ticks_per_round=24)


def test_of_few_originals_all_can_be_sampled() -> None:
    assert sampled(origins(100), 100, 100, 1, 7, 0).tolist() == [*range(100)]


@pytest.mark.everyday(1)
@pytest.mark.parametrize("count", [501, 1000, 3000])
def test_of_many_originals_a_part_is_sampled_and_over_readers_each_is_as_likely(count: int) -> None:
    kept, readers, seen, sizes = origins(count), 6000, Counter[int](), Counter[int]()
    for reader in range(readers):
        found = sampled(kept, 500, 20, 1, reader, 24).tolist()
        assert len(found) == len(set(found)) == 20
        seen.update(found)
        sizes[len(sampled(kept, 500, 1000, 1, reader, 24))] += 1
    mean = 20 * readers / count
    assert len(seen) == count
    assert max(seen.values()) < 1.8 * mean
    assert min(seen.values()) > 0.4 * mean
    assert 240 <= sum(size * times for size, times in sizes.items()) / readers <= 510
    first, second = (sum(seen[author] for author in half) for half in (range(count // 2), range(count // 2, count)))
    assert 0.9 < first / second < 1.1, "neither early nor late originals, nor low or high numbers, are shown more"


@pytest.mark.parametrize("recent", [30, 100])
def test_a_reader_is_shown_the_sample_that_the_definition_gives_whatever_has_been_forgotten(recent: int) -> None:
    net, random = strangers(60, recent=recent, horizon_rounds=2), Random(4)
    shown = Counter[int]()
    for tick in range(240):
        if tick % 24 == 0:
            net.retire(tick)
        for author in random.sample(range(40), random.choice((0, 1, 12))):
            net.publish(author, tick)
        reader = 40 + tick % 20
        pool = net.living.ids(np.array(pool_of(net, reader, tick), dtype=np.int64)).tolist()
        expected = {*pool} - {*roots_in(net, "seen", reader)}
        assert {*opened(net, reader, tick)} == expected
        shown.update(expected)
    assert len(shown) > 500


def test_changed_settings_of_a_sample_hold_for_the_next_feed() -> None:
    net = strangers(300, recent=500)
    for author in range(200):
        net.publish(author, 0)
    for reader, recent in zip(range(200, 300), (500, 3, 20, 500, 1) * 20, strict=True):
        net.use(FeedConfig(out_of_network=1.0, size=20, pool=20, recent=recent), RelevanceConfig())
        assert len(feed_for(net, reader, 1)) <= 20


def test_a_reader_has_another_part_in_each_round_and_the_same_one_twice() -> None:
    kept = origins(1000)
    rounds = [sampled(kept, 100, 1000, 1, 5, start).tolist() for start in range(0, 240, 24)]
    assert rounds == [sampled(kept, 100, 1000, 1, 5, start).tolist() for start in range(0, 240, 24)]
    assert len(set(map(tuple, rounds))) > 4


def test_one_original_more_changes_one_place_of_a_sample_at_most() -> None:
    before, after = origins(300), origins(301)
    for reader in range(200):
        found = ({*sampled(kept, 100, 10, 1, reader, 0).tolist()} for kept in (before, after))
        assert len(next(found) - next(found)) <= 1


def test_the_luck_of_equal_posts_does_not_follow_the_number_of_their_author() -> None:
    wins = sum(
        luck(original(author, tick)) > luck(original(author + step, tick))
        for author in range(100)
        for step in range(1, 30)
        for tick in range(20)
    )
    assert 0.45 < wins / (100 * 29 * 20) < 0.55
    assert len({luck(original(author, tick)) for author in range(1000) for tick in range(20)}) == 20_000
