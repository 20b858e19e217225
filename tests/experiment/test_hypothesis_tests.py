"""Statistics of experiments: published examples, values of R 4.2.2, known distributions, and edges."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from prism.experiment.hypothesis_tests import (
    Comparison,
    Hypothesis,
    compared,
    corrected,
    described,
    effect_found,
    holm,
    p_value,
    smallest_p,
    t_interval,
)

DARWIN = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]
"""Fifteen pairs of maize plants, crossed minus self-fertilised, in eighths of an inch: Fisher (1935), chapter 3."""
TERM = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46]
EARLY = [1.15, 0.88, 0.90, 0.74, 1.21]
"""Permeability of membranes: Hollander and Wolfe (1973), page 69."""


def hypothesis(test: str = "t", measure: str = "m", **others: Any) -> Hypothesis:
    return Hypothesis(measure=measure, contrast=("a", "b"), test=test, **others)  # type: ignore[arg-type]


def with_p(p: float, measure: str = "m") -> Comparison:
    return Comparison(hypothesis=hypothesis(measure=measure), difference=described([1.0, 2.0]), p=p)


def test_the_tests_give_the_published_values_for_darwins_maize() -> None:
    for test, p, effect in (
        ("t", 0.0497, 2.148 / math.sqrt(15)),  # Fisher (1935): t = 2.148 with 14 degrees of freedom
        ("wilcoxon", 0.0413, (96 - 24) / 120),  # R: wilcox.test(x, exact = TRUE) has V = 96
    ):
        found = compared(hypothesis(test), [float(each) for each in DARWIN], [0.0] * len(DARWIN))
        assert found.p == pytest.approx(p, abs=5e-5)
        assert found.difference.mean == pytest.approx(314 / 15)
        assert found.effect_value == pytest.approx(effect, abs=5e-4)


def test_mann_whitney_has_the_exact_values_of_r_and_cliffs_delta() -> None:
    greater = compared(hypothesis("mann_whitney", alternative="greater"), TERM, EARLY)
    assert greater.p == pytest.approx(0.1272061272)  # R: wilcox.test(x, y, alternative = "g")
    both = compared(hypothesis("mann_whitney"), TERM, EARLY)
    assert both.p == pytest.approx(0.2544122544)
    assert both.effect_value == pytest.approx((35 - 15) / 50)  # 35 pairs of 50 are above, 15 below
    assert -1 <= (both.effect_low or 1.0) < 0.4 < (both.effect_high or 0.0) <= 1
    assert both.difference.mean == pytest.approx(1.313 - 0.976)
    # With ties: R, over the 462 ways to choose 5 of 11 by combn: the share with a rank sum as far from its mean.
    tied = compared(hypothesis("mann_whitney", alternative="less"), [1.0, 2, 2, 3, 5], [2.0, 4, 4, 6, 7, 7])
    assert tied.p == pytest.approx(0.0367965368)
    assert compared(hypothesis("mann_whitney"), [2.0] * 3, [1.0] * 3).p == pytest.approx(2 / 20)


def test_equivalence_needs_both_one_sided_tests() -> None:
    differences = np.array([0.1, -0.2, 0.05, 0.15, -0.1, 0.0, 0.12, -0.07])
    assert p_value(hypothesis("equivalence", margin=0.3), differences) < 0.001
    assert p_value(hypothesis("equivalence", margin=0.05), differences) > 0.15
    assert p_value(hypothesis("equivalence", margin=0.3), differences + 0.3) > 0.4


def test_without_any_difference_nothing_is_tested() -> None:
    for test, said in (("wilcoxon", "no pair differs"), ("t", "the differences of all pairs are the same, so")):
        none = compared(hypothesis(test), [2.0] * 10, [2.0] * 10)
        assert (none.p, none.effect_value) == (1.0, None)
        assert f"10 pairs, 10 of them without a difference; not tested: {said}" in none.counted
    none = compared(hypothesis("mann_whitney"), [2.0] * 4, [2.0] * 5)
    assert (none.p, none.effect_value, none.difference.low) == (1.0, None, None)
    assert p_value(hypothesis("wilcoxon"), np.full(11, 0.5)) == pytest.approx(2 * 2**-11)


def test_intervals_cover_a_skewed_mean_as_often_as_they_say_and_that_of_two_means_is_welchs() -> None:
    rng, covered = np.random.default_rng(9), 0
    for _ in range(60):
        found = described(list(rng.exponential(size=30)))
        covered += (found.low or 0.0) <= 1.0 <= (found.high or 0.0)
    assert covered >= 50
    one, other = np.array([4.0, 7.0, 5.5, 9.0]), np.array([1.0, 2.5, 2.0, 8.0, 3.0, 0.5])
    welch: Any = stats.ttest_ind(one, other, equal_var=False)
    expected = welch.confidence_interval(0.95)
    told = t_interval((one, other), lambda a, b: a.mean() - b.mean())
    assert told == pytest.approx((expected.low, expected.high))


def test_an_interval_of_many_values_leaves_out_several_at_once() -> None:
    calls = list[int]()

    def mean(values: Any) -> float:
        calls.append(len(values))
        return float(values.mean())

    low, high = t_interval((np.random.default_rng(3).normal(size=5000),), mean)
    assert len(calls) < 300
    assert (low or 0.0, high or 0.0) == pytest.approx((-0.028, 0.028), abs=0.03)


def test_holm_gives_the_values_worked_out_by_hand_and_what_is_added_later_changes_nothing_planned() -> None:
    found = holm([with_p(p) for p in (0.01, 0.04, 0.03, 0.005)], 0.05, 4)
    assert [each.p_holm for each in found] == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert [each.supported for each in found] == [True, False, False, True]
    first = [with_p(0.02, "x"), with_p(0.04, "y")]
    planned = [each.hypothesis for each in first]
    alone = corrected(first, 0.05, planned, planned)
    assert [(each.p_holm, each.among, each.supported) for each in alone] == [(0.04, 2, True), (0.04, 2, True)]
    later = [with_p(0.015, "z"), first[0], with_p(0.5, "v"), first[1]]
    found = corrected(later, 0.05, [*planned, later[0].hypothesis, later[2].hypothesis], planned)
    assert [found[1], found[3]] == alone
    assert [each.p_holm for each in (found[0], found[2])] == pytest.approx([0.06, 0.5])
    untested = hypothesis(measure="w")
    [counted, *_] = corrected(first, 0.05, [*planned, untested], [*planned, untested])
    assert counted.p_holm == pytest.approx(0.06)
    assert counted.among == 3


def test_the_smallest_p_value_is_that_of_conditions_that_do_not_overlap() -> None:
    for pairs in (2, 5, 9):
        found = p_value(hypothesis("wilcoxon"), -np.arange(1.0, pairs + 1))
        assert smallest_p(hypothesis("wilcoxon"), pairs) == pytest.approx(found)
    assert smallest_p(hypothesis("wilcoxon", alternative="less"), 5) == pytest.approx(1 / 32), "one-sided they can"
    assert smallest_p(hypothesis("mann_whitney"), 3) == pytest.approx(2 / 20)
    assert smallest_p(hypothesis("mann_whitney", alternative="greater"), 4) == pytest.approx(1 / 70)
    assert smallest_p(hypothesis("t"), 5) == 0.0


def test_differences_that_are_equal_but_for_rounding_have_one_rank() -> None:
    signs = [1, 1, 1, 1, 1, -1, -1, -1]
    second = [10.0**place for place in range(8)]
    found = compared(
        hypothesis("wilcoxon"), [each + sign / 10 for each, sign in zip(second, signs, strict=True)], second
    )
    assert found.effect_value == pytest.approx((5 - 3) / 8, abs=1e-12)  # all eight have one rank
    assert found.p == pytest.approx(p_value(hypothesis("wilcoxon"), np.array(signs, dtype=float)))


def test_the_effect_that_is_found_is_that_of_r() -> None:
    # R: power.t.test(n = 34, sd = 1, type = "paired", power = 0.8)$delta; the same with n = 20, sig.level = 0.05 / 3
    assert effect_found(hypothesis("t"), 34, 0.05) == pytest.approx(0.4950285983, abs=1e-4)
    assert effect_found(hypothesis("t"), 20, 0.05 / 3) == pytest.approx(0.7835496238, abs=1e-4)
    assert effect_found(hypothesis("t"), 2, 0.001) is None
