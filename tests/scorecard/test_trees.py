from __future__ import annotations

import igraph
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.scorecard import Tree, above_all, shapes_of


@st.composite
def parent_lists(draw: st.DrawFn) -> tuple[int, ...]:
    size = draw(st.integers(1, 40))
    return (-1, *(draw(st.integers(0, place - 1)) for place in range(1, size)))


def tree(parents: tuple[int, ...]) -> Tree:
    return Tree(parents, tuple(float(place) for place in range(len(parents))))


@given(st.lists(parent_lists(), min_size=1, max_size=4))
def test_shapes_are_those_of_a_graph_library(cascades: list[tuple[int, ...]]) -> None:
    found = shapes_of([*map(tree, cascades)])
    for place, parents in enumerate(cascades):
        graph = igraph.Graph(len(parents), [(place, parent) for place, parent in enumerate(parents) if parent >= 0])
        depths = graph.distances(source=0)[0]
        assert (found.size[place], found.depth[place]) == (len(parents), max(depths))
        assert found.breadth_share[place] == max(depths.count(depth) for depth in depths) / len(parents)
        assert found.virality[place] == pytest.approx(graph.average_path_length() if len(parents) > 1 else 0.0)
        assert found.half_minutes[place] == (len(parents) - 1) // 2


def test_the_way_up_from_each_post_is_to_its_original() -> None:
    roots, depths = above_all(np.array([-1, -1, 0, 2, 1]))
    assert (roots.tolist(), depths.tolist()) == ([0, 1, 0, 0, 1], [0, 0, 1, 2, 1])
