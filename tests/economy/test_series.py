from __future__ import annotations

import math
from itertools import pairwise
from statistics import fmean

import pytest

from prism.config import InitialConfig, MacroConfig
from prism.economy.initial import initial_lags, initial_state
from prism.economy.macro import Lags, output_gap
from prism.economy.series import year_growth, year_inflation
from prism.errors import InputError
from prism.quarter import Quarter
from tests.economy.history import US_PATH, us_series


def test_the_figures_of_the_united_states_are_whole() -> None:
    series = us_series()
    assert len(series) == 203
    assert (series[0].quarter, series[-1].quarter) == (Quarter(1959, 1), Quarter(2009, 3))
    peak = max(series, key=lambda figures: figures.interest_rate)
    assert (peak.quarter, peak.interest_rate, peak.unemployment) == (Quarter(1981, 2), 15.33, 7.4)


def test_inflation_and_growth_are_those_of_the_year_before() -> None:
    series = us_series()
    assert year_inflation(series, 3) is None
    assert year_growth(series, 3) is None
    assert year_inflation(series, 4) == pytest.approx(100.0 * (29.54 / 28.98 - 1.0))
    assert year_growth(series, 4) == pytest.approx(100.0 * (2847.699 / 2710.349 - 1.0))


def test_an_economy_starts_from_the_indicators_given() -> None:
    state = initial_state(InitialConfig(interest_rate=3.0, inflation=5.0, unemployment=7.0))
    assert (state.interest_rate, state.inflation, state.unemployment) == (3.0, 5.0, 7.0)
    assert (state.gdp_growth, state.total_economic_value) == (3.15, 1000.0)


def test_an_economy_starts_from_a_quarter_of_the_file() -> None:
    state = initial_state(InitialConfig(path=str(US_PATH), quarter="1985Q1"), us_series())
    assert (state.interest_rate, state.unemployment, state.total_economic_value) == (8.25, 7.3, 6740.275)
    assert state.inflation == pytest.approx(100.0 * (107.0 / 103.3 - 1.0))
    assert state.gdp_growth == pytest.approx(100.0 * (6740.275 / 6448.264 - 1.0))


def test_an_economy_starts_from_the_last_quarter_where_none_is_named() -> None:
    state = initial_state(InitialConfig(path=str(US_PATH)), us_series())
    assert (state.interest_rate, state.unemployment) == (0.12, 9.6)


def test_a_quarter_that_the_file_has_not_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        initial_state(InitialConfig(path="us.csv", quarter="1958q4"), us_series())
    assert str(caught.value) == (
        "us.csv: has no quarter 1958q4 (economy.initial.quarter): expected one from 1959q1 to 2009q3"
    )


@pytest.mark.parametrize(("quarter", "before"), [("1959q2", "1 quarter"), ("1959q3", "2 quarters")])
def test_a_quarter_without_a_year_before_it_is_refused(quarter: str, before: str) -> None:
    with pytest.raises(InputError) as caught:
        initial_state(InitialConfig(path="us.csv", quarter=quarter), us_series())
    assert str(caught.value) == (
        f"us.csv: has {before} before {quarter}: expected at least 4, for the inflation of a year"
    )


def test_the_first_quarter_looks_back_on_the_year_before_it_in_the_file() -> None:
    initial = InitialConfig(path=str(US_PATH), quarter="1985q1")
    series, macro = us_series(), MacroConfig()
    at = next(place for place, figures in enumerate(series) if str(figures.quarter) == "1985q1")
    lags, state = initial_lags(initial, macro, series), initial_state(initial, series)
    # The lines of the file: tbilrate of 1985q1, 1984q4 and 1984q3, unemp of 1985q1 and 1984q4.
    assert lags.rates == tuple(series[at - age].interest_rate for age in range(3))
    assert lags.unemployment_change == pytest.approx(series[at].unemployment - series[at - 1].unemployment)
    assert fmean(lags.inflations) == pytest.approx(state.inflation)
    steps = [later.price_index / earlier.price_index for earlier, later in pairwise(series[at - 4 : at + 1])][::-1]
    assert lags.inflations[0] - lags.inflations[3] == pytest.approx(400.0 * math.log(steps[0] / steps[3]))
    assert lags.gaps[0] == pytest.approx(2.0 * (5.9 - state.unemployment))
    grown = 100.0 * math.log(series[at].real_gdp / series[at - 1].real_gdp)
    assert lags.gaps[0] - lags.gaps[1] == pytest.approx(grown - 25.0 * math.log(1.0315))


def test_without_a_file_the_economy_has_been_as_it_starts_for_a_year() -> None:
    initial, macro = InitialConfig(interest_rate=3.0, inflation=5.0, unemployment=7.0), MacroConfig()
    lags = initial_lags(initial, macro)
    gap = output_gap(7.0, macro)
    assert gap == pytest.approx(-2.2)
    assert lags == Lags(gaps=(gap, gap), inflations=(5.0,) * 4, rates=(3.0,) * 3, unemployment=7.0)
