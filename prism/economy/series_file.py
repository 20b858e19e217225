"""Files of quarterly figures, as statistical offices and spreadsheets write them.

Decimals follow a point, a quarter may be a date, and the last quarters may lack figures. A number that can be read in
two ways is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from prism.economy.series import Figures, Series, lacking_text
from prism.errors import InputError
from prism.quarter import Quarter
from prism.text_files import TABLES, check_format, decode_text, plain_number, read_table


class _Column(NamedTuple):
    """A column of figures: its names, in lower case, and the range of its numbers."""

    name: str
    series_ids: tuple[str, ...]
    """The names of the same figures in FRED, the database of the Federal Reserve Bank of St. Louis."""
    least: float
    most: float
    expected: str


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

_GROUPS_BY_POINT = re.compile(r"[-+]?[1-9][0-9]{0,2}\.[0-9]{3}")
"""A number whose point may be decimal, or stand between thousands."""
_LEAST_GROUPED: Final = 1000
"""The smallest number with thousands separators."""

_DATE = re.compile(r"([1-9][0-9]{3})-(0[1-9]|1[0-2])(?:-([0-3][0-9]))?(?:[T ].*)?")
_QUARTER = re.compile(r"([1-9][0-9]{3})[-: ]?q([1-4])|q([1-4])[-/: ]?([1-9][0-9]{3})")


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
    if table.separator != ",":  # where commas separate columns, no file has points between thousands
        _check_points(named, source)
    quarters = [_quarter(row, source, line) for line, row in named]
    for (before, after), (line, _) in zip(pairwise(quarters), named[1:], strict=True):
        if after != before.following:
            problem = f"expected {before.following} after {before}, got {after}"
            if after == before:
                problem += "; a quarter may have one line only: monthly figures must be averaged first"
            raise InputError(source, problem, key="quarter", line=line)
    # The decimals of a file follow a point if commas separate its columns, and one of its numbers has a point.
    has_points = any("." in row[column.name].strip(".") for _, row in named for column in _FIGURES)
    by_comma = table.separator == "," and has_points
    found = [
        _figures(quarter, row, source, line, by_comma=by_comma)
        for quarter, (line, row) in zip(quarters, named, strict=True)
    ]
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


def _check_points(rows: Sequence[tuple[int, Mapping[str, str]]], source: str) -> None:
    """Refuse a column in which no number tells whether points are decimal or stand between thousands."""
    for column in _FIGURES:
        pointed = [(line, row[column.name]) for line, row in rows if "." in row[column.name].strip(".")]
        if column.most < _LEAST_GROUPED or not all(_GROUPS_BY_POINT.fullmatch(text) for _, text in pointed):
            continue
        for line, text in pointed:
            expected = f"{text.replace('.', '')}, or {text}0"
            problem = f"{text} may have a decimal point or thousands separators: expected {expected}"
            raise InputError(source, problem, key=column.name, line=line)


def _quarter(row: Mapping[str, str], source: str, line: int) -> Quarter:
    """Return the quarter of a row: by its date, by its year and quarter, or by one of the two that names both."""
    if "date" in row:
        return _dated(row["date"], "date", source, line)
    if "year" not in row:
        return _dated(row["quarter"], "quarter", source, line)
    year = re.fullmatch(r"([1-9][0-9]{3})(?:\.0*)?", row["year"])
    if year is None:
        raise InputError(source, f"expected a year such as 1985, got {row['year'][:60]!r}", key="year", line=line)
    number = re.fullmatch(r"[qQ]?([1-4])(?:\.0*)?", row.get("quarter", ""))
    if number is None:
        problem = f"expected 1, 2, 3 or 4, got {row.get('quarter', '')[:60]!r}"
        raise InputError(source, problem, key="quarter", line=line)
    return Quarter(int(year[1]), int(number[1]))


def _dated(text: str, key: str, source: str, line: int) -> Quarter:
    """Return the quarter that a date or a label such as 1985Q1 lies in."""
    if found := _DATE.fullmatch(text):
        return Quarter(int(found[1]), (int(found[2]) + 2) // 3)
    if found := _QUARTER.fullmatch(text.lower()):
        return Quarter(int(found[1] or found[4]), int(found[2] or found[3]))
    problem = f"expected a date such as 1985-01-01, or a quarter such as 1985Q1, got {text[:60]!r}"
    raise InputError(source, problem, key=key, line=line)


def _figures(
    quarter: Quarter, row: Mapping[str, str], source: str, line: int, *, by_comma: bool
) -> Figures | tuple[str, ...]:
    """Return the figures of a row, or the names of those that it lacks."""
    missing = tuple(column.name for column in _FIGURES if row[column.name].lower() in _MISSING)
    if missing:
        return missing
    found = []
    for column in _FIGURES:
        cell = row[column.name]
        # A single comma may be decimal, unless a point follows or the file shows its decimals.
        is_clear = cell.count(",") != 1 or by_comma or "." in cell
        value = plain_number(cell) if is_clear else None
        if value is None or not column.least <= value <= column.most:
            told = ", with a point before decimals" if "," in cell else ""
            problem = f"expected {column.expected}{told}, got {cell[:60]!r}"
            raise InputError(source, problem, key=column.name, line=line)
        found.append(value)
    gdp, cpi, rate, unemployment = found
    return Figures(quarter=quarter, real_gdp=gdp, price_index=cpi, interest_rate=rate, unemployment=unemployment)
