from __future__ import annotations

import pytest

from prism.economy.series_file import EXPECTED, parse_series
from prism.errors import InputError
from tests.catalogue import catalogue

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
