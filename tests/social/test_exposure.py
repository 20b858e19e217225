"""On a real follow graph authors with more followers are shown to more people, if no side of a feed fills the other."""

from __future__ import annotations

import gzip
import sys
from collections import Counter
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from prism import kernels
from prism.config import FeedConfig, GraphConfig
from prism.rng import uniform
from prism.scorecard.social import rank_correlation
from prism.social.network import Network
from prism.social.people.population import Population
from prism.social.posts.post import author_of
from prism.social.ties.edges import parse_edges
from prism.social.ties.graph import FollowGraph
from tests.paths import real_path
from tests.social.in_view import opened_by
from tests.social.people import persona

GRAPH = "snap-higgs-follow-sample.txt.gz"
TICKS, WRITES = 12, 0.05
READS = {"strict": 0.45, "borrow": 0.15}
"""The shares of the people who read. With fewer readers, chance blurs the order of numbers that few authors have."""


def exposures(graph: FollowGraph, fill: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how often each author's posts are shown, and how many they have written.

    One person in twenty writes, whoever they are; then a share of the people open a feed.
    """
    feed = FeedConfig(algorithm="random", fill=fill)
    network = Network(Population(personas=(persona(),) * graph.size, graph=graph), feed, seed=1, ticks_per_round=TICKS)
    shown, written = Counter[int](), np.zeros(graph.size, dtype=np.int64)
    for author in range(graph.size):
        if uniform(1, author, 0, 998) < WRITES:
            network.publish(author, 0)
            written[author] += 1
    readers = np.array([reader for reader in range(graph.size) if uniform(1, reader, 0, 999) < READS[fill]])
    for posts in opened_by(network, readers, 1):
        shown.update(map(author_of, posts))
    return np.array([shown[author] for author in range(graph.size)]), written


def by_followers(graph: FollowGraph, fill: Any) -> tuple[float, list[tuple[int, int, float]]]:
    """Return Spearman's correlation of followers and showings a post, and `(from, to, showings)` by followers.

    The correlation is over numbers of followers that at least five authors have: of the mean of their showings a post.
    """
    shown, written = exposures(graph, fill)
    followers = np.array([len(graph.followers(person)) for person in range(graph.size)])
    found = []
    for number in np.unique(followers):
        those = (followers == number) & (written > 0)
        if those.sum() >= 5:
            found.append((number, shown[those].sum() / written[those].sum()))
    groups = []
    for low, high in ((0, 0), (1, 2), (3, 9), (10, 29), (30, 99), (100, 10**6)):
        those = (followers >= low) & (followers <= high) & (written > 0)
        if those.any():
            groups.append((low, high, float(shown[those].sum() / written[those].sum())))
    return rank_correlation(*map(np.array, zip(*found, strict=True))), groups


@pytest.mark.slow
@pytest.mark.skipif(not kernels.are_wanted(10**9), reason="it takes many minutes in plain Python")
def test_exposure_rises_with_followers_on_a_real_graph() -> None:
    kernels.compile_kernels()
    graph = parse_edges(gzip.decompress(real_path(GRAPH).read_bytes()), GRAPH, GraphConfig(directed=True))
    strict, groups = by_followers(graph, "strict")
    borrowed, others = by_followers(graph, "borrow")
    for fill, correlation, rows in (("strict", strict, groups), ("borrow", borrowed, others)):
        means = ", ".join(f"{low} to {high}: {mean:.1f}" for low, high, mean in rows)
        sys.stdout.write(f"{fill}: Spearman {correlation:.3f}; showings a post by followers: {means}\n")
    assert strict >= 0.8
    rising = [mean for _, _, mean in groups]
    assert rising == sorted(rising)
    assert rising[-2] > 2 * rising[0]
    assert borrowed < 0.5, "with `borrow` authors without followers are shown as often"
