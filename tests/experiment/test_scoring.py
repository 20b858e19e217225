"""Scores of forecasts: their values by numerical integration, and that the true distribution has the best ones."""

from __future__ import annotations

import math
from statistics import NormalDist, fmean

import numpy as np
import pytest

from prism.experiment.scoring import Forecast, naive, scored
from tests.catalogue import catalogue

SKEWED = Forecast(quantiles={"q05": 9.0, "q25": 11.0, "q50": 12.0, "q95": 20.0})
NORMAL = Forecast(mean=12.0, sd=3.0)


def integral(forecast: Forecast, value: float) -> float:
    """Return the integral of the squared difference between the distribution function and a step at the value."""
    grid = np.linspace(-30.0, 70.0, 1001)
    heights = [(forecast.law.cdf(float(each)) - (each >= value)) ** 2 for each in grid]
    return float(np.trapezoid(heights, grid))


@catalogue("forecast", [SKEWED, NORMAL])
@catalogue("value", [3.0, 11.5, 33.0])
def test_scores_are_the_integral_and_the_density_of_the_distribution(forecast: Forecast, value: float) -> None:
    assert forecast.law.crps(value) == pytest.approx(integral(forecast, value), abs=0.06)
    step = 1e-4
    density = (forecast.law.cdf(value + step) - forecast.law.cdf(value)) / step
    bits = forecast.law.log_score(value)
    assert bits is not None
    assert 2**-bits == pytest.approx(density, rel=1e-3)
    assert forecast.law.quantile(forecast.law.cdf(value)) == pytest.approx(value)


def test_the_scores_are_best_on_average_for_the_distribution_that_is_true() -> None:
    truth, random = NormalDist(12.0, 3.0), np.random.default_rng(1)
    values = [truth.inv_cdf(float(level)) for level in random.uniform(size=200)]
    as_quantiles = Forecast(quantiles={f"q{each:02d}": truth.inv_cdf(each / 100) for each in range(1, 100)})
    others = [Forecast(mean=13.0, sd=3.0), Forecast(mean=12.0, sd=1.5), Forecast(mean=12.0, sd=6.0)]
    for honest in (NORMAL, as_quantiles):
        for other in others:
            assert fmean(map(honest.law.crps, values)) < fmean(map(other.law.crps, values))
            assert fmean(honest.law.log_score(each) or 0.0 for each in values) < fmean(
                other.law.log_score(each) or 0.0 for each in values
            )
    held = [scored(NORMAL, each).holds for each in values]
    assert fmean(half for half, _ in held) == pytest.approx(0.5, abs=0.09)
    assert fmean(most for _, most in held) == pytest.approx(0.9, abs=0.05)


def test_a_naive_forecast_holds_the_mean_of_as_many_other_values_as_often_as_it_says() -> None:
    random = np.random.default_rng(2)
    pairs = [(random.normal(size=6), random.normal(size=6).mean()) for _ in range(150)]
    held = [scored(naive(list(known)), float(new)).holds for known, new in pairs]
    assert fmean(half for half, _ in held) == pytest.approx(0.5, abs=0.1)
    assert fmean(most for _, most in held) == pytest.approx(0.9, abs=0.04)


@catalogue(
    ("forecast", "problem"),
    [
        (Forecast(), "expected mean and sd, or quantiles"),
        (Forecast(mean=1.0, sd=1.0, quantiles={"q10": 1.0, "q90": 2.0}), "expected mean and sd, or quantiles"),
        (Forecast(mean=1.0, sd=0.0), "expected an sd above 0, got 0"),
        (Forecast(mean=math.nan, sd=1.0), "expected finite numbers"),
        (Forecast(quantiles={"q10": 1.0, "median": 2.0}), "expected quantiles from q01 to q99, got median"),
        (Forecast(quantiles={"q50": 1.0}), "expected two quantiles or more, and a larger value at each higher level"),
        (SKEWED, ""),
        (NORMAL, ""),
    ],
)
def test_what_is_no_distribution_is_named(forecast: Forecast, problem: str) -> None:
    assert forecast.problem == problem
