"""Quarterly figures as statistical offices and spreadsheets write them: read as they are meant, or refused."""

from decimal import Decimal

import pytest
from hypothesis import event, example, given
from hypothesis import strategies as st

from prism.economy.series import EXPECTED as NAMES
from prism.economy.series import Figures, Series, parse_series
from prism.errors import InputError
from tests.catalogue import catalogue

PLAIN = "year,quarter,realgdp,cpi,tbilrate,unemp\n"
FRED = "observation_date,GDPC1,CPIAUCSL,TB3MS,UNRATE\n"
FIRST, SECOND = "2001,3,12500.5,177.6,3.27,4.8", "2001,4,12600.25,177.5,1.91,5.5"
EXPECTED = parse_series(f"{PLAIN}{FIRST}\n{SECOND}\n".encode(), "plain.csv")


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
}


@catalogue("text", SAME.values())
def test_equal_figures_are_read_however_they_are_written(text: str) -> None:
    assert read(text) == EXPECTED


@catalogue("missing", ["", ".", "..", "NA", "n/a", "#N/A", "NaN", "null", " - "])
def test_quarters_at_an_end_that_lack_a_figure_are_left_out_and_named(missing: str) -> None:
    first = f"2001,2,{missing},177.5,3.66,{missing}\n"
    found = read(f"{PLAIN}{first}{FIRST}\n{SECOND}\n2002,1,12700,178,1.72,{missing}\n")
    assert found.quarters == EXPECTED.quarters
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
GDPC1,CPIAUCSL,TB3MS,UNRATE\n1,1,1,1 => f.csv:1: missing column: year and quarter, or a date; expected {NAMES}
"""
HEADERS = {"PLAIN": PLAIN, "FRED": FRED, "SEMICOLONS": PLAIN.replace(",", ";")}


@catalogue("case", REFUSED.replace("\\\n", "").strip().splitlines())
def test_what_cannot_be_read_for_certain_is_one_line(case: str) -> None:
    text, line = case.replace(r"\n", "\n").split(" => ")
    for name, header in HEADERS.items():
        text = text.replace(name, header)
    with pytest.raises(InputError) as caught:
        read(f"{text}\n")
    assert str(caught.value) == line


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
