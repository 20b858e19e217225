import math
from itertools import accumulate

import pytest

from prism.economy.moments import (
    COLUMNS,
    QUARTERS_MIN,
    autocorrelation,
    equal_windows,
    is_deflation_trap,
    moments,
    real_columns,
)
from prism.quarter import Period, Quarter
from tests.catalogue import catalogue
from tests.economy.support import us_series

RATES = [4.0, 4.0, 5.0, 5.0, 3.5, 3.5, 4.25, 4.25, 5.25, 5.0, 0.25, 0.0]


def columns_with(**given: list[float]) -> dict[str, list[float]]:
    """Columns of twelve quarters that do not move, but for those given."""
    still = {name: [2.0] * QUARTERS_MIN for name in COLUMNS}
    return {**still, **given}


GROWTH = [1.0, 3.0, 5.0, -2.0, 0.0, 4.0, 2.0, 6.0, 1.0, -1.0, 3.0, 2.0]
BY_OKUN = [*accumulate(GROWTH[1:], lambda before, growth: before - 0.1 * (growth - 3.0), initial=5.0)]
# Eleven quarters of 0 and one of 12: mean 1, variance 11, so powers of -1 and 11 over powers of the root of 11.
TAIL = [0.0] * 11 + [12.0]
INFLATION = [1.0, 5.0, 2.0, 8.0, 3.0, 3.0, 9.0, 1.0, 4.0, 6.0, 2.0, 7.0]
OF_RATE: dict[str, tuple[list[float], dict[str, float]]] = {
    # The moves are 0, 1, 0, -1.5, 0, 0.75, 0, 1, -0.25, -4.75, -0.25: four of eleven are big.
    "moves of a point are big and a quarter of a point is zero": (
        RATES,
        {"big_move_share": 4 / 11, "zero_rate_share": 2 / 12},
    ),
    "tenths of a point add up to big moves": ([10.0 * 0.1 * step for step in range(12)], {"big_move_share": 1.0}),
    "a rate that goes on as it went has correlated changes": (
        [4.0, *[4.0 + 0.1 * step**2 for step in range(1, 12)]],
        {"rate_change_autocorrelation": 1.0},
    ),
    "one that turns back has not": ([4.0 + step % 2 for step in range(12)], {"rate_change_autocorrelation": -1.0}),
}


@pytest.mark.parametrize(("rates", "expected"), OF_RATE.values(), ids=OF_RATE)
def test_moments_of_a_rate(rates: list[float], expected: dict[str, float]) -> None:
    found = moments(columns_with(interest_rate=rates))
    assert {name: found[name] for name in expected} == pytest.approx(expected)


def test_moments_are_those_of_their_definitions() -> None:
    found = moments(columns_with(gdp_growth=GROWTH, unemployment=BY_OKUN))
    assert [found["okun_correlation"], found["okun_slope"]] == pytest.approx([-1.0, -0.1])
    found = moments(columns_with(gdp_growth=TAIL, unemployment=TAIL))
    assert found["gdp_growth_kurtosis"] == pytest.approx((11 * 1 + 11**4) / 12 / 11**2 - 3.0)
    assert found["unemployment_skew"] == pytest.approx((11 * -1 + 11**3) / 12 / 11**1.5)
    assert autocorrelation([1.0, -1.0] * 6) == pytest.approx(-1.0)
    assert autocorrelation([1.0, 2.0, 4.0, 8.0, 16.0]) == pytest.approx(1.0)
    # Pairs (0, 1), (1, 0), (0, 2): means 1/3 and 1; covariance -1/3, variances 2/3 and 2, by the sums of products.
    assert autocorrelation([0.0, 1.0, 0.0, 2.0]) == pytest.approx(-1.0 / math.sqrt(2.0 / 3.0 * 2.0))
    # Inflation that the rate follows is correlated with the rate a year later.
    rate = [0.0, 9.0, 1.0, 3.0, *INFLATION[:-4]]
    found = moments(columns_with(interest_rate=rate, inflation=INFLATION))
    assert found["rate_inflation_before_correlation"] == pytest.approx(1.0)
    assert abs(found["rate_inflation_correlation"]) < 0.9
    assert abs(found["rate_inflation_after_correlation"]) < 0.9


def counted(length: int) -> dict[str, list[float]]:
    return {name: [float(quarter) for quarter in range(length)] for name in COLUMNS}


@catalogue(
    ("lengths", "start", "period", "first", "end"),
    [
        ((40, 44), "1985q1", "1985q2-1995q1", 0, 40),  # beside the quarters after the one in which they start
        ((40,), "2004q3", "2004q4-2009q3", 0, 20),  # where the figures end before the runs, their first quarters count
        *(((20,), start, "2004q4-2009q3", 0, 20) for start in (None, "2009q3")),  # else beside the last quarters
        *(((300,), start, "1960q1-2009q3", 101, 300) for start in (None, "2009q3")),
    ],
)
def test_runs_stand_beside_equally_many_real_quarters(
    lengths: tuple[int, ...], start: str | None, period: str, first: int, end: int
) -> None:
    runs = [counted(length) for length in lengths]
    found = equal_windows(runs, us_series(), None if start is None else Quarter.parse(start))
    assert str(found.period) == period
    assert found.real == real_columns(us_series(), found.period)
    assert [run["inflation"] for run in found.runs] == [counted(end)["inflation"][first:]] * len(lengths)


def test_a_deflation_trap_is_two_years_at_the_end_without_a_rate_and_with_falling_prices() -> None:
    assert is_deflation_trap([5.0] + [0.25] * 8, [3.0] + [-0.1] * 8)
    for rate, inflation in (([0.0] * 7 + [0.5], [-1.0] * 8), ([0.0] * 8, [-1.0] * 7 + [0.0]), ([0.0] * 7, [-1.0] * 7)):
        assert not is_deflation_trap(rate, inflation)


def test_what_is_not_defined_is_nan_and_the_rest_is_a_number() -> None:
    found = moments(columns_with())
    undefined = {name for name, value in found.items() if math.isnan(value)}
    unvaried = {"okun_slope", "gdp_growth_kurtosis", "unemployment_skew"}
    assert undefined == {name for name in found if name.endswith("correlation")} | unvaried
    assert (found["inflation_sd"], found["inflation_mean"], found["big_move_share"]) == (0.0, 2.0, 0.0)


def test_the_moments_of_the_united_states_are_those_of_its_figures() -> None:
    found = moments(real_columns(us_series()))
    # Computed with numpy.corrcoef, numpy.polyfit and numpy.std from the same file, 1960q1-2009q3.
    assert found["gdp_growth_autocorrelation"] == pytest.approx(0.318, abs=0.0005)
    assert found["okun_correlation"] == pytest.approx(-0.669, abs=0.0005)
    assert found["okun_slope"] == pytest.approx(-0.064, abs=0.0005)
    assert found["big_move_share"] == pytest.approx(24 / 198)
    assert found["inflation_sd"] == pytest.approx(2.930, abs=0.0005)
    assert found["zero_rate_share"] == pytest.approx(4 / 199)
    assert found["deflation_trap"] == 0.0


def test_real_columns_are_those_of_a_run_and_of_a_period_its_quarters() -> None:
    series = us_series()
    columns = real_columns(series)
    assert tuple(columns) == COLUMNS
    assert {len(column) for column in columns.values()} == {len(series) - 4}
    # The file's first lines: prices of 28.98 in 1959q1 and 29.54 in 1960q1.
    assert columns["inflation"][0] == pytest.approx(100.0 * (29.54 / 28.98 - 1.0))
    calm = real_columns(series, Period.parse("1984q1-2009q3"))
    assert len(calm["interest_rate"]) == 103
    assert calm["unemployment"][0] == next(each.unemployment for each in series if str(each.quarter) == "1984q1")


@catalogue(
    ("series", "message"),
    [
        ({"inflation": [1.0] * 12}, "missing: interest_rate, gdp_growth, unemployment"),
        (columns_with(inflation=[1.0] * 13), "expected columns of one length, got interest_rate 12, inflation 13"),
        ({name: [1.0] * 11 for name in COLUMNS}, "expected at least 12 quarters, got 11"),
    ],
)
def test_columns_without_moments_are_refused(series: dict[str, list[float]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        moments(series)


def test_tiny_differences_have_no_correlation() -> None:
    assert math.isnan(autocorrelation([0.0, 1e-100, 3e-100, 2e-100, 0.0]))
