"""Quarterly figures of a real economy, as statistical offices write them, and the start of a run from a quarter.

Decimals follow a point, a quarter may be a date, and the last quarters may lack figures. A number that can be read in
two ways is refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final, Literal, NamedTuple

import msgspec

from prism.config.model import InitialConfig, MacroConfig
from prism.economy.macro import Economy, Lags, output_gap
from prism.errors import InputError
from prism.models import GlobalState
from prism.quarter import Quarter
from prism.text_files import POINTS, TABLES, check_format, decode_text, plain_number, read_table
from prism.wording import counted

YEAR_QUARTERS: Final = 4


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of one quarter."""

    quarter: Quarter
    real_gdp: float  # in any unit of constant prices
    price_index: float  # consumer prices, with any quarter as 100
    interest_rate: float  # the short-term rate, in percent
    unemployment: float  # in percent


class Series(NamedTuple):
    """The quarters of a file, in order and without gaps."""

    quarters: tuple[Figures, ...]
    # `{quarter at an end of the file: the columns in which it lacks a figure}`
    left_out: Mapping[Quarter, tuple[str, ...]] = {}

    def understood(self, source: str) -> tuple[str, ...]:
        """Return a line with the quarters of the file, and one with those that are left out, if any are."""
        first, last = self.quarters[0].quarter, self.quarters[-1].quarter
        line = f"{source}: {counted(len(self.quarters), 'quarter')}, {first} to {last}"
        return (line, f"{source}: left out at the ends: {_lacking(self.left_out)}")[: 1 + bool(self.left_out)]


def _lacking(quarters: Mapping[Quarter, Sequence[str]]) -> str:
    return ", ".join(f"{quarter} (no {' and no '.join(missing)})" for quarter, missing in quarters.items())


def year_change(series: Sequence[Figures], index: int, of: Literal["price_index", "real_gdp"]) -> float | None:
    """Return the rise of a figure over the year up to `index`, in percent; None without four quarters before it."""
    if index < YEAR_QUARTERS:
        return None
    return 100.0 * (float(getattr(series[index], of)) / float(getattr(series[index - YEAR_QUARTERS], of)) - 1.0)


def quarter_inflation(series: Sequence[Figures], index: int) -> float:
    """Return the rise of prices from the quarter before `index`, which is 1 or more, in percent a year.

    It is four times the difference of logarithms, as in Rudebusch & Svensson (1999).
    """
    return 100.0 * YEAR_QUARTERS * math.log(series[index].price_index / series[index - 1].price_index)


def beginning(initial: InitialConfig, macro: MacroConfig, series: Sequence[Figures] = ()) -> Economy:
    """Return the indicators at the start, and the past of the first quarter.

    With a file, inflation and growth are those of the year up to the quarter, so that one unusual quarter does not
    decide the course of a run. The output gap is the one that Okun's law gives, and the one before it differs by the
    growth of the quarter. Without a file, the economy was constant for a year before the start.

    Args:
        series: the quarters of the file at `initial.path`, if there is one.

    Raises:
        InputError: the quarter is not in the series, or has no whole year before it.
    """
    if initial.path is None:
        state = GlobalState(**{name: getattr(initial, name) for name in GlobalState.__struct_fields__})
        return Economy(state, Lags.beginning(state, macro))
    place = _place(initial, series)
    now, before = series[place], series[place - 1]
    inflation, growth = year_change(series, place, "price_index"), year_change(series, place, "real_gdp")
    if inflation is None or growth is None:
        told = f"has {counted(place, 'quarter')} before {now.quarter}"
        raise InputError(initial.path, f"{told}: expected at least 4, for the inflation of a year")
    state = GlobalState(
        interest_rate=now.interest_rate,
        inflation=inflation,
        gdp_growth=growth,
        unemployment=now.unemployment,
        total_economic_value=now.real_gdp,
    )
    p1, p2, p3, p4 = (quarter_inflation(series, place - age) for age in range(4))
    r1, r2, r3 = (series[place - age].interest_rate for age in range(3))
    gap, grown = output_gap(state.unemployment, macro), 100.0 * math.log(now.real_gdp / before.real_gdp)
    lags = Lags(
        gaps=(gap, gap - grown + 25.0 * math.log1p(macro.trend_growth / 100.0)),
        inflations=(p1, p2, p3, p4),
        rates=(r1, r2, r3),
        unemployment=state.unemployment,
        unemployment_change=state.unemployment - before.unemployment,
    )
    return Economy(state, lags.moved_to(state, macro))


def start_text(source: str, initial: InitialConfig, series: Sequence[Figures], state: GlobalState) -> str:
    """Return a line with the quarter of a file that a run starts from, and its indicators."""
    return (
        f"{source}: the run starts from {series[_place(initial, series)].quarter}: interest rate "
        f"{state.interest_rate:.4g}%, inflation {state.inflation:.4g}% a year, growth {state.gdp_growth:.4g}% a year, "
        f"unemployment {state.unemployment:.4g}%, real GDP {state.total_economic_value:,.6g}"
    )


def _place(initial: InitialConfig, series: Sequence[Figures]) -> int:
    if initial.quarter is None:
        return len(series) - 1
    wanted = Quarter.parse(initial.quarter)
    found = next((place for place, figures in enumerate(series) if figures.quarter == wanted), None)
    if found is None:
        problem = f"has no quarter {wanted} (economy.initial.quarter): expected one from {series[0].quarter} to "
        raise InputError(str(initial.path), f"{problem}{series[-1].quarter}")
    return found


class _Column(NamedTuple):
    """A column of figures: its names, in lower case, and the range of its numbers."""

    name: str
    series_ids: tuple[str, ...]
    """The names of the same figures in FRED, the database of the Federal Reserve Bank of St. Louis."""
    least: float
    most: float
    expected: str


_FIGURES: Final = {
    "real_gdp": _Column("realgdp", ("gdpc1",), 1e-9, 1e15, "a number above 0"),
    "price_index": _Column("cpi", ("cpiaucsl", "cpiaucns"), 1e-9, 1e15, "a number above 0"),
    "interest_rate": _Column("tbilrate", ("tb3ms", "fedfunds"), -10.0, 100.0, "a percentage from -10 to 100"),
    "unemployment": _Column("unemp", ("unrate", "unratensa"), 0.0, 100.0, "a percentage from 0 to 100"),
}
_NAMES: Final = tuple(column.name for column in _FIGURES.values())
_KNOWN: Final = {each: column.name for column in _FIGURES.values() for each in (column.name, *column.series_ids)} | {
    "year": "year",
    "quarter": "quarter",
    "date": "date",
    "observation_date": "date",
}
"""`{name in a file: the column that it is}`."""
EXPECTED: Final = f"year, quarter, {', '.join(_NAMES)}; or a date, GDPC1, CPIAUCSL, TB3MS, UNRATE"
"""The columns that a file must have; others may be in it too."""
_MISSING: Final = frozenset({"", ".", "..", "-", "na", "n/a", "#n/a", "nan", "null", "none"})

_LEAST_GROUPED: Final = 1000  # the smallest number with thousands separators

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
    table = read_table(decode_text(data, source), source, _KNOWN)
    if not table.header:
        raise InputError(source, f"is empty: expected a header with {EXPECTED}")
    # 1. The place of each column in a row: `date` or `year` and `quarter`, and the figures.
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
    rows = [(line, {name: fields[place] for name, place in places.items()}) for line, fields in table.rows]
    if not rows:
        raise InputError(source, "holds no quarters: expected at least one line below the header")
    if table.separator != ",":  # where commas separate columns, no file has points between thousands
        _check_points(rows, source)
    # 2. The quarters, one after the other.
    quarters = [_quarter(row, source, line) for line, row in rows]
    for (before, after), (line, _) in zip(pairwise(quarters), rows[1:], strict=True):
        if after != before.following:
            problem = f"expected {before.following} after {before}, got {after}"
            if after == before:
                problem += "; a quarter may have one line only: monthly figures must be averaged first"
            raise InputError(source, problem, key="quarter", line=line)
    # 3. The figures: all in the quarters between the first and the last that have all. The decimals of a file follow a
    #    point if commas separate its columns, and one of its numbers has a point.
    by_comma = table.separator == "," and any("." in row[name].strip(".") for _, row in rows for name in _NAMES)
    kept, lacking = list[Figures](), dict[Quarter, tuple[str, ...]]()
    for quarter, (line, row) in zip(quarters, rows, strict=True):
        if none := tuple(name for name in _NAMES if row[name].lower() in _MISSING):
            lacking[quarter] = none
        else:
            numbers = {field: _number(row, column, source, line, by_comma) for field, column in _FIGURES.items()}
            kept.append(Figures(quarter=quarter, **numbers))
    if not kept:
        raise InputError(source, "no quarter has all of its figures: expected at least one")
    if inside := {each: none for each, none in lacking.items() if kept[0].quarter < each < kept[-1].quarter}:
        problem = f"figures are missing between others: {_lacking(inside)}; expected them in every quarter"
        raise InputError(source, problem)
    return Series(tuple(kept), lacking)


def _check_points(rows: Sequence[tuple[int, Mapping[str, str]]], source: str) -> None:
    """Refuse a column in which no number tells whether points are decimal or stand between thousands."""
    for column in _FIGURES.values():
        pointed = [(line, row[column.name]) for line, row in rows if "." in row[column.name].strip(".")]
        if column.most < _LEAST_GROUPED or not all(POINTS.fullmatch(text) for _, text in pointed):
            continue
        for line, text in pointed:
            expected = f"{text.replace('.', '')}, or {text}0"
            problem = f"{text} may have a decimal point or thousands separators: expected {expected}"
            raise InputError(source, problem, key=column.name, line=line)


def _quarter(row: Mapping[str, str], source: str, line: int) -> Quarter:
    """Return the quarter of a row: by its date, by its year and quarter, or by one of the two that names both."""
    if "date" in row or "year" not in row:
        key = "date" if "date" in row else "quarter"
        if found := _DATE.fullmatch(row[key]):
            return Quarter(int(found[1]), (int(found[2]) + 2) // 3)
        if found := _QUARTER.fullmatch(row[key].lower()):
            return Quarter(int(found[1] or found[4]), int(found[2] or found[3]))
        expected = "a date such as 1985-01-01, or a quarter such as 1985Q1"
    elif (year := re.fullmatch(r"([1-9][0-9]{3})(?:\.0*)?", row["year"])) is None:
        key, expected = "year", "a year such as 1985"
    elif found := re.fullmatch(r"[qQ]?([1-4])(?:\.0*)?", row.get("quarter", "")):
        return Quarter(int(year[1]), int(found[1]))
    else:
        key, expected = "quarter", "1, 2, 3 or 4"
    raise InputError(source, f"expected {expected}, got {row.get(key, '')[:60]!r}", key=key, line=line)


def _number(row: Mapping[str, str], column: _Column, source: str, line: int, by_comma: bool) -> float:
    cell = row[column.name]
    # A single comma may be decimal, unless a point follows or the file shows its decimals.
    is_clear = cell.count(",") != 1 or by_comma or "." in cell
    value = plain_number(cell) if is_clear else None
    if value is None or not column.least <= value <= column.most:
        told = ", with a point before decimals" if "," in cell else ""
        problem = f"expected {column.expected}{told}, got {cell[:60]!r}"
        raise InputError(source, problem, key=column.name, line=line)
    return value
