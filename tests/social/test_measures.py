"""Measures of people and their ties, against igraph, scipy and cases by hand."""

from __future__ import annotations

from typing import Any

import igraph
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from prism.social.measures import (
    bimodality,
    correlation,
    ei_index,
    ends_of,
    gini,
    modularity,
    nominal_assortativity,
    variance,
)
from prism.social.tables import Lists

PEOPLE = 8
TIES = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), min_size=2, max_size=40, unique=True)
GROUPS = st.lists(st.integers(0, 2), min_size=PEOPLE, max_size=PEOPLE)
NUMBERS = st.lists(st.integers(-50, 50), min_size=4, max_size=30)


def ends(ties: list[tuple[int, int]]) -> tuple[NDArray[Any], NDArray[Any]]:
    return np.array([one for one, _ in ties]), np.array([other for _, other in ties])


@given(ties=TIES, groups=GROUPS)
def test_measures_of_groups_are_those_of_igraph(ties: list[tuple[int, int]], groups: list[int]) -> None:
    graph = igraph.Graph(PEOPLE, ties, directed=True)
    codes = np.array(groups)
    assert modularity(*ends(ties), codes) == pytest.approx(graph.modularity(groups, directed=True))
    theirs = graph.assortativity_nominal(groups, directed=True)
    assume(not np.isnan(theirs))
    assert nominal_assortativity(*ends(ties), codes) == pytest.approx(theirs)


@given(ties=TIES, values=st.lists(st.integers(-5, 5), min_size=PEOPLE, max_size=PEOPLE))
def test_assortativity_of_a_number_is_that_of_igraph(ties: list[tuple[int, int]], values: list[int]) -> None:
    theirs = igraph.Graph(PEOPLE, ties, directed=True).assortativity(values, directed=True)
    assume(not np.isnan(theirs))
    tails, heads = ends(ties)
    numbers = np.array(values, dtype=float)
    assert correlation(numbers[tails], numbers[heads]) == pytest.approx(theirs)


@given(counts=st.lists(st.integers(0, 30), min_size=1, max_size=20))
def test_gini_is_half_the_mean_difference_of_pairs_by_the_mean(counts: list[int]) -> None:
    assume(any(counts))
    array = np.array(counts)
    by_pairs = np.abs(array[:, None] - array[None, :]).mean() / (2.0 * array.mean())
    assert gini(array) == pytest.approx(by_pairs, abs=1e-12)


@given(values=NUMBERS)
def test_bimodality_follows_from_the_corrected_skewness_and_kurtosis(values: list[int]) -> None:
    array = np.array(values, dtype=float)
    assume(len({*values}) > 1)
    size = len(values)
    skew, excess = stats.skew(array, bias=False), stats.kurtosis(array, bias=False)
    normal = 3 * (size - 1) ** 2 / ((size - 2) * (size - 3))
    assert bimodality(array) == pytest.approx((skew**2 + 1) / (excess + normal))
    assert variance(array) == pytest.approx(stats.moment(array, 2))


@given(values=NUMBERS, shift=st.integers(-9, 9), seed=st.integers(0, 99))
def test_correlation_is_pearsons(values: list[int], shift: int, seed: int) -> None:
    one = np.array(values, dtype=float)
    other = np.random.default_rng(seed).integers(-9, 9, len(values)) + shift * one
    assume(len({*one}) > 1 and len({*other}) > 1)
    assert correlation(one, other) == pytest.approx(stats.pearsonr(one, other)[0], abs=1e-9)


def test_what_is_not_defined_is_0() -> None:
    none, same = np.zeros(0, dtype=np.int64), np.full(9, 0.1)
    same[3] = 0.1 * (1 + 2e-16)  # by rounding, as opinions are after a consensus
    groups = np.zeros(9, dtype=np.int64)
    of_groups = [measure(none, none, groups) for measure in (ei_index, modularity, nominal_assortativity)]
    assert of_groups == [0.0, 0.0, 0.0]
    assert nominal_assortativity(*ends([(0, 1), (1, 2)]), groups) == 0.0
    assert [variance(same), bimodality(same), correlation(same, np.arange(9.0)), gini(groups)] == [0.0] * 4
    assert bimodality(np.array([1.0, 2.0, 3.0])) == 0.0


def test_ties_are_read_from_lists_with_room_between_them() -> None:
    followers = Lists(np.array([4, 0, 2]), np.array([5, 2, 2]), np.array([0, 2, 9, 9, 1, 9], dtype=np.int32))
    tails, heads = ends_of(followers)
    assert [*zip(tails.tolist(), heads.tolist(), strict=True)] == [(1, 0), (0, 1), (2, 1)]
