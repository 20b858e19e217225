"""Series of quarters, and their files: read as they are meant, or refused."""

import math
import re
from decimal import Decimal
from itertools import pairwise
from statistics import fmean

import pytest
from hypothesis import event, example, given
from hypothesis import strategies as st

from prism.config import InitialConfig, MacroConfig
from prism.economy.macro import Lags, output_gap
from prism.economy.series import EXPECTED, Figures, Series, beginning, parse_series, year_change
from prism.errors import InputError
from prism.quarter import Quarter
from tests.catalogue import catalogue
from tests.economy.support import US_PATH, us_series


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


PLAIN = "year,quarter,realgdp,cpi,tbilrate,unemp\n"
FRED = "observation_date,GDPC1,CPIAUCSL,TB3MS,UNRATE\n"
FIRST, SECOND = "2001,3,12500.5,177.6,3.27,4.8", "2001,4,12600.25,177.5,1.91,5.5"
READ = parse_series(f"{PLAIN}{FIRST}\n{SECOND}\n".encode(), "plain.csv")


def read(text: str, name: str = "f.csv") -> Series:
    return parse_series(text.encode(), name)


SAME = {
    "series of FRED by dates": f"{FRED}2001-07-01,12500.5,177.6,3.27,4.8\n2001-10-01,12600.25,177.5,1.91,5.5\n",
    "the last days of quarters": f"{FRED}2001-09-30,12500.5,177.6,3.27,4.8\n2001-12-31,12600.25,177.5,1.91,5.5\n",
    "dates with a time": f"{FRED}2001-07-01 00:00:00,12500.5,177.6,3.27,4.8\n2001-10-01T00:00,12600.25,177.5,1.91,5.5",
    "labels as dates": "date,unrate,gdpc1,cpiaucns,fedfunds\n"
    "2001Q3,4.8,12500.5,177.6,3.27\n2001-Q4,5.5,12600.25,177.5,1.91\n",
    "the quarter before the year": f"{FRED}Q3 2001,12500.5,177.6,3.27,4.8\nQ4/2001,12600.25,177.5,1.91,5.5\n",
    "a label in the column of quarters": PLAIN.removeprefix("year,")
    + "2001q3,12500.5,177.6,3.27,4.8\n2001:Q4,12600.25,177.5,1.91,5.5\n",
    "whole numbers made floats": f"{PLAIN}2001.0,3.0,12500.5,177.6,3.27,4.8\n2001.0,4.0,12600.25,177.5,1.91,5.5\n",
    "quarters with a letter": f"{PLAIN}2001,Q3,12500.5,177.6,3.27,4.8\n2001,q4,12600.25,177.5,1.91,5.5\n",
    "thousands separators": f'{PLAIN}2001,3,"12,500.5",177.6,3.27,4.8\n2001,4,"12,600.25",177.5,1.91,5.5\n',
    "tabs": f"{PLAIN}{FIRST}\n{SECOND}\n".replace(",", "\t"),
    "an index before the columns": f",{PLAIN}0,{FIRST}\n1,{SECOND}\n",
    "a mark, old line ends, blank lines, and columns in another order and other cases": "\ufeffunemp, CPI,Year,note,"
    "quarter,tbilrate,realgdp\r\n4.8,177.6,2001,x,3,3.27,12500.5\r\n\r\n5.5,177.5,2001,,4,1.91,12600.25\r\n",
}


@catalogue("text", SAME.values())
def test_equal_figures_are_read_however_they_are_written(text: str) -> None:
    assert read(text, "f.csv.gz") == READ


@catalogue("missing", ["", ".", "..", "NA", "n/a", "#N/A", "NaN", "null", " - "])
def test_quarters_at_an_end_that_lack_a_figure_are_left_out_and_named(missing: str) -> None:
    first = f"2001,2,{missing},177.5,3.66,{missing}\n"
    found = read(f"{PLAIN}{first}{FIRST}\n{SECOND}\n2002,1,12700,178,1.72,{missing}\n")
    assert found.quarters == READ.quarters
    assert found.understood("f.csv") == (
        "f.csv: 2 quarters, 2001q3 to 2001q4",
        "f.csv: left out at the ends: 2001q2 (no realgdp and no unemp), 2002q1 (no unemp)",
    )


REFUSED = rf"""
PLAIN2001,1,1,1,1,1\n2001,2,1,1,.,1\n2001,3,1,,1,\n2001,4,1,1,1,1 => f.csv: figures are missing between others: \
2001q2 (no tbilrate), 2001q3 (no cpi and no unemp); expected them in every quarter
FRED2001-07-01,1,1,1,1\n2001-08-01,1,1,1,1 => f.csv:3: quarter: expected 2001q4 after 2001q3, got 2001q3; \
a quarter may have one line only: monthly figures must be averaged first
FRED1/4/2001,1,1,1,1 => \
f.csv:2: date: expected a date such as 1985-01-01, or a quarter such as 1985Q1, got '1/4/2001'
PLAIN2001.25,1,1,1,1,1 => f.csv:2: year: expected a year such as 1985, got '2001.25'
SEMICOLONS2001;3;12,500;177;3;5 => \
f.csv:2: realgdp: expected a number above 0, with a point before decimals, got '12,500'
PLAIN2001,3,"12,500",177,3,5 => \
f.csv:2: realgdp: expected a number above 0, with a point before decimals, got '12,500'
SEMICOLONS2001;1;995;100;3;5\n2001;2;997;101;3;5\n2001;3;999;102;3;5\n2001;4;1.001;103;3;5\n2002;1;1.004;104;3;5 => \
f.csv:5: realgdp: 1.001 may have a decimal point or thousands separators: expected 1001, or 1.0010
GDPC1,CPIAUCSL,TB3MS,UNRATE\n1,1,1,1 => f.csv:1: missing column: year and quarter, or a date; expected {EXPECTED}
PLAIN2001,1,1,1,1,1\n2001,2,1,low,1,1 => f.csv:3: cpi: expected a number above 0, got 'low'
PLAIN2001,1,inf,1,1,1 => f.csv:2: realgdp: expected a number above 0, got 'inf'
PLAIN2001,1,1,1,1,510 => f.csv:2: unemp: expected a percentage from 0 to 100, got '510'
PLAIN2001,5,1,1,1,1 => f.csv:2: quarter: expected 1, 2, 3 or 4, got '5'
PLAIN2001,two,1,1,1,1 => f.csv:2: quarter: expected 1, 2, 3 or 4, got 'two'
PLAIN59,1,1,1,1,1 => f.csv:2: year: expected a year such as 1985, got '59'
PLAIN2001,1,1,1,1,1\n2000,4,1,1,1,1 => f.csv:3: quarter: expected 2001q2 after 2001q1, got 2000q4
PLAIN2001,1,1,1,1,1\n2001,3,1,1,1,1 => f.csv:3: quarter: expected 2001q2 after 2001q1, got 2001q3
PLAIN2001,1,1,1,1,1\n2001,2,1 => f.csv:3: expected 6 columns, got 3
PLAIN2001,1,1,1,1,1\n"2001,2 => f.csv:3: bad CSV: unexpected end of data
PLAIN => f.csv: holds no quarters: expected at least one line below the header
 => f.csv: is empty: expected a header with {EXPECTED}
year,quarter,cpi\n1,1,1 => f.csv:1: missing column: realgdp, tbilrate, unemp; expected {EXPECTED}
year,quarter,realgdp,cpi,tbilrate,unemp,cpi\n1,1,1,1,1,1,1 => f.csv:1: 2 columns can be cpi: cpi, cpi; keep one
"""
HEADERS = {"PLAIN": PLAIN, "FRED": FRED, "SEMICOLONS": PLAIN.replace(",", ";")}


@catalogue("case", REFUSED.replace("\\\n", "").strip().splitlines())
def test_what_cannot_be_read_for_certain_is_one_line(case: str) -> None:
    text, line = case.replace(r"\n", "\n").split(" => ")
    for name, header in HEADERS.items():
        text = text.replace(name, header)
    with pytest.raises(InputError) as caught:
        read(text)
    assert str(caught.value) == line


def test_a_file_of_another_format_is_refused() -> None:
    with pytest.raises(InputError, match=r"figures in \.csv, \.tsv, \.parquet \(also \.gz\), got \.xlsx"):
        read("", "f.xlsx")


def written(number: Decimal, style: tuple[str, str], *, is_short: bool) -> str:
    """A number with the thousands separator and the decimal point of a style, with or without zeros at its end."""
    text = f"{number:,f}"
    if is_short and "." in text:
        text = text.rstrip("0").rstrip(".")
    return text.translate(str.maketrans(",.", "\0\1")).replace("\0", style[0]).replace("\1", style[1])


@given(
    figures=st.lists(st.tuples(*[st.integers(1, 99) | st.integers(900, 1_100_000)] * 4), min_size=1, max_size=4),
    digits=st.tuples(*[st.sampled_from([0, 3, 1])] * 4),
    style=st.sampled_from([("", "."), (",", "."), ("", ","), (".", ",")]),
    separator=st.sampled_from(";\t|"),
    is_short=st.booleans(),
)
@example(figures=[(995, 1, 1, 1), (1001, 1, 1, 1)], digits=(0,) * 4, style=(".", ","), separator=";", is_short=False)
@example(figures=[(995, 1, 1, 1), (1001, 1, 1, 1)], digits=(3,) * 4, style=("", "."), separator=";", is_short=True)
def test_a_table_is_read_right_or_refused_whatever_its_numbers_look_like(
    figures: list[tuple[int, ...]], digits: tuple[int, ...], style: tuple[str, str], separator: str, *, is_short: bool
) -> None:
    most = [10**9, 10**9, *(100 * 10**places for places in digits[2:])]  # rates are at most 100
    cells = [[min(cell, cell % largest + 1) for cell, largest in zip(row, most, strict=True)] for row in figures]
    numbers = [[Decimal(cell).scaleb(-places) for cell, places in zip(row, digits, strict=True)] for row in cells]
    table = [["Date", "GDPC1", "CPIAUCSL", "TB3MS", "UNRATE"]]
    for place, row in enumerate(numbers):
        table.append([f"1990Q{place + 1}", *(written(each, style, is_short=is_short) for each in row)])
    try:
        found = read("\n".join(map(separator.join, table))).quarters
    except InputError:
        event("refused")
        return
    event("read")
    assert [numbers_of(each) for each in found] == [tuple(map(float, row)) for row in numbers]


def numbers_of(figures: Figures) -> tuple[float, ...]:
    return figures.real_gdp, figures.price_index, figures.interest_rate, figures.unemployment
