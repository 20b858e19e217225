from __future__ import annotations

import igraph
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.scorecard import Tree, shape_of, trees_of

STAR, CHAIN = (-1, 0, 0, 0, 0), (-1, 0, 1, 2, 3)


@st.composite
def parent_lists(draw: st.DrawFn) -> tuple[int, ...]:
    size = draw(st.integers(1, 40))
    return (-1, *(draw(st.integers(0, place - 1)) for place in range(1, size)))


def tree(parents: tuple[int, ...]) -> Tree:
    return Tree(parents, tuple(float(place) for place in range(len(parents))))


@given(parent_lists())
def test_shapes_are_those_of_a_graph_library(parents: tuple[int, ...]) -> None:
    graph = igraph.Graph(len(parents), [(place, parent) for place, parent in enumerate(parents) if parent >= 0])
    depths = graph.distances(source=0)[0]
    found = shape_of(tree(parents))
    assert found.depth == max(depths)
    assert found.breadth_share == max(depths.count(depth) for depth in depths) / len(parents)
    assert found.virality == pytest.approx(graph.average_path_length() if len(parents) > 1 else 0.0)


def test_posts_become_the_trees_of_their_originals() -> None:
    found = trees_of([(7, 0, None), (8, 1, None), (9, 2, 7), (3, 4, 9), (4, 4, 8)], tick_minutes=2.0)
    assert found == {7: Tree((-1, 0, 1), (0.0, 4.0, 8.0)), 8: Tree((-1, 0), (0.0, 6.0))}


def test_a_post_below_an_unknown_one_is_refused() -> None:
    with pytest.raises(ValueError, match="post 2 has the parent 1, which is not among the posts before it"):
        trees_of([(2, 0, 1)], tick_minutes=1.0)
