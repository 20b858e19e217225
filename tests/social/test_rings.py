"""Rings keep the latest few numbers of every person, in whatever order and number these come."""

from __future__ import annotations

import random

import numpy as np

from prism.columns import Rows
from prism.config import FeedConfig, RelevanceConfig
from prism.social.network import Network
from prism.social.people.population import Population
from prism.social.ties.graph import FollowGraph
from prism.social.ties.rings import Rings
from tests.social.acts import publish
from tests.social.people import persona


def test_a_timeline_keeps_the_newest_posts_in_order_also_while_its_length_changes() -> None:
    draw = random.Random(1)  # a test
    for _ in range(10):
        size, depth = draw.randint(2, 6), draw.randint(1, 6)
        ties = [(draw.randrange(size), draw.randrange(size)) for _ in range(2 * size)]
        graph = FollowGraph(size, [tie[0] for tie in ties], [tie[1] for tie in ties])
        net = Network(Population(personas=(persona(),) * size, graph=graph), FeedConfig(memory=depth), 1, 10)
        kept: list[list[int]] = [[] for _ in range(size)]
        for number in range(60):
            if number % 20 == 19:
                depth = draw.randint(1, 8)
                net.use(FeedConfig(memory=depth), RelevanceConfig())
            author = draw.randrange(size)
            publish(net, author, number)
            for follower in graph.followers(author).tolist():
                kept[follower] = [*kept[follower], number][-depth:]
            assert [net.state.ring("timeline").of(person) for person in range(size)] == kept


def test_rings_are_filled_from_their_blocks_and_widened_without_a_loss() -> None:
    lists = {0: [4], 2: [7, 8, 9, 10, 11], 3: [1, 2]}
    rows = Rows(
        np.array([*lists]), np.array([1, 5, 2]), np.array([number for each in lists.values() for number in each])
    )
    ends, counts = np.zeros((2, 4), dtype=np.int64)
    rings = Rings(np.zeros((4, 5), dtype=np.int32), ends, counts)
    rings.fill(rows)
    assert [rings.of(person) for person in range(4)] == [lists.get(person, []) for person in range(4)]
    rings = Rings(rings.widened(9), ends, counts)
    assert [rings.of(person) for person in range(4)] == [lists.get(person, []) for person in range(4)]
    block = rings.some(range(4))
    assert [each.tolist() for each in block] == [each.tolist() for each in rows]
