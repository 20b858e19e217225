"""Tests of unpaired and of several conditions, and their effect sizes, beside published examples and R 4.2.2."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from prism.experiment import Hypothesis, compared, compared_groups, effect_found, smallest_p
from prism.experiment.intervals import t_interval
from tests.catalogue import catalogue

PLANTS = {
    "ctrl": [4.17, 5.58, 5.18, 6.11, 4.50, 4.61, 5.17, 4.53, 5.33, 5.14],
    "trt1": [4.81, 4.17, 4.41, 3.59, 5.87, 3.83, 6.03, 4.89, 4.32, 4.69],
    "trt2": [6.31, 5.12, 5.54, 5.50, 5.37, 5.29, 4.92, 6.15, 5.80, 5.26],
}
"""Weights of plants: Dobson (1983), in R as PlantGrowth."""
TERM = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46]
EARLY = [1.15, 0.88, 0.90, 0.74, 1.21]
"""Permeability of membranes: Hollander and Wolfe (1973), page 69."""
BASES = """
5.40 5.50 5.55  5.85 5.70 5.75  5.20 5.60 5.50  5.55 5.50 5.40  5.90 5.85 5.70  5.45 5.55 5.60  5.40 5.40 5.35
5.45 5.50 5.35  5.25 5.15 5.00  5.85 5.80 5.70  5.25 5.20 5.10  5.65 5.55 5.45  5.60 5.35 5.45  5.05 5.00 4.95
5.50 5.50 5.40  5.45 5.55 5.50  5.55 5.55 5.35  5.45 5.50 5.55  5.50 5.45 5.25  5.65 5.60 5.40  5.70 5.65 5.55
6.30 6.30 6.25
"""
"""Seconds to second base, by three ways of running: Hollander and Wolfe (1973), page 140."""


def unpaired(**others: Any) -> Hypothesis:
    return Hypothesis(measure="m", contrast=("a", "b"), test="mann_whitney", **others)


def several(test: str) -> Hypothesis:
    return Hypothesis(measure="m", conditions=("a", "b", "c"), test=test)  # type: ignore[arg-type]


def test_kruskal_wallis_has_the_value_of_r_and_epsilon_squared() -> None:
    found = compared_groups(several("kruskal_wallis"), PLANTS)
    assert found.statistic == pytest.approx(7.988228749)  # R: kruskal.test(weight ~ group, PlantGrowth)
    assert found.p == pytest.approx(0.01842375573)
    assert found.effect_value == pytest.approx(7.988228749 / 29)  # H over n - 1: Tomczak and Tomczak (2014)
    assert {name: group.mean for name, group in found.groups.items()} == pytest.approx(
        {"ctrl": 5.032, "trt1": 4.661, "trt2": 5.526}
    )


def test_mann_whitney_has_the_exact_values_of_r_and_cliffs_delta() -> None:
    greater = compared(unpaired(alternative="greater"), TERM, EARLY)
    assert greater.statistic == 35.0  # R: wilcox.test(x, y, alternative = "g")
    assert greater.p == pytest.approx(0.1272061272)
    both = compared(unpaired(), TERM, EARLY)
    assert both.p == pytest.approx(0.2544122544)
    assert both.effect_value == pytest.approx((35 - 15) / 50)  # 35 pairs of 50 are above, 15 below
    assert both.effect_low is not None
    assert both.effect_high is not None
    assert -1 <= both.effect_low < 0.4 < both.effect_high <= 1
    assert both.difference.mean == pytest.approx(1.313 - 0.976)


def test_ties_among_few_seeds_are_tested_by_all_arrangements() -> None:
    """R, over the 462 ways to choose 5 of 11 by combn: the share with a rank sum as far from its mean."""
    first, second = [1.0, 2, 2, 3, 5], [2.0, 4, 4, 6, 7, 7]
    assert compared(unpaired(), first, second).p == pytest.approx(0.0670995671, abs=0.007)
    assert compared(unpaired(alternative="less"), first, second).p == pytest.approx(0.0367965368)


def test_friedman_has_the_value_of_r_and_kendalls_w() -> None:
    rows = np.array([float(each) for each in BASES.split()]).reshape(22, 3)
    groups = {"round": list(rows[:, 0]), "narrow": list(rows[:, 1]), "wide": list(rows[:, 2])}
    found = compared_groups(several("friedman"), groups)
    assert found.statistic == pytest.approx(11.14285714)  # R: friedman.test
    assert found.p == pytest.approx(0.003805040776)
    assert found.effect_value == pytest.approx(11.14285714 / 44)
    noisy = {name: [each + 0.1 + 0.2 - 0.3 for each in values] for name, values in groups.items()}
    assert compared_groups(several("friedman"), noisy).p == pytest.approx(found.p), "rounding makes no ranks"


def test_values_that_are_all_equal_are_no_finding() -> None:
    for test in ("kruskal_wallis", "friedman"):
        found = compared_groups(several(test), {"a": [1.0] * 5, "b": [1.0] * 5, "c": [1.0] * 5})
        assert (found.p, found.effect_value, found.statistic) == (1.0, None, None)
    none = compared(unpaired(), [2.0] * 4, [2.0] * 5)
    assert (none.p, none.effect_value, none.difference.low) == (1.0, None, None)
    seeds_alone = {"a": [1.0, 2, 3], "b": [1.0, 2, 3], "c": [1.0, 2, 3]}
    assert compared_groups(several("friedman"), seeds_alone).p == 1.0


def test_the_interval_of_two_means_is_that_of_welch() -> None:
    one, other = np.array([4.0, 7.0, 5.5, 9.0]), np.array([1.0, 2.5, 2.0, 8.0, 3.0, 0.5])
    found: Any = stats.ttest_ind(one, other, equal_var=False)
    expected = found.confidence_interval(0.95)
    told = t_interval((one, other), lambda a, b: a.mean() - b.mean())
    assert told == pytest.approx((expected.low, expected.high))


@catalogue(
    ("test", "seeds", "alpha", "size"),
    [
        ("t", 34, 0.05, 0.4950285983),  # R: power.t.test(n = 34, sd = 1, type = "paired", power = 0.8)$delta
        ("t", 20, 0.05 / 3, 0.7835496238),  # the same with n = 20, sig.level = 0.05 / 3
        ("permutation", 34, 0.05, 0.4950285983),
    ],
)
def test_the_effect_that_is_found_is_that_of_r(test: str, seeds: int, alpha: float, size: float) -> None:
    found = effect_found(Hypothesis(measure="m", contrast=("a", "b"), test=test), seeds, alpha)  # type: ignore[arg-type]
    assert found.size == pytest.approx(size, abs=1e-4)


@catalogue(
    ("test", "seeds", "groups", "least"),
    [("mann_whitney", 3, 2, 2 / 20), ("mann_whitney", 4, 2, 2 / 70), ("friedman", 3, 3, np.exp(-3))],
)
def test_the_smallest_p_value_is_that_of_conditions_that_do_not_overlap(
    test: str, seeds: int, groups: int, least: float
) -> None:
    assert smallest_p(Hypothesis(measure="m", test=test), seeds, groups) == pytest.approx(least)  # type: ignore[arg-type]
    one_sided = Hypothesis(measure="m", test="mann_whitney", alternative="greater")
    assert smallest_p(one_sided, 4) == pytest.approx(1 / 70)
