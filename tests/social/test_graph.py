from __future__ import annotations

import random
import subprocess
import sys
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
    assert sorted((int(one), other) for other in range(12) for one in graph.followers(other)) == sorted(expected)
    assert {(a, b) for a in range(12) for b in range(12) if graph.follows(a, b)} == expected
    assert graph.edges == len(expected)
    assert graph.edges // (1 + mutual) + graph.duplicates + graph.self_loops == len(ties)


@catalogue("kind", GENERATORS)
def test_a_generated_graph_has_the_configured_mean_degree_and_only_friendships(kind: Any) -> None:
    graph = generate(GraphConfig(kind=kind, degree=10), 1000, 1)
    assert graph.size == 1000
    assert graph.edges / 1000 == pytest.approx(10, rel=0.05)
    assert all(graph.follows(other, person) for person, other in ties_of(graph))
    assert graph.duplicates == graph.self_loops == 0


def test_the_share_of_ties_between_communities_is_the_mixing() -> None:
    graph = generate(GraphConfig(kind="stochastic_block", degree=20, blocks=4, mixing=0.25), 1000, 1)
    leaving = sum(person // 250 != other // 250 for person, other in ties_of(graph))
    assert leaving / graph.edges == pytest.approx(0.25, abs=0.02)


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


def test_igraph_is_imported_without_the_plotting_libraries_that_it_looks_for() -> None:
    code = """
import sys
from prism.social.ties.graph_library import PLOTTING_LIBRARIES, load_igraph
load_igraph()
assert PLOTTING_LIBRARIES.isdisjoint(sys.modules)
import matplotlib
"""
    subprocess.run([sys.executable, "-c", code], check=True)
