"""The originals of everybody: each is as likely to be sampled, however many there are."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import numpy as np

from prism.config import FeedConfig
from prism.social.network import Network
from prism.social.people.population import Population
from prism.social.ties.graph import FollowGraph
from tests.catalogue import catalogue
from tests.social.acts import publish
from tests.social.in_view import opened
from tests.social.people import persona
from tests.social.scalar_feed import pool_of, roots_in


def strangers(people: int, **feed: Any) -> Network:
    """Return a network of people of whom nobody follows anybody, and whose feeds have room for the whole sample."""
    settings = {"out_of_network": 1.0, "algorithm": "chronological", "size": 20, "pool": 20, **feed}
    population = Population(personas=(persona(),) * people, graph=FollowGraph(people, [], []))
    return Network(population, FeedConfig(**settings), seed=1, ticks_per_round=24)


@catalogue("recent", [30, 100])
def test_a_reader_is_shown_the_sample_that_the_definition_gives_whatever_has_been_forgotten(recent: int) -> None:
    net, random = strangers(60, recent=recent, horizon_rounds=2), Random(4)
    shown = Counter[int]()
    for tick in range(240):
        if tick % 24 == 0:
            net.retire(tick)
        for author in random.sample(range(40), random.choice((0, 1, 12))):
            publish(net, author, tick)
        reader = 40 + tick % 20
        pool = net.living.ids(np.array(pool_of(net, reader, tick), dtype=np.int64)).tolist()
        expected = {*pool} - {*roots_in(net, "seen", reader)}
        assert {*opened(net, reader, tick)} == expected
        shown.update(expected)
    assert len(shown) > 500
