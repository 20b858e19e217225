"""Audits: the intervals hold the truth as often as they say, for skewed values, unequal chances and samples."""

from __future__ import annotations

import numpy as np
import pytest

from prism.sharing import Audited, corrected_shares, mean_with_interval
from prism.sharing.audit import divergences

TRIALS = 150


def test_equal_values_between_bounds_have_the_interval_of_the_rule_of_three() -> None:
    none = mean_with_interval([0.0] * 100, bounds=(0.0, 1.0))
    assert (none.low, none.high) == pytest.approx((0.0, 0.03), abs=1e-4)
    always = mean_with_interval([-1.0] * 50, bounds=(-1.0, 1.0))
    assert (always.low, always.high) == pytest.approx((-1.0, -0.88), abs=1e-3), "surely not 0"
    weighted = mean_with_interval([0.0] * 100, [10.0] * 50 + [30.0] * 50, (0.0, 1.0))
    assert weighted.high == pytest.approx(3 * 30 / 2000, abs=1e-4), "a rare one may have been passed over"
    assert mean_with_interval([0.2] * 8, [1.0] * 7 + [100.0], (0.0, 1.0)).high == 1.0


def test_intervals_of_skewed_values_hold_their_mean() -> None:
    drawn = np.random.default_rng(5).gamma(0.3, 1.0, (TRIALS, 100))
    found = [mean_with_interval(each) for each in drawn]
    held = sum((each.low or 0.0) <= 0.3 <= (each.high or 0.0) for each in found)
    assert held >= 0.92 * TRIALS


def test_values_drawn_with_unequal_chances_count_for_as_many_as_they_stand_for() -> None:
    random, held = np.random.default_rng(6), 0
    population = random.exponential(1.0, 4000)
    chances = np.where(population > 1.0, 0.1, 0.02)  # the large ones are drawn more often
    for _ in range(TRIALS):
        drawn = random.random(len(population)) < chances
        found = mean_with_interval(population[drawn], (1.0 / chances[drawn]).tolist())
        held += (found.low or 0.0) <= float(population.mean()) <= (found.high or 0.0)
        assert float(population[drawn].mean()) > 1.2, "without weights the mean is wrong"
    assert held >= 0.92 * TRIALS


def test_a_distribution_counted_from_samples_is_hardly_further_away_than_the_true_one() -> None:
    random, shared = np.random.default_rng(7), (0.5, 0.3, 0.2)
    counted = random.multinomial(8, shared, size=3000) / 8
    plain = divergences([Audited(tuple(each), shared) for each in counted]).mean()
    found = divergences([Audited(tuple(each), shared, 8) for each in counted]).mean()
    assert plain > 0.03
    assert 0.0 < found < 0.3 * plain, "most of the excess is taken off"


def test_shares_are_corrected_by_what_audits_got() -> None:
    random = np.random.default_rng(8)
    own = random.dirichlet((6.0, 3.0, 1.0), 5000)
    shared = (0.5, 0.4, 0.1)
    held = 0
    for _ in range(60):
        audits = [Audited(tuple(own[number]), shared) for number in random.integers(0, len(own), 80)]
        held += sum(
            (found.low or 0.0) <= truth <= (found.high or 0.0)
            for found, truth in zip(corrected_shares(shared, audits), own.mean(axis=0), strict=True)
        )
    assert held >= 0.92 * 180
    assert corrected_shares(shared, audits)[0].mean == pytest.approx(0.6, abs=0.05)
