"""The originals of everybody: each is as likely to be sampled, however many there are."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from prism.config import FeedConfig
from prism.social.network import Network
from prism.social.people.population import Population
from prism.social.posts.post import origin_of
from prism.social.ties.graph import FollowGraph
from tests.catalogue import catalogue
from tests.social.in_view import opened
from tests.social.people import persona
from tests.social.scalar_feed import pool_of, roots_in, sampled


def origins(count: int) -> NDArray[np.uint64]:
    return np.array([origin_of(author, 0, 0) for author in range(count)], dtype=np.uint64)


def strangers(people: int, **feed: Any) -> Network:
    """Return a network of people of whom nobody follows anybody, and whose feeds have room for the whole sample."""
    settings = {"out_of_network": 1.0, "algorithm": "chronological", "size": 20, "pool": 20, **feed}
    population = Population(personas=(persona(),) * people, graph=FollowGraph(people, [], []))
    return Network(population, FeedConfig(**settings), seed=1, ticks_per_round=24)


@pytest.mark.everyday(1)
@pytest.mark.parametrize("count", [501, 3000])
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


@catalogue("recent", [30, 100])
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


def test_a_reader_has_another_part_in_each_round_and_the_same_one_twice() -> None:
    kept = origins(1000)
    rounds = [sampled(kept, 100, 1000, 1, 5, start).tolist() for start in range(0, 240, 24)]
    assert rounds == [sampled(kept, 100, 1000, 1, 5, start).tolist() for start in range(0, 240, 24)]
    assert len(set(map(tuple, rounds))) > 4
