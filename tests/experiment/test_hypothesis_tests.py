"""Statistics of experiments: published examples, known distributions, and edges."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from prism.experiment import Basis, Comparison, Hypothesis, compared, corrected, described, holm, p_value, smallest_p
from tests.catalogue import catalogue

DARWIN = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]
"""Fifteen pairs of maize plants, crossed minus self-fertilised, in eighths of an inch: Fisher (1935), chapter 3."""


def hypothesis(test: str = "t", **others: Any) -> Hypothesis:
    return Hypothesis(measure="m", contrast=("a", "b"), test=test, **others)  # type: ignore[arg-type]


@catalogue(
    ("test", "p"),
    [
        ("t", 0.0497),  # Fisher (1935): t = 2.148 with 14 degrees of freedom
        ("permutation", 1726 / 32768),  # Fisher (1935), section 21: 863 of 32,768 on each side
        ("wilcoxon", 0.0413),  # R: wilcox.test(x, exact = TRUE) has V = 96
    ],
)
def test_the_tests_give_the_published_values_for_darwins_maize(test: str, p: float) -> None:
    found = compared(hypothesis(test), [float(each) for each in DARWIN], [0.0] * len(DARWIN))
    assert found.p == pytest.approx(p, abs=5e-5)
    assert found.difference.mean == pytest.approx(314 / 15)
    rank_biserial = (96 - 24) / 120  # of V = 96, the ranks of the positive differences
    expected = rank_biserial if test == "wilcoxon" else 2.148 / math.sqrt(15)
    assert found.effect_value == pytest.approx(expected, abs=5e-4)
    assert found.basis == Basis(p_from="Student's t" if test == "t" else "exact")


def test_one_side_has_half_of_the_p_value_of_both() -> None:
    differences = np.array(DARWIN, dtype=np.float64)
    for test in ("t", "permutation", "wilcoxon"):
        both, less, greater = (
            p_value(hypothesis(test, alternative=side), differences) for side in ("two-sided", "less", "greater")
        )
        assert greater == pytest.approx(both / 2, rel=0.01)
        assert less > 0.9


def test_equivalence_needs_both_one_sided_tests() -> None:
    differences = np.array([0.1, -0.2, 0.05, 0.15, -0.1, 0.0, 0.12, -0.07])
    assert p_value(hypothesis("equivalence", margin=0.3), differences) < 0.001
    assert p_value(hypothesis("equivalence", margin=0.05), differences) > 0.15
    assert p_value(hypothesis("equivalence", margin=0.3), differences + 0.3) > 0.4


def test_no_difference_at_all_is_no_finding_and_the_same_difference_everywhere_is_one() -> None:
    for test in ("permutation", "wilcoxon"):
        none = compared(hypothesis(test), [2.0] * 10, [2.0] * 10)
        assert (none.p, none.statistic, str(none.basis)) == (1.0, None, "not tested: no pair differs")
        assert p_value(hypothesis(test), np.full(10, 0.5)) == pytest.approx(2 * 2**-10)


@catalogue("tested", [{"test": "t"}, {"test": "t", "alternative": "less"}, {"test": "equivalence", "margin": 9.0}])
@catalogue("difference", [0.0, 5.0, -5.0])
def test_a_t_test_of_differences_that_are_all_the_same_is_not_made(tested: dict[str, Any], difference: float) -> None:
    found = compared(hypothesis(**tested), [each + difference for each in range(10)], list(range(10)))
    assert (found.p, found.statistic, found.effect_value, found.difference.mean) == (1.0, None, None, difference)
    assert str(found.basis).startswith("not tested: the differences of all pairs are the same")
    assert not holm([found], 0.05)[0].supported


@pytest.mark.everyday(2)
@pytest.mark.parametrize("test", ["t", "wilcoxon", "permutation"])
def test_without_an_effect_one_experiment_in_twenty_is_a_false_alarm(test: str) -> None:
    rng, experiments = np.random.default_rng(7), 400
    alarms = sum(p_value(hypothesis(test), rng.normal(size=10)) <= 0.05 for _ in range(experiments))
    assert 0.02 < alarms / experiments < 0.08


@pytest.mark.slow
def test_a_known_effect_is_found_with_the_power_of_the_tables() -> None:
    rng, experiments = np.random.default_rng(8), 2000
    found = sum(p_value(hypothesis(), rng.normal(0.5, 1.0, size=34)) <= 0.05 for _ in range(experiments))
    assert found / experiments == pytest.approx(0.808, abs=0.03)  # Cohen (1988): d = 0.5 with 34 pairs


def test_the_interval_covers_the_mean_of_a_skewed_distribution_nearly_as_often_as_it_says() -> None:
    rng, covered, experiments = np.random.default_rng(9), 0, 60
    for _ in range(experiments):
        found = described(list(rng.exponential(size=30)))
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= 1.0 <= found.high
    assert covered >= 50


def test_few_or_equal_values_have_no_interval() -> None:
    assert described([1.0, 2.0]).low is None
    assert described([3.0] * 9).high is None
    assert described([4.0]).sd == 0.0


def test_a_correlation_at_its_bound_has_no_interval_however_many_pairs_make_it() -> None:
    for pairs in range(5, 30):
        found = compared(hypothesis("wilcoxon"), list(np.arange(1.0, pairs + 1.0)), [0.0] * pairs)
        assert (found.effect_value, found.effect_low, found.effect_high) == (1.0, None, None)


def test_differences_that_rounding_alone_makes_are_none() -> None:
    same = compared(hypothesis(), [0.3, 0.4, 0.5, 0.6], [0.1, 0.2, 0.3, 0.4])
    assert (same.effect_value, same.p, same.difference.sd, same.difference.low) == (None, 1.0, 0.0, None)
    none = compared(hypothesis(), [0.1 + 0.2, 0.3, 0.3], [0.3, 0.3, 0.3])
    assert (none.difference.mean, none.p) == (0.0, 1.0)
    assert described([0.1] * 10).sd == 0.0
    assert compared(hypothesis(), [1e-9, 3e-9, 2e-9], [0.0] * 3).effect_value == pytest.approx(2.0), "small is not none"


def test_the_interval_of_a_mean_is_that_of_student() -> None:
    values = np.array(DARWIN, dtype=np.float64)
    expected: Any = stats.ttest_1samp(values, 0.0).confidence_interval(0.95)
    found = described(list(values))
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))


def test_a_hypothesis_that_could_not_be_compared_still_counts_among_the_tests() -> None:
    alone = Comparison(hypothesis=hypothesis(), difference=described([1.0, 2.0]), p=0.03)
    assert holm([alone], 0.05)[0].supported
    [found] = holm([alone], 0.05, tests=3)
    assert found.p_holm == pytest.approx(0.09)
    assert not found.supported


def test_holm_gives_the_values_worked_out_by_hand() -> None:
    def with_p(p: float) -> Comparison:
        return Comparison(hypothesis=hypothesis(), difference=described([1.0, 2.0]), p=p)

    found = holm([with_p(p) for p in (0.01, 0.04, 0.03, 0.005)], 0.05)
    assert [each.p_holm for each in found] == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert [each.supported for each in found] == [True, False, False, True]
    assert holm([], 0.05) == []


@pytest.mark.parametrize(("test", "alternative"), [("wilcoxon", "two-sided"), ("permutation", "less")])
def test_the_smallest_p_value_is_that_of_differences_which_all_have_one_sign(test: str, alternative: str) -> None:
    for pairs in (2, 5, 9, *([18] if test == "permutation" else [])):
        differences = -np.arange(1.0, pairs + 1)
        tested = hypothesis(test, alternative=alternative)
        assert smallest_p(tested, pairs) == pytest.approx(p_value(tested, differences))
    assert smallest_p(hypothesis("wilcoxon"), 5) == pytest.approx(2 / 32), "five pairs can never reach 0.05 two-sided"
    assert smallest_p(hypothesis("wilcoxon", alternative="less"), 5) == pytest.approx(1 / 32), "one-sided they can"
    assert smallest_p(hypothesis("t"), 5) == 0.0


def test_differences_that_are_equal_but_for_rounding_have_one_rank() -> None:
    signs = [1, 1, 1, 1, 1, -1, -1, -1]
    second = [10.0**place for place in range(8)]
    found = compared(
        hypothesis("wilcoxon"), [each + sign / 10 for each, sign in zip(second, signs, strict=True)], second
    )
    assert found.effect_value == pytest.approx((5 - 3) / 8, abs=1e-12)  # all eight have one rank
    assert found.p == pytest.approx(p_value(hypothesis("wilcoxon"), np.array(signs, dtype=float)))


@pytest.mark.slow
def test_what_is_added_later_changes_nothing_of_what_was_planned() -> None:
    def with_p(measure: str, p: float) -> Comparison:
        of = Hypothesis(measure=measure, contrast=("a", "b"))
        return Comparison(hypothesis=of, difference=described([1.0, 2.0]), p=p)

    first = [with_p("x", 0.02), with_p("y", 0.04)]
    planned = [each.hypothesis for each in first]
    alone = corrected(first, 0.05, planned, planned)
    assert [(each.p_holm, each.among, each.supported) for each in alone] == [(0.04, 2, True), (0.04, 2, True)]
    later = [with_p("z", 0.015), first[0], with_p("v", 0.5), first[1]]
    found = corrected(later, 0.05, [*planned, later[0].hypothesis, later[2].hypothesis], planned)
    assert [found[1], found[3]] == alone
    assert [each.p_holm for each in (found[0], found[2])] == pytest.approx([0.06, 0.5])
    assert [each.among for each in (found[0], found[2])] == [4, 4]
    untested = Hypothesis(measure="w", contrast=("a", "b"))
    [counted, *_] = corrected(first, 0.05, [*planned, untested], [*planned, untested])
    assert counted.p_holm == pytest.approx(0.06)
    assert counted.among == 3


def test_differences_of_zero_and_ties_are_counted_and_the_p_value_is_exact_where_all_signs_can_be_tried() -> None:
    """R, over the 2^9 signs of 1, 2, 2, 3, 4, 4, 4, 5, 6 by expand.grid: 2 * mean(colSums(signs * ranks) >= W)."""
    differences = [1, 2, 2, 3, 4, 4, 4, 5, -6, *[0] * 11]
    found = compared(hypothesis("wilcoxon"), [float(each) for each in differences], [0.0] * 20)
    ranks = np.array([1, 2.5, 2.5, 4, 6, 6, 6, 8, 9])
    signs = np.array([[1 if number >> place & 1 else -1 for place in range(9)] for number in range(512)])
    assert found.p == pytest.approx(2 * np.mean(signs @ ranks >= 36 - 9))
    assert found.statistic == 9.0
    assert found.effect_value == pytest.approx(27 / 45)
    assert found.counted == "20 pairs, 11 of them without a difference, 5 differences with the rank of another; p exact"


@catalogue(
    ("test", "count", "is_tied", "p_from"),
    [
        ("wilcoxon", 50, False, "exact"),
        ("wilcoxon", 51, False, "normal curve"),
        ("wilcoxon", 15, True, "exact"),
        ("wilcoxon", 16, True, "normal curve"),
        ("permutation", 15, False, "exact"),
        ("permutation", 16, False, "random signs"),
        ("mann_whitney", 8, False, "exact"),
        ("mann_whitney", 9, False, "normal curve"),
        ("mann_whitney", 8, True, "exact"),
    ],
)
def test_it_is_said_which_p_value_is_exact(test: str, count: int, *, is_tied: bool, p_from: str) -> None:
    values = [float(each**2) for each in range(1, count + 1)]
    if is_tied:
        values[0] = values[1]
    second = [0.0] * count if test != "mann_whitney" else [each + 0.5 for each in values[: 8 if is_tied else count]]
    found = compared(hypothesis(test), values, second)
    assert found.basis.p_from == p_from
    assert bool(found.basis.ties) == (is_tied and test != "permutation")
