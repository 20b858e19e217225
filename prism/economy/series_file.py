"""Files of quarterly figures, as statistical offices and spreadsheets write them.

A number may have a decimal comma and thousands separators, a quarter may be a date, and the last quarters may lack
figures. All numbers of a file together decide its notation, and a file that can be read in two ways is refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from prism.economy.series import Figures, Series, lacking_text
from prism.errors import InputError
from prism.quarter import Quarter
from prism.text_files import TABLES, check_format, decode_text, read_table


class _Column(NamedTuple):
    """A column of figures: its names, in lower case, and the range of its numbers."""

    name: str
    series_ids: tuple[str, ...]
    """The names of the same figures in FRED, the database of the Federal Reserve Bank of St. Louis."""
    least: float
    most: float
    expected: str


class _Cell(NamedTuple):
    """A number in a file, as it is written there."""

    column: _Column
    line: int
    text: str


_FIGURES: Final = (
    _Column("realgdp", ("gdpc1",), 1e-9, 1e15, "a number above 0"),
    _Column("cpi", ("cpiaucsl", "cpiaucns"), 1e-9, 1e15, "a number above 0"),
    _Column("tbilrate", ("tb3ms", "fedfunds"), -10.0, 100.0, "a percentage from -10 to 100"),
    _Column("unemp", ("unrate", "unratensa"), 0.0, 100.0, "a percentage from 0 to 100"),
)
_DATES: Final = ("date", "observation_date")
_NAMES: Final = tuple(column.name for column in _FIGURES)
_KNOWN: Final = {each: column.name for column in _FIGURES for each in (column.name, *column.series_ids)} | {
    "year": "year",
    "quarter": "quarter",
    **dict.fromkeys(_DATES, "date"),
}
"""`{name in a file: the column that it is}`."""
EXPECTED: Final = f"year, quarter, {', '.join(_NAMES)}; or a date, GDPC1, CPIAUCSL, TB3MS, UNRATE"
"""The columns that a file must have; others may be in it too."""
_MISSING: Final = frozenset({"", ".", "..", "-", "na", "n/a", "#n/a", "nan", "null", "none"})

_WITH_POINT = re.compile(r"[-+]?([0-9]+|[0-9]{1,3}(,[0-9]{3})+)\.[0-9]*([eE][-+]?[0-9]+)?")
_WITH_COMMA = re.compile(r"[-+]?([0-9]+|[0-9]{1,3}(\.[0-9]{3})+),[0-9]*([eE][-+]?[0-9]+)?")
_THOUSANDS_BY_COMMA = re.compile(r"[-+]?[1-9][0-9]{0,2}(,[0-9]{3})+")
_THOUSANDS_BY_POINT = re.compile(r"[-+]?[1-9][0-9]{0,2}(\.[0-9]{3})+")

_WHOLE = re.compile(r"[-+]?[0-9]+")

_LEAST_GROUPED: Final = 1000
"""The smallest number with thousands separators."""

_DATE = re.compile(r"([1-9][0-9]{3})-(0[1-9]|1[0-2])(?:-([0-3][0-9]))?(?:[T ].*)?")
_QUARTER = re.compile(r"([1-9][0-9]{3})[-: ]?q([1-4])|q([1-4])[-/: ]?([1-9][0-9]{3})")
_QUARTERS_OF_YEAR: Final = {0.0: 1, 0.25: 2, 0.5: 3, 0.75: 4}


def is_series(columns: Iterable[str]) -> bool:
    """Return whether a file with columns of these names, in lower case, has quarterly figures."""
    return {_KNOWN.get(name) for name in columns} >= {*_NAMES}


def parse_series(data: bytes, source: str) -> Series:
    """Return the quarters in a CSV file. Those at its ends that lack a figure are left out.

    Raises:
        InputError: the file cannot be read in full, or in more than one way; the message names the line and the column.
    """
    check_format(source, "quarterly figures", TABLES)
    text = decode_text(data, source)
    table = read_table(text, source, _KNOWN)
    if not table.header:
        raise InputError(source, f"is empty: expected a header with {EXPECTED}")
    # The index of each column in a row: `date` or `year` and `quarter`, and the figures.
    columns = [_KNOWN.get(name.strip().lower()) for name in table.header]
    missing = [name for name in _NAMES if name not in columns]
    if not {"date", "year", "quarter"} & {*columns}:
        missing.insert(0, "year and quarter, or a date")
    if missing:
        raise InputError(source, f"missing column: {', '.join(missing)}; expected {EXPECTED}", line=table.line)
    for name in ("date", "year", "quarter", *_NAMES):
        same = [table.header[place].strip() for place, column in enumerate(columns) if column == name]
        if len(same) > 1:
            problem = f"{len(same)} columns can be {name}: {', '.join(same)}; keep one"
            raise InputError(source, problem, line=table.line)
    places = {name: place for place, name in enumerate(columns) if name is not None}
    named = [(line, {name: fields[place] for name, place in places.items()}) for line, fields in table.rows]
    if not named:
        raise InputError(source, "holds no quarters: expected at least one line below the header")
    cells = [_Cell(column, line, row[column.name]) for line, row in named for column in _FIGURES]
    # The character before the decimals, by all numbers of a file: a point, or a comma.
    points = [each for each in cells if _has_decimals(each, _WITH_POINT, _THOUSANDS_BY_POINT)]
    commas = [each for each in cells if _has_decimals(each, _WITH_COMMA, _THOUSANDS_BY_COMMA)]
    if points and commas:
        problem = f"numbers have both a decimal point ({points[0].text}) and a decimal comma ({commas[0].text})"
        raise InputError(source, f"{problem}: expected one in the whole file", line=max(points[0].line, commas[0].line))
    either = [each for each in cells if not points and not commas and _WITH_COMMA.fullmatch(each.text)]
    # Where the comma separates columns, the decimals of a file follow a point.
    either += _either_by_point(cells, is_decided=bool(points)) if not commas and table.separator != "," else []
    if either:
        text, mark = either[0].text, "comma" if "," in either[0].text else "point"
        problem = f"{text} may have a decimal {mark} or thousands separators, and no other number of its column tells"
        expected = f"{text.replace(',', '').replace('.', '')}, or {text}0 with a decimal {mark}"
        raise InputError(source, f"{problem}: expected {expected}", line=either[0].line)
    quarters = [_quarter(row, source, line) for line, row in named]
    for (before, after), (line, _) in zip(pairwise(quarters), named[1:], strict=True):
        if after != before.following:
            problem = f"expected {before.following} after {before}, got {after}"
            if after == before:
                problem += "; a quarter may have one line only: monthly figures must be averaged first"
            raise InputError(source, problem, key="quarter", line=line)
    point = "," if commas else "."
    found = [_figures(quarter, row, point, source, line) for quarter, (line, row) in zip(quarters, named, strict=True)]
    # The quarters between the first and the last whose figures are all there.
    whole = [place for place, each in enumerate(found) if isinstance(each, Figures)]
    if not whole:
        raise InputError(source, "no quarter has all of its figures: expected at least one")
    lacking = [
        (place, quarter, each)
        for place, (quarter, each) in enumerate(zip(quarters, found, strict=True))
        if not isinstance(each, Figures)
    ]
    inside = [(quarter, each) for place, quarter, each in lacking if whole[0] < place < whole[-1]]
    if inside:
        problem = f"figures are missing between others: {lacking_text(inside)}; expected them in every quarter"
        raise InputError(source, problem)
    kept = tuple(each for each in found if isinstance(each, Figures))
    return Series(kept, tuple((quarter, each) for _, quarter, each in lacking))


def _has_decimals(cell: _Cell, decimals: re.Pattern[str], thousands: re.Pattern[str]) -> bool:
    """Return whether a number has decimals for certain: as thousands it would look different, or be too large."""
    may_have_thousands = cell.column.most >= _LEAST_GROUPED and thousands.fullmatch(cell.text)
    return decimals.fullmatch(cell.text) is not None and not may_have_thousands


def _either_by_point(cells: Sequence[_Cell], *, is_decided: bool) -> list[_Cell]:
    """Return the numbers whose point may stand before decimals or between thousands.

    Args:
        is_decided: True if another number has a decimal point. A column with both 999 and 1.001 counts all the same.
    """
    found = []
    for column in _FIGURES:
        own = [each for each in cells if each.column is column]
        pointed = [each for each in own if _WITH_POINT.fullmatch(each.text)]
        if any(_has_decimals(each, _WITH_POINT, _THOUSANDS_BY_POINT) for each in pointed):
            continue
        if not is_decided or any(_WHOLE.fullmatch(each.text) for each in own):
            found += pointed
    return found


def _value(cell: str, point: str) -> float:
    thousands = _THOUSANDS_BY_POINT if point == "," else _THOUSANDS_BY_COMMA
    decimals = _WITH_COMMA if point == "," else _WITH_POINT
    if thousands.fullmatch(cell) or decimals.fullmatch(cell):
        cell = cell.replace("." if point == "," else ",", "").replace(",", ".")
    return float(cell)


def _quarter(row: Mapping[str, str], source: str, line: int) -> Quarter:
    """Return the quarter of a row: by its date, by its year and quarter, or by one of the two that names both."""
    if "date" in row:
        return _dated(row["date"], "date", source, line)
    if "year" not in row:
        return _dated(row["quarter"], "quarter", source, line)
    try:
        year = _value(row["year"], "," if "," in row["year"] else ".")
    except ValueError:
        year = math.nan
    number = _QUARTERS_OF_YEAR.get(year % 1.0) if "quarter" not in row else 1
    if not 1000.0 <= year < 10000.0 or number is None or ("quarter" in row and year % 1.0):
        raise InputError(source, f"expected a year such as 1985, got {row['year'][:60]!r}", key="year", line=line)
    if "quarter" in row:
        text = re.fullmatch(r"[qQ]?([1-4])([.,]0*)?", row["quarter"])
        if text is None:
            problem = f"expected 1, 2, 3 or 4, got {row['quarter'][:60]!r}"
            raise InputError(source, problem, key="quarter", line=line)
        number = int(text[1])
    return Quarter(int(year), number)


def _dated(text: str, key: str, source: str, line: int) -> Quarter:
    """Return the quarter that a date or a label such as 1985Q1 lies in."""
    if found := _DATE.fullmatch(text):
        return Quarter(int(found[1]), (int(found[2]) + 2) // 3)
    if found := _QUARTER.fullmatch(text.lower()):
        return Quarter(int(found[1] or found[4]), int(found[2] or found[3]))
    problem = f"expected a date such as 1985-01-01, or a quarter such as 1985Q1, got {text[:60]!r}"
    raise InputError(source, problem, key=key, line=line)


def _figures(quarter: Quarter, row: Mapping[str, str], point: str, source: str, line: int) -> Figures | tuple[str, ...]:
    missing = tuple(column.name for column in _FIGURES if row[column.name].lower() in _MISSING)
    if missing:
        return missing
    gdp, cpi, rate, unemployment = (_number(row[column.name], column, point, source, line) for column in _FIGURES)
    return Figures(quarter=quarter, real_gdp=gdp, price_index=cpi, interest_rate=rate, unemployment=unemployment)


def _number(cell: str, column: _Column, point: str, source: str, line: int) -> float:
    try:
        value = _value(cell, point)
    except ValueError:
        value = math.nan
    if not column.least <= value <= column.most:
        raise InputError(source, f"expected {column.expected}, got {cell[:60]!r}", key=column.name, line=line)
    return value
