"""Scores of forecasts: their values by numerical integration, and that the true distribution has the best ones."""

from __future__ import annotations

from statistics import NormalDist, fmean

import numpy as np
import pytest

from prism.experiment.predictions import Forecast, naive, scored
from tests.catalogue import catalogue

NORMAL = Forecast(mean=12.0, sd=3.0)
TRUTH = NormalDist(12.0, 3.0)


@catalogue("value", [3.0, 11.5, 33.0])
def test_scores_are_the_integral_and_the_density_of_the_distribution(value: float) -> None:
    grid = np.linspace(-30.0, 70.0, 1001)
    heights = [(TRUTH.cdf(float(each)) - (each >= value)) ** 2 for each in grid]
    score = scored(NORMAL, value)
    assert score.crps == pytest.approx(float(np.trapezoid(heights, grid)), abs=0.06)
    assert score.log_score is not None
    assert 2**-score.log_score == pytest.approx(TRUTH.pdf(value))
    assert score.position == pytest.approx(TRUTH.cdf(value))


def test_the_scores_are_best_on_average_for_the_distribution_that_is_true() -> None:
    values = [TRUTH.inv_cdf(float(level)) for level in np.random.default_rng(1).uniform(size=200)]
    honest = [scored(NORMAL, each) for each in values]
    for other in (Forecast(mean=13.0, sd=3.0), Forecast(mean=12.0, sd=1.5), Forecast(mean=12.0, sd=6.0)):
        others = [scored(other, each) for each in values]
        assert fmean(each.crps for each in honest) < fmean(each.crps for each in others)
        assert fmean(each.log_score or 0.0 for each in honest) < fmean(each.log_score or 0.0 for each in others)
    assert fmean(each.holds[0] for each in honest) == pytest.approx(0.5, abs=0.09)
    assert fmean(each.holds[1] for each in honest) == pytest.approx(0.9, abs=0.05)


def test_a_naive_forecast_holds_the_mean_of_as_many_other_values_about_as_often_as_it_says() -> None:
    random = np.random.default_rng(2)
    pairs = [(random.normal(size=6), random.normal(size=6).mean()) for _ in range(150)]
    held = [scored(naive(list(known)), float(new)).holds for known, new in pairs]
    assert fmean(half for half, _ in held) == pytest.approx(0.5, abs=0.1)
    assert fmean(most for _, most in held) == pytest.approx(0.9, abs=0.05)
    assert scored(naive([2.0, 2.0]), 3.0).crps == 1.0
