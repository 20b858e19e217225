from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import igraph
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.config.model import GraphConfig
from prism.errors import ConfigError
from prism.rng import GraphRandom
from prism.social.kernels.graph_kernel import friendships
from prism.social.ties.graph import FollowGraph, generate
from tests.catalogue import catalogue

PAIRS = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)))
GENERATORS: list[Any] = ["barabasi_albert", "stochastic_block", "watts_strogatz"]


def build(size: int, ties: list[tuple[int, int]], *, mutual: bool = False) -> FollowGraph:
    return FollowGraph(size, [tie[0] for tie in ties], [tie[1] for tie in ties], mutual=mutual)


def ties_of(graph: FollowGraph) -> list[tuple[int, int]]:
    return [(person, int(other)) for person in range(graph.size) for other in graph.following(person)]


def test_people_are_named_by_number_where_no_file_names_them() -> None:
    names = build(3, []).names
    assert (*names,) == ("0", "1", "2")
    assert (names[-1], names[1:], names.index("2"), "3" in names) == ("2", ("1", "2"), 2, False)
    with pytest.raises(IndexError):
        names[3]


def test_rows_cannot_be_written() -> None:
    with pytest.raises(ValueError, match="read-only"):
        build(3, [(0, 1)]).following(0)[0] = 2


@catalogue(
    ("follower", "followee", "names", "message"),
    [
        ([0, 1], [1], None, "follower and followee: expected equal lengths, got 2 and 1"),
        ([0], [3], None, "ties: expected people 0 to 2, got 3 to 3"),
        ([-1], [0], None, "ties: expected people 0 to 2, got -1 to -1"),
        ([0], [1], ["a"], "names: expected one for each of 3 people, got 1"),
    ],
)
def test_arrays_that_fit_no_graph_are_refused(
    follower: list[int], followee: list[int], names: list[str] | None, message: str
) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        FollowGraph(3, follower, followee, names=names)
    assert str(caught.value) == message


@given(PAIRS, st.booleans())
def test_a_graph_holds_exactly_the_ties_it_was_given(ties: list[tuple[int, int]], mutual: bool) -> None:
    graph = build(12, ties, mutual=mutual)
    expected = {(a, b) for a, b in ties if a != b}
    if mutual:
        expected |= {(b, a) for a, b in expected}
    assert ties_of(graph) == sorted(expected)
    assert graph.edges == len(expected)
    assert graph.edges // (1 + mutual) + graph.duplicates + graph.self_loops == len(ties)


@given(PAIRS)
def test_followers_and_followed_tell_the_same_story(ties: list[tuple[int, int]]) -> None:
    graph = build(12, ties)
    backwards = [(int(other), person) for person in range(12) for other in graph.followers(person)]
    assert sorted(backwards) == ties_of(graph)
    for person in range(12):
        assert graph.followers(person).tolist() == sorted(graph.followers(person).tolist())
        for other in range(12):
            assert graph.follows(person, other) == ((person, other) in set(ties_of(graph)))


@catalogue("kind", GENERATORS)
def test_a_generated_graph_has_the_configured_mean_degree_and_only_friendships(kind: Any) -> None:
    graph = generate(GraphConfig(kind=kind, degree=10), 1000, 1)
    assert graph.size == 1000
    assert graph.edges / 1000 == pytest.approx(10, rel=0.05)
    assert all(graph.follows(other, person) for person, other in ties_of(graph))
    assert graph.duplicates == graph.self_loops == 0


@catalogue("kind", [*GENERATORS, "power_law"])
def test_another_seed_makes_another_graph(kind: Any) -> None:
    config = GraphConfig(kind=kind)
    assert ties_of(generate(config, 100, 1)) != ties_of(generate(config, 100, 2))


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    """Four threads that take turns at every chance."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    with ThreadPoolExecutor(4) as pool:
        yield pool
    sys.setswitchinterval(interval)


def test_the_same_seed_makes_the_same_graph_while_other_threads_make_graphs(threads: ThreadPoolExecutor) -> None:
    kinds = [*GENERATORS, "power_law"]
    alone = [ties_of(generate(GraphConfig(kind=kind), 300, 7)) for kind in kinds]
    for _ in range(5):
        assert [
            ties_of(graph) for graph in threads.map(lambda kind: generate(GraphConfig(kind=kind), 300, 7), kinds)
        ] == alone


def test_the_share_of_ties_between_communities_is_the_mixing() -> None:
    graph = generate(GraphConfig(kind="stochastic_block", degree=20, blocks=4, mixing=0.25), 1000, 1)
    leaving = sum(person // 250 != other // 250 for person, other in ties_of(graph))
    assert leaving / graph.edges == pytest.approx(0.25, abs=0.02)


def test_without_rewiring_everyone_knows_the_nearest_on_the_ring() -> None:
    graph = generate(GraphConfig(kind="watts_strogatz", degree=4, rewiring=0.0), 10, 1)
    assert graph.following(0).tolist() == [1, 2, 8, 9]


@given(st.integers(0, 120), st.integers(1, 7), st.integers(0, 2**32))
def test_friendships_are_those_that_igraph_makes_of_the_same_draws(size: int, count: int, seed: int) -> None:
    igraph.set_random_number_generator(GraphRandom(seed))
    try:
        other = igraph.Graph.Barabasi(n=size, m=count, directed=False) if size else igraph.Graph()
    finally:
        igraph.set_random_number_generator(random)
    joins, befriended = friendships(size, count, seed)
    ours = zip(befriended.tolist(), joins.tolist(), strict=True)
    assert sorted(ours) == sorted((min(each), max(each)) for each in other.get_edgelist())


@catalogue("exponent", [2.1, 2.5, 3.5])
def test_the_followers_of_a_power_law_graph_have_its_exponent(exponent: float) -> None:
    graph = generate(GraphConfig(kind="power_law", degree=10, exponent=exponent, following_exponent=100.0), 5000, 1)
    assert graph.edges == 50_000
    followers = np.sort([len(graph.followers(person)) for person in range(5000)])[::-1]
    top = followers[:250]  # Hill (1975): the mean log excess over the smallest of the largest is 1 / (exponent - 1)
    assert 1.0 + 1.0 / np.log(top / top[-1]).mean() == pytest.approx(exponent, abs=0.35)
    assert max(len(graph.following(person)) for person in range(5000)) < 40


@catalogue(
    ("config", "size", "key", "problem"),
    [
        (GraphConfig(degree=10), 10, "degree", "expected graph.degree < the number of people, got 10 and 10"),
        (
            GraphConfig(kind="watts_strogatz", degree=7),
            50,
            "degree",
            "expected an even graph.degree for watts_strogatz, got 7",
        ),
        (
            GraphConfig(kind="power_law", degree=10),
            39,
            "degree",
            "expected graph.degree <= a quarter of the people for power_law, got 10 and 39",
        ),
        (
            GraphConfig(kind="stochastic_block", degree=11, blocks=10),
            100,
            "mixing",
            "stochastic_block wants 495 ties inside the communities, where 450 fit: raise mixing or lower degree",
        ),
        (GraphConfig(kind="profiles"), 100, "kind", "`profiles` is not a generator"),
    ],
)
def test_parameters_that_do_not_fit_are_a_config_error(config: GraphConfig, size: int, key: str, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        generate(config, size, 1)
    assert str(caught.value) == f"configuration: population.graph.{key}: {problem}"


def draws_after(act: Any) -> tuple[list[tuple[int, int]], float]:
    state = random.getstate()
    try:
        random.seed(1)
        act()
        return igraph.Graph.Erdos_Renyi(n=20, m=30).get_edgelist(), random.random()
    finally:
        random.setstate(state)


def test_igraph_draws_from_its_own_generator_again_afterwards() -> None:
    assert draws_after(lambda: generate(GraphConfig(kind="watts_strogatz"), 50, 1)) == draws_after(lambda: None)
