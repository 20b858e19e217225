from __future__ import annotations

import math
from collections.abc import Callable
from random import Random

import numpy as np
import pytest
from msgspec.structs import replace

from prism.columns import Columns, Ints
from prism.config import FeedConfig
from prism.social.network import Network
from prism.social.people.population import Population
from prism.social.posts.cascade import Cascade, CascadeSize
from prism.social.posts.post import NO_POST, Post, post_id
from prism.social.tables import ENGAGEMENTS, TOUCHED
from prism.social.ties.graph import FollowGraph
from tests.catalogue import catalogue
from tests.social.people import persona

ADA, BO = range(2)
"""Ada writes originals only, so their ids are the numbers of their cascades. Bo answers."""


def network() -> Network:
    people = Population(personas=(persona(),) * 2, graph=FollowGraph(2, [], []))
    return Network(people, FeedConfig(), seed=1, ticks_per_round=10)


def reply(net: Network, post: int, tick: int = 0) -> int:
    """Let Bo answer a post, and return the id of the answer."""
    net.reply(BO, post, tick)
    answer: Post = [*net.living][-1]
    return answer.id


def engage(net: Network, cascades: Ints, tick: int) -> None:
    """Engage cascades, by number, as a like of each does."""
    rows = net.state.cascade_rows(cascades)
    net.state.t.cascades[rows, TOUCHED] = tick
    net.state.t.cascades[rows, ENGAGEMENTS] += 1


def number_of(net: Network, root: int) -> int:
    return int(net.state.cascade_numbers(np.array([root]))[0])


def test_a_chain_grows_deep_and_a_star_grows_wide_and_a_like_engages_only() -> None:
    net = network()
    net.publish(ADA, 0)
    assert net.cascades[0] == Cascade(root=0, touched=0, posts=1, depth=0, engagements=0)
    assert (0 in net.cascades, 5 in net.cascades, len(net.cascades)) == (True, False, 1)
    assert (net.cascades.largest, net.cascades.deepest, net.cascades.branched) == (CascadeSize(-1, 0, 0), 0, 0)
    reply(net, reply(net, 0, 1), 2)
    reply(net, 0, 3)
    net.like(BO, 0, 12)
    assert net.cascades[0] == Cascade(root=0, touched=12, posts=4, depth=2, engagements=4)
    assert (net.cascades.largest, net.cascades.deepest, net.cascades.branched) == (CascadeSize(0, 4, 2), 2, 1)


def test_more_posts_make_a_larger_cascade_then_more_depth() -> None:
    net = network()
    first, second = (net.publish(ADA, 0).id for _ in range(2))
    reply(net, first)
    child = reply(net, second)
    assert net.cascades.largest.root == first
    reply(net, first)
    reply(net, child)
    assert net.cascades.largest == CascadeSize(second, 3, 2)


def test_rows_of_forgotten_cascades_are_dropped_and_numbers_stay() -> None:
    net = network()
    for tick in range(10):
        net.publish(ADA, tick)
    net.like(BO, 1, 20)
    net.cascades.retire(8)
    assert [cascade.root for cascade in net.cascades] == [1, 8, 9]
    assert net.cascades.roots()(np.array([0, 1, 7, 8, 9])).tolist() == [NO_POST, 1, NO_POST, 8, 9]
    net.cascades.retire(9)
    net.like(BO, 9, 21)
    net.cascades.retire(21)
    assert [number_of(net, root) for root in (1, 8, 9)] == [NO_POST, NO_POST, 9]
    assert net.cascades.roots()(np.array([0, 1, 8, 9])).tolist() == [NO_POST, NO_POST, NO_POST, 9]
    net.publish(ADA, 22)
    net.like(BO, 10, 23)
    assert (number_of(net, 10), net.cascades[10].engagements, net.cascades[9].engagements) == (10, 1, 1)
    net.cascades.retire(30)
    assert (len(net.cascades), net.cascades.sizes()) == (0, {1: 11})
    net.publish(ADA, 30)
    assert (number_of(net, 11), net.cascades[11]) == (11, Cascade(root=11, touched=30))


@catalogue("seed", range(3))
def test_the_table_of_cascades_says_what_a_plain_dictionary_says(seed: int) -> None:
    random, net, count = Random(seed), network(), 0
    plain: dict[int, Cascade] = {}
    every = random.choice((3, 50))
    for tick in range(100):
        for _ in range(random.choice((0, 3, 12))):
            net.publish(ADA, tick)
            plain[count] = Cascade(root=count, touched=tick)
            count += 1
        lasting = [root for root in plain if root % every == 0]
        engage(net, np.array(lasting, dtype=np.int64), tick)
        liked = random.choices([*plain] or [0], k=3 if plain else 0)
        for root in liked:
            net.like(BO, root, tick)
        for root in [*lasting, *liked]:
            plain[root] = replace(plain[root], touched=tick, engagements=plain[root].engagements + 1)
        net.cascades.retire(tick - 10)
        plain = {root: cascade for root, cascade in plain.items() if cascade.touched >= tick - 10}
        assert list(net.cascades) == list(plain.values())
        asked = np.array([-1, *range(count), count])
        expected = [root if root in plain else NO_POST for root in range(count)]
        assert net.cascades.roots()(asked).tolist() == [NO_POST, *expected, NO_POST]
        assert net.state.cascade_numbers(np.array([post_id(BO, 0), *plain])).tolist() == [NO_POST, *plain]
        assert {*net.cascades.sizes()} <= {1}
        assert sum(net.cascades.sizes().values()) == count
    assert count > len(plain) > len(lasting) > 1
    again = network()
    again.cascades.restore(Columns(net.cascades.columns()))
    assert [*again.cascades] == [*net.cascades]
    assert again.cascades.totals() == net.cascades.totals()


LIFETIMES: dict[str, Callable[[int, Random], float]] = {
    "every 50th lasts": lambda number, _: 0 if number % 50 else math.inf,
    "the first 500 last": lambda number, _: math.inf if number < 500 else 0,
    "a few for very long": lambda _, random: random.paretovariate(0.7),
    "all are short": lambda _, __: 0,
    "all last": lambda _, __: math.inf,
}
"""Ticks for which the cascade of a number is engaged."""


@pytest.mark.everyday(1)
@pytest.mark.parametrize("name", LIFETIMES)
def test_the_table_is_at_most_twice_as_long_as_the_living_cascades_in_a_long_run(name: str) -> None:
    random, net, number = Random(4), network(), 0
    ends: dict[int, float] = {}
    for tick in range(600):
        for _ in range(5):
            net.publish(ADA, tick)
            ends[number] = tick + LIFETIMES[name](number, random)
            number += 1
        ends = {root: end for root, end in ends.items() if end > tick}
        if tick % 5 == 0:
            engage(net, np.array([*ends], dtype=np.int64), tick)
        net.cascades.retire(tick - 10)
        assert net.cascades.length <= 2 * len(net.cascades)
    assert net.state.cascade_numbers(np.array([*ends], dtype=np.int64)).tolist() == [*ends]
    assert sum(net.cascades.sizes().values()) == number
