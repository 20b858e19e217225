"""Generated ties of which a given share joins equals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.config import Config
from prism.config.model import GraphConfig
from prism.errors import SettingError
from prism.social.people.homophily import wired
from prism.social.ties.graph import FollowGraph, generate, is_mutual
from tests.catalogue import catalogue

KINDS: list[Any] = ["barabasi_albert", "power_law", "stochastic_block", "watts_strogatz"]
PARTIES: dict[str, Any] = {"party": {"type": "text", "values": ["left", "right", "centre"], "weights": [5, 3, 2]}}
PAIRS = st.lists(st.tuples(st.integers(0, 14), st.integers(0, 14)), max_size=60)


def ties_of(graph: FollowGraph) -> list[tuple[int, int]]:
    return list(zip(*(ends.tolist() for ends in graph.ties()), strict=True))


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


@given(pairs=PAIRS, share=st.floats(0, 1), mutual=st.booleans(), groups=st.integers(1, 4), seed=st.integers(0, 5))
def test_swaps_keep_every_degree_and_never_lead_away_from_the_share(
    pairs: list[tuple[int, int]], share: float, mutual: bool, groups: int, seed: int
) -> None:
    before = FollowGraph(15, [one for one, _ in pairs], [other for _, other in pairs], mutual=mutual)
    values = np.arange(15) % groups
    after, found = wired(before, values, "group", share, seed, mutual=mutual)
    assert degrees_of(after) == degrees_of(before)
    assert (after.edges, after.self_loops, after.duplicates) == (before.edges, 0, 0)
    assert not mutual or {(head, tail) for tail, head in ties_of(after)} == {*ties_of(after)}
    assert round(abs(found.realised - share), 9) <= round(abs(found.by_chance - share), 9)


def test_a_share_that_cannot_be_reached_is_told() -> None:
    graph = FollowGraph(4, [0, 1], [2, 3], mutual=True)
    _, found = wired(graph, np.array([True, True, False, True]), "member", 1.0, 1, mutual=True)
    assert str(found) == (
        "population.graph.homophily: ties within the same member: asked 100.0%, came out 50.0%; by chance 50.0%"
    )


@catalogue(
    ("graph", "problem"),
    [
        ({"homophily": {"by": "party"}}, "expected both by and share, or neither: share is missing"),
        ({"homophily": {"by": "partie", "share": 0.5}}, "no attribute 'partie': did you mean party?"),
        ({"homophily": {"by": "age", "share": 0.5}}, "expected an attribute of type text or bool, got age of type int"),
        ({"homophily": {"by": "party", "share": 0.5}, "path": "ties.csv"}, "because the ties come from a file"),
    ],
)
def test_a_homophily_that_cannot_be_is_refused(graph: dict[str, Any], problem: str) -> None:
    attributes = {**PARTIES, "age": {"type": "int", "min": 1, "max": 9}}
    sections: dict[str, Any] = {"population": {"attributes": attributes, "graph": graph}}
    with pytest.raises(SettingError) as refused:
        Config(**sections)
    assert problem in str(refused.value)
