"""The defaults of the model against the figures of the United States, by least squares of their own."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from prism.config import Config, MacroConfig, load_config
from tests.economy.history import us_series
from tests.paths import ROOT

FIRST, END = 5, 100  # 1960q2 to 1983q4
AT = np.arange(FIRST, END)
OUTPUT = np.array([100.0 * math.log(each.real_gdp) for each in us_series()])[:END]
PRICES = np.array([math.nan, *(400.0 * np.diff(np.log([each.price_index for each in us_series()])))])[:END]
WORK = np.array([each.unemployment for each in us_series()])[:END]
RATE = np.array([each.interest_rate for each in us_series()])[:END]
TIME = np.arange(END, dtype=np.float64)
GAP = OUTPUT - np.polyval(np.polyfit(TIME, OUTPUT, 2), TIME)
ONE = np.ones(len(AT))


def shipped() -> Config:
    text = (ROOT / "configs" / "economy.yaml").read_text()
    return load_config(text, "economy.yaml", environment={}, overrides=())


def fit(target: NDArray[np.float64], *columns: NDArray[np.float64]) -> tuple[list[float], float]:
    """The coefficients by the normal equations, and the standard deviation of the residuals."""
    table = np.column_stack(columns)
    found = np.linalg.solve(table.T @ table, table.T @ target)
    left = target - table @ found
    return [float(each) for each in found], math.sqrt(float(left @ left) / (len(target) - len(columns)))


def test_okuns_law_is_the_one_of_1960_to_1983() -> None:
    change, distance = np.diff(WORK, prepend=math.nan), WORK - WORK.mean() + GAP / 2.0
    (lag, impact, pull), noise = fit(change[AT], change[AT - 1], GAP[AT - 1] - GAP[AT], -distance[AT - 1])
    macro = MacroConfig()
    assert (macro.okun_lag, macro.okun_impact, macro.okun_pull) == pytest.approx((lag, impact, pull), abs=0.005)
    assert shipped().economy.macro.unemployment_shock == pytest.approx(noise, abs=0.005)


def test_the_anchoring_is_between_its_two_estimates_and_the_price_shock_that_of_consumer_prices() -> None:
    lags = [PRICES[AT - age] for age in range(1, 5)]
    (*free, _, _), left = fit(PRICES[AT], *lags, GAP[AT - 1], ONE)
    weights = MacroConfig().inflation_lags
    past = np.asarray(sum(weight * each for weight, each in zip(weights, lags, strict=True)))
    (share, _, _), _ = fit(PRICES[AT], past, GAP[AT - 1], ONE)
    assert 1.0 - math.fsum(free) < MacroConfig().anchoring < 1.0 - share
    assert shipped().economy.macro.inflation_shock == pytest.approx(left, abs=0.05)


def test_the_two_lags_of_demand_are_within_their_errors_of_the_published_ones() -> None:
    real = sum(RATE[AT - age] - PRICES[AT - age] for age in range(1, 5)) / 4.0
    (first, second, _, _), _ = fit(GAP[AT], GAP[AT - 1], GAP[AT - 2], np.asarray(real), ONE)
    assert MacroConfig().gap_lags == pytest.approx((first, second), abs=0.1)


def test_the_rate_is_smoothed_as_much_as_the_shipped_economy_has_it() -> None:
    year = sum(PRICES[AT - age] for age in range(4)) / 4.0
    (kept, _, _, _), _ = fit(RATE[AT], RATE[AT - 1], np.asarray(year), GAP[AT], ONE)
    assert shipped().economy.taylor.smoothing == pytest.approx(kept, abs=0.05)
