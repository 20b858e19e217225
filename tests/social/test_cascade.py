from __future__ import annotations

import math
from collections.abc import Callable
from random import Random

import numpy as np
import pytest

from prism.columns import Columns, Ints
from prism.config import FeedConfig
from prism.social.network import Network
from prism.social.people.population import Population
from prism.social.posts.cascade import CascadeSize
from prism.social.posts.post import NO_POST
from prism.social.tables import ENGAGEMENTS, TOUCHED
from prism.social.ties.graph import FollowGraph
from tests.catalogue import catalogue
from tests.social.acts import Cascade, cascades_of, like, publish, reply, roots_of
from tests.social.people import persona

ADA, BO = range(2)
"""Ada writes originals only, so their ids are the numbers of their cascades. Bo answers."""


def network() -> Network:
    people = Population(personas=(persona(),) * 2, graph=FollowGraph(2, [], []))
    return Network(people, FeedConfig(), seed=1, ticks_per_round=10)


def answer(net: Network, post: int, tick: int = 0) -> int:
    """Let Bo answer a post, and return the id of the answer."""
    reply(net, BO, post, tick)
    *_, made = net.living
    return made.id


def engage(net: Network, cascades: Ints, tick: int) -> None:
    """Engage cascades, by number, as a like of each does."""
    rows = net.state.cascade_rows(cascades)
    net.state.t.cascades[rows, TOUCHED] = tick
    net.state.t.cascades[rows, ENGAGEMENTS] += 1


def test_more_posts_make_a_larger_cascade_then_more_depth() -> None:
    net = network()
    first, second = (publish(net, ADA, 0).id for _ in range(2))
    assert net.cascades.largest == CascadeSize(-1, 0, 0)
    answer(net, first)
    child = answer(net, second)
    assert net.cascades.largest.root == first
    answer(net, first)
    answer(net, child)
    assert net.cascades.largest == CascadeSize(second, 3, 2)
    assert (net.cascades.deepest, net.cascades.branched) == (2, 2)


@catalogue("seed", range(3))
def test_the_table_of_cascades_says_what_a_plain_dictionary_says(seed: int) -> None:
    random, net, count = Random(seed), network(), 0
    plain: dict[int, Cascade] = {}
    every = random.choice((3, 50))
    for tick in range(100):
        for _ in range(random.choice((0, 3, 12))):
            publish(net, ADA, tick)
            plain[count] = Cascade(root=count, touched=tick)
            count += 1
        lasting = [root for root in plain if root % every == 0]
        engage(net, np.array(lasting, dtype=np.int64), tick)
        liked = random.choices([*plain] or [0], k=3 if plain else 0)
        for root in liked:
            like(net, BO, root, tick)
        for root in [*lasting, *liked]:
            plain[root] = plain[root]._replace(touched=tick, engagements=plain[root].engagements + 1)
        net.cascades.retire(tick - 10)
        plain = {root: cascade for root, cascade in plain.items() if cascade.touched >= tick - 10}
        assert [*cascades_of(net).values()] == [*plain.values()]
        expected = [root if root in plain else NO_POST for root in range(count)]
        assert roots_of(net, [-1, *range(count), count]) == [NO_POST, *expected, NO_POST]
        assert {*net.cascades.sizes()} <= {1}
        assert sum(net.cascades.sizes().values()) == count
    assert count > len(plain) > len(lasting) > 1
    again = network()
    again.cascades.restore(Columns(net.cascades.columns()))
    assert cascades_of(again) == cascades_of(net)
    assert roots_of(again, [*range(count)]) == expected
    assert again.cascades.totals() == net.cascades.totals()


LIFETIMES: dict[str, Callable[[int, Random], float]] = {
    "the first 500 last": lambda number, _: math.inf if number < 500 else 0,
    "a few for very long": lambda _, random: random.paretovariate(0.7),
}
"""Ticks for which the cascade of a number is engaged."""


@pytest.mark.everyday(1)
@pytest.mark.parametrize("name", LIFETIMES)
def test_the_table_is_at_most_twice_as_long_as_the_living_cascades_in_a_long_run(name: str) -> None:
    random, net, number = Random(4), network(), 0
    ends: dict[int, float] = {}
    for tick in range(600):
        for _ in range(5):
            publish(net, ADA, tick)
            ends[number] = tick + LIFETIMES[name](number, random)
            number += 1
        ends = {root: end for root, end in ends.items() if end > tick}
        if tick % 5 == 0:
            engage(net, np.array([*ends], dtype=np.int64), tick)
        net.cascades.retire(tick - 10)
        assert net.cascades.length <= 2 * len(cascades_of(net))
    assert roots_of(net, [*ends]) == [*ends]
    assert sum(net.cascades.sizes().values()) == number
