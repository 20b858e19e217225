"""Follow graphs: from ties, from generators, and with a share of ties between equals."""

import random
import subprocess
import sys
from typing import Any

import igraph
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.config import Config
from prism.config.model import GraphConfig
from prism.errors import ConfigError, SettingError
from prism.rng import GraphRandom
from prism.social.ties.graph import FollowGraph, generate, is_mutual, power_law_ties, wired
from tests.catalogue import catalogue

PAIRS = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)))
GENERATORS: list[Any] = ["barabasi_albert", "stochastic_block", "watts_strogatz"]


def build(size: int, ties: list[tuple[int, int]], *, mutual: bool = False) -> FollowGraph:
    return FollowGraph(size, [tie[0] for tie in ties], [tie[1] for tie in ties], mutual=mutual)


def ties_of(graph: FollowGraph) -> list[tuple[int, int]]:
    return [(person, int(other)) for person in range(graph.size) for other in graph.following(person)]


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


@given(
    size=st.integers(8, 400),
    share=st.floats(0, 0.25),
    exponents=st.tuples(*[st.one_of(st.floats(2, 4), st.sampled_from([2.0, 100.0]))] * 2),
    seed=st.integers(0, 2**63 - 1),
)
def test_a_power_law_graph_is_that_of_igraph(
    size: int, share: float, exponents: tuple[float, float], seed: int
) -> None:
    ties = size * max(1, int(share * size))
    igraph.set_random_number_generator(GraphRandom(seed))
    try:
        other = igraph.Graph.Static_Power_Law(
            size, ties, exponent_out=exponents[0], exponent_in=exponents[1], finite_size_correction=False
        )
    finally:
        igraph.set_random_number_generator(random)
    ours = power_law_ties(size, ties, *exponents, seed)
    assert [*zip((ours // size).tolist(), (ours % size).tolist(), strict=True)] == sorted(other.get_edgelist())


def test_parameters_that_do_not_fit_are_a_config_error() -> None:
    for config, problem in (
        (GraphConfig(degree=10), "degree: expected graph.degree < the number of people, got 10 and 10"),
        (GraphConfig(kind="profiles"), "kind: `profiles` is not a generator"),
    ):
        with pytest.raises(ConfigError) as caught:
            generate(config, 10, 1)
        assert str(caught.value) == f"configuration: population.graph.{problem}"


def test_igraph_is_imported_without_the_plotting_libraries_that_it_looks_for() -> None:
    code = """
import sys
from prism.imports import load_igraph
load_igraph()
assert {"matplotlib", "plotly", "wcwidth"}.isdisjoint(sys.modules)
import matplotlib
"""
    subprocess.run([sys.executable, "-c", code], check=True)


KINDS: list[Any] = ["barabasi_albert", "power_law", "stochastic_block", "watts_strogatz"]
PARTIES: dict[str, Any] = {"party": {"type": "text", "values": ["left", "right", "centre"], "weights": [5, 3, 2]}}
FEW = st.lists(st.tuples(st.integers(0, 14), st.integers(0, 14)), max_size=60)


def degrees_of(graph: FollowGraph) -> tuple[list[int], list[int]]:
    tails, heads = graph.ties()
    return np.bincount(tails, minlength=graph.size).tolist(), np.bincount(heads, minlength=graph.size).tolist()


def share_within(graph: FollowGraph, values: Any) -> float:
    tails, heads = graph.ties()
    return float(np.mean(values[tails] == values[heads]))


@catalogue("kind", KINDS)
@catalogue("share", [0.2, 0.6, 0.9])
def test_the_share_comes_out_and_everybody_keeps_their_numbers(kind: Any, share: float) -> None:
    config = GraphConfig(kind=kind, degree=10)
    before = generate(config, 600, 3)
    values = np.array(["left", "right", "centre"])[np.random.default_rng(1).choice(3, 600, p=[0.5, 0.3, 0.2])]
    after, found = wired(before, values, "party", share, 3, mutual=is_mutual(config))
    assert degrees_of(after) == degrees_of(before)
    assert share_within(after, values) == pytest.approx(share, abs=0.001) == found.realised
    assert found.by_chance == pytest.approx(share_within(before, values))


@given(pairs=FEW, share=st.floats(0, 1), mutual=st.booleans(), groups=st.integers(1, 4), seed=st.integers(0, 5))
def test_swaps_keep_every_degree_and_never_lead_away_from_the_share(
    pairs: list[tuple[int, int]], share: float, mutual: bool, groups: int, seed: int
) -> None:
    before = build(15, pairs, mutual=mutual)
    values = np.arange(15) % groups
    after, found = wired(before, values, "group", share, seed, mutual=mutual)
    assert degrees_of(after) == degrees_of(before)
    assert (after.edges, after.self_loops, after.duplicates) == (before.edges, 0, 0)
    assert not mutual or {(head, tail) for tail, head in ties_of(after)} == {*ties_of(after)}
    assert round(abs(found.realised - share), 9) <= round(abs(found.by_chance - share), 9)


@catalogue(
    ("graph", "problem"),
    [
        ({"homophily": {"by": "party"}}, "needs population.graph.homophily.share: expected a value"),
        ({"homophily": {"by": "partie", "share": 0.5}}, "no attribute 'partie': did you mean party?"),
        ({"homophily": {"by": "age", "share": 0.5}}, "expected an attribute of type text or bool, got age of type int"),
        ({"homophily": {"by": "party", "share": 0.5}, "path": "ties.csv"}, "it is for generated ties"),
    ],
)
def test_a_homophily_that_cannot_be_is_refused(graph: dict[str, Any], problem: str) -> None:
    attributes = {**PARTIES, "age": {"type": "int", "min": 1, "max": 9}}
    sections: dict[str, Any] = {"population": {"attributes": attributes, "graph": graph}}
    with pytest.raises(SettingError) as refused:
        Config(**sections)
    assert problem in str(refused.value)
