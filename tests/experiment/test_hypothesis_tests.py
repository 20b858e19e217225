"""Statistics of experiments: published examples, known distributions, and edges."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

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


@pytest.mark.everyday(2)
@catalogue("test", ["t", "wilcoxon", "permutation"])
def test_without_an_effect_one_experiment_in_twenty_is_a_false_alarm(test: str) -> None:
    rng, experiments = np.random.default_rng(7), 400
    alarms = sum(p_value(hypothesis(test), rng.normal(size=10)) <= 0.05 for _ in range(experiments))
    assert 0.02 < alarms / experiments < 0.08


def test_the_interval_covers_the_mean_of_a_skewed_distribution_nearly_as_often_as_it_says() -> None:
    rng, covered, experiments = np.random.default_rng(9), 0, 60
    for _ in range(experiments):
        found = described(list(rng.exponential(size=30)))
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= 1.0 <= found.high
    assert covered >= 50


def test_holm_gives_the_values_worked_out_by_hand() -> None:
    def with_p(p: float) -> Comparison:
        return Comparison(hypothesis=hypothesis(), difference=described([1.0, 2.0]), p=p)

    found = holm([with_p(p) for p in (0.01, 0.04, 0.03, 0.005)], 0.05)
    assert [each.p_holm for each in found] == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert [each.supported for each in found] == [True, False, False, True]
    assert holm([], 0.05) == []


@catalogue(("test", "alternative"), [("wilcoxon", "two-sided"), ("permutation", "less")])
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
