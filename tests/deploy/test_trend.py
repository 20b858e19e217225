"""The estimator that a soak is judged by: how often it is wrong is measured, not believed."""

import numpy as np
from numpy.typing import NDArray

from deploy.soak.trend import trend
from tests.catalogue import catalogue

TIMES = np.arange(900.0)


def wandering(rng: np.random.Generator, rho: float) -> NDArray[np.float64]:
    """A stationary series without a trend, in which each value resembles the one before it."""
    steps, series = rng.normal(size=TIMES.size), np.empty(TIMES.size)
    series[0] = steps[0] / np.sqrt(1 - rho**2)
    for place in range(1, TIMES.size):
        series[place] = rho * series[place - 1] + steps[place]
    return series


@catalogue("rho", [0.0, 0.9])
def test_a_series_that_only_wanders_is_seldom_called_rising(rho: float) -> None:
    rng = np.random.default_rng(7)
    alarms = sum(trend(TIMES, wandering(rng, rho)).low > 0 for _ in range(100))
    assert alarms <= 8  # 2.5% by its name


def test_a_slope_is_found_beneath_the_wandering() -> None:
    series = wandering(np.random.default_rng(7), 0.9) + 0.05 * TIMES
    found = trend(TIMES, series)
    assert found.low > 0
    assert found.low < 0.05 < found.high


def test_a_falling_series_does_not_rise() -> None:
    found = trend(TIMES, wandering(np.random.default_rng(7), 0.9) - 0.05 * TIMES)
    assert found.low <= 0
    assert found.high < 0
    assert trend(TIMES, np.full(TIMES.size, 5.0)) == (0.0, 0.0, 0.0)
