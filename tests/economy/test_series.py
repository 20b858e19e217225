"""Series of quarters, and their files."""

import math
import re
from itertools import pairwise
from statistics import fmean

import pytest

from prism.config import InitialConfig, MacroConfig
from prism.economy.macro import Lags, output_gap
from prism.economy.series import EXPECTED, beginning, parse_series, year_change
from prism.errors import InputError
from prism.quarter import Quarter
from tests.catalogue import catalogue
from tests.economy.history import US_PATH, us_series


def test_the_figures_of_the_united_states_are_whole() -> None:
    series = us_series()
    assert len(series) == 203
    assert (series[0].quarter, series[-1].quarter) == (Quarter(1959, 1), Quarter(2009, 3))
    peak = max(series, key=lambda figures: figures.interest_rate)
    assert (peak.quarter, peak.interest_rate, peak.unemployment) == (Quarter(1981, 2), 15.33, 7.4)


def test_inflation_and_growth_are_those_of_the_year_before() -> None:
    series = us_series()
    assert year_change(series, 3, "price_index") is None
    assert year_change(series, 4, "price_index") == pytest.approx(100.0 * (29.54 / 28.98 - 1.0))
    assert year_change(series, 4, "real_gdp") == pytest.approx(100.0 * (2847.699 / 2710.349 - 1.0))


def test_an_economy_starts_from_the_indicators_given_from_a_quarter_of_the_file_or_from_its_last() -> None:
    macro = MacroConfig()
    state, lags = beginning(InitialConfig(interest_rate=3.0, inflation=5.0, unemployment=7.0), macro)
    assert (state.interest_rate, state.inflation, state.unemployment) == (3.0, 5.0, 7.0)
    assert (state.gdp_growth, state.total_economic_value) == (3.15, 1000.0)
    gap = output_gap(7.0, macro)
    assert gap == pytest.approx(-2.2)
    assert lags == Lags(gaps=(gap, gap), inflations=(5.0,) * 4, rates=(3.0,) * 3, unemployment=7.0), "for a year"
    state, _ = beginning(InitialConfig(path=str(US_PATH), quarter="1985Q1"), macro, us_series())
    assert (state.interest_rate, state.unemployment, state.total_economic_value) == (8.25, 7.3, 6740.275)
    assert state.inflation == pytest.approx(100.0 * (107.0 / 103.3 - 1.0))
    assert state.gdp_growth == pytest.approx(100.0 * (6740.275 / 6448.264 - 1.0))
    state, _ = beginning(InitialConfig(path=str(US_PATH)), macro, us_series())
    assert (state.interest_rate, state.unemployment) == (0.12, 9.6)
    for quarter, problem in (
        ("1958q4", "no quarter 1958q4 (economy.initial.quarter): expected one from 1959q1 to 2009q3"),
        ("1959q2", "1 quarter before 1959q2: expected at least 4, for the inflation of a year"),
        ("1959q3", "2 quarters before 1959q3: expected at least 4, for the inflation of a year"),
    ):
        with pytest.raises(InputError, match=rf"^us\.csv: has {re.escape(problem)}$"):
            beginning(InitialConfig(path="us.csv", quarter=quarter), macro, us_series())


def test_the_first_quarter_looks_back_on_the_year_before_it_in_the_file() -> None:
    series = us_series()
    at = next(place for place, figures in enumerate(series) if str(figures.quarter) == "1985q1")
    state, lags = beginning(InitialConfig(path=str(US_PATH), quarter="1985q1"), MacroConfig(), series)
    # The lines of the file: tbilrate of 1985q1, 1984q4 and 1984q3, unemp of 1985q1 and 1984q4.
    assert lags.rates == tuple(series[at - age].interest_rate for age in range(3))
    assert lags.unemployment_change == pytest.approx(series[at].unemployment - series[at - 1].unemployment)
    assert fmean(lags.inflations) == pytest.approx(state.inflation)
    steps = [later.price_index / earlier.price_index for earlier, later in pairwise(series[at - 4 : at + 1])][::-1]
    assert lags.inflations[0] - lags.inflations[3] == pytest.approx(400.0 * math.log(steps[0] / steps[3]))
    assert lags.gaps[0] == pytest.approx(2.0 * (5.9 - state.unemployment))
    grown = 100.0 * math.log(series[at].real_gdp / series[at - 1].real_gdp)
    assert lags.gaps[0] - lags.gaps[1] == pytest.approx(grown - 25.0 * math.log(1.0315))


HEADER = "year,quarter,realgdp,cpi,tbilrate,unemp\n"
GOOD = HEADER + "1959,1,2710.3,28.98,2.82,5.8\n1959,2,2778.8,29.15,3.08,5.1\n"
MONTHLY = "; a quarter may have one line only: monthly figures must be averaged first"
COLUMNS = f"expected {EXPECTED}"

BAD = {
    "empty": ("", f"f.csv: is empty: {COLUMNS.replace('expected', 'expected a header with')}"),
    "header alone": (HEADER, "f.csv: holds no quarters: expected at least one line below the header"),
    "missing column": (
        "year,quarter,cpi\n1959,1,28.98\n",
        f"f.csv:1: missing column: realgdp, tbilrate, unemp; {COLUMNS}",
    ),
    "column twice": (HEADER.strip() + ",cpi\n", "f.csv:1: 2 columns can be cpi: cpi, cpi; keep one"),
    "no number": (GOOD.replace("29.15", "low"), "f.csv:3: cpi: expected a number above 0, got 'low'"),
    "not finite": (GOOD.replace("2778.8", "inf"), "f.csv:3: realgdp: expected a number above 0, got 'inf'"),
    "out of range": (GOOD.replace("5.1", "510"), "f.csv:3: unemp: expected a percentage from 0 to 100, got '510'"),
    "no such quarter": (GOOD.replace("1959,2", "1959,5"), "f.csv:3: quarter: expected 1, 2, 3 or 4, got '5'"),
    "a word for a quarter": (GOOD.replace("1959,2", "1959,two"), "f.csv:3: quarter: expected 1, 2, 3 or 4, got 'two'"),
    "year of two digits": (GOOD.replace("1959,1", "59,1"), "f.csv:2: year: expected a year such as 1985, got '59'"),
    "same quarter twice": (
        GOOD.replace("1959,2", "1959,1"),
        f"f.csv:3: quarter: expected 1959q2 after 1959q1, got 1959q1{MONTHLY}",
    ),
    "backwards": (GOOD.replace("1959,2", "1958,4"), "f.csv:3: quarter: expected 1959q2 after 1959q1, got 1958q4"),
    "gap": (GOOD.replace("1959,2", "1959,3"), "f.csv:3: quarter: expected 1959q2 after 1959q1, got 1959q3"),
    "short line": (GOOD + "1959,3,2775.5\n", "f.csv:4: expected 6 columns, got 3"),
    "open quote": (GOOD + '"1959,3', "f.csv:4: bad CSV: unexpected end of data"),
}


@catalogue(("text", "line"), BAD.values())
def test_a_bad_file_is_refused_in_one_line_that_names_the_place(text: str, line: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_series(text.encode(), "f.csv")
    assert str(caught.value) == line


def test_a_file_of_another_format_is_refused() -> None:
    with pytest.raises(
        InputError, match=r"expected quarterly figures in \.csv, \.tsv, \.parquet \(also \.gz\), got \.xlsx"
    ):
        parse_series(b"", "f.xlsx")


def test_a_file_is_read_whatever_its_line_ends_mark_and_order_of_columns() -> None:
    shuffled = "unemp, CPI,Year,note,quarter,tbilrate,realgdp\r\n5.8,28.98,1959,x,1,2.82,2710.3\r\n\r\n"
    (figures,) = parse_series(b"\xef\xbb\xbf" + shuffled.encode(), "f.csv.gz").quarters
    assert figures == parse_series(GOOD.encode(), "f.csv").quarters[0]
