"""Quarterly figures of a real economy, read from a CSV file."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import msgspec

from prism.errors import InputError
from prism.quarter import Quarter
from prism.text_files import decode_text, file_format


class _Column(NamedTuple):
    """A column that a file must have, and the range of its numbers."""

    name: str
    least: float
    most: float
    expected: str


_GDP: Final = _Column("realgdp", 1e-9, 1e15, "a number above 0")
_CPI: Final = _Column("cpi", 1e-9, 1e15, "a number above 0")
_RATE: Final = _Column("tbilrate", -10.0, 100.0, "a percentage from -10 to 100")
_UNEMPLOYMENT: Final = _Column("unemp", 0.0, 100.0, "a percentage from 0 to 100")
COLUMNS: Final = ("year", "quarter", *(column.name for column in (_GDP, _CPI, _RATE, _UNEMPLOYMENT)))
"""The columns that are read; others may be in the file too."""
YEAR_QUARTERS: Final = 4


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of one quarter.

    Args:
        quarter: the quarter.
        real_gdp: in any unit of constant prices.
        price_index: consumer prices, with any quarter as 100.
        interest_rate: the short-term rate, in percent.
        unemployment: in percent.
    """

    quarter: Quarter
    real_gdp: float
    price_index: float
    interest_rate: float
    unemployment: float


def parse_series(data: bytes, source: str) -> tuple[Figures, ...]:
    """Return the quarters in a CSV file, in order and without gaps.

    Raises:
        InputError: the file cannot be read in full; the message names the line and the column.
    """
    kind = file_format(source)
    if kind != ".csv":
        raise InputError(source, f"expected quarterly figures in .csv (also .gz), got {kind or 'no extension'}")
    rows = _rows(decode_text(data, source), source)
    header_line, header = next(rows, (None, None))
    if header is None:
        raise InputError(source, f"is empty: expected a header with {', '.join(COLUMNS)}")
    places = _places(header, source, header_line)
    series, lines = [], []
    for line, fields in rows:
        if len(fields) != len(header):
            raise InputError(source, f"expected {len(header)} columns, got {len(fields)}", line=line)
        series.append(_figures({name: fields[place].strip() for name, place in places.items()}, source, line))
        lines.append(line)
    if not series:
        raise InputError(source, "holds no quarters: expected at least one line below the header")
    for (before, after), line in zip(pairwise(series), lines[1:], strict=True):
        if after.quarter != before.quarter.following:
            problem = f"expected {before.quarter.following} after {before.quarter}, got {after.quarter}"
            raise InputError(source, problem, key="quarter", line=line)
    return tuple(series)


def year_inflation(series: Sequence[Figures], index: int) -> float | None:
    """Return the rise of prices over the year up to `index`, in percent; None without four quarters before it."""
    if index < YEAR_QUARTERS:
        return None
    return 100.0 * (series[index].price_index / series[index - YEAR_QUARTERS].price_index - 1.0)


def quarter_inflation(series: Sequence[Figures], index: int) -> float:
    """Return the rise of prices from the quarter before `index`, which is 1 or more, in percent a year.

    It is four times the difference of logarithms, as in Rudebusch & Svensson (1999).
    """
    return 100.0 * YEAR_QUARTERS * math.log(series[index].price_index / series[index - 1].price_index)


def year_growth(series: Sequence[Figures], index: int) -> float | None:
    """Return the growth of real GDP over the year up to `index`, in percent; None without four quarters before it."""
    if index < YEAR_QUARTERS:
        return None
    return 100.0 * (series[index].real_gdp / series[index - YEAR_QUARTERS].real_gdp - 1.0)


def _rows(text: str, source: str) -> Iterator[tuple[int, list[str]]]:
    """Yield each row that is not blank, with the line it begins on."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    line = 1
    try:
        for fields in reader:
            if any(field.strip() for field in fields):
                yield line, fields
            line = reader.line_num + 1
    except csv.Error as error:
        raise InputError(source, f"bad CSV: {error}", line=line) from None


def _places(header: Sequence[str], source: str, line: int | None) -> dict[str, int]:
    """Return the index of each column in a row."""
    names = [name.strip().lower() for name in header]
    missing = [name for name in COLUMNS if name not in names]
    if missing:
        problem = f"missing column: {', '.join(missing)}; expected {', '.join(COLUMNS)}"
        raise InputError(source, problem, line=line)
    twice = next((name for name in COLUMNS if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(source, f"the column {twice} stands {names.count(twice)} times", line=line)
    return {name: names.index(name) for name in COLUMNS}


def _figures(row: dict[str, str], source: str, line: int) -> Figures:
    try:
        quarter = Quarter.parse(f"{row['year']}q1")
    except ValueError:
        raise InputError(source, f"expected a year such as 1985, got {row['year']!r}", key="year", line=line) from None
    if row["quarter"] not in ("1", "2", "3", "4"):
        raise InputError(source, f"expected 1, 2, 3 or 4, got {row['quarter']!r}", key="quarter", line=line)
    gdp, cpi, rate, unemployment = (_number(row, column, source, line) for column in (_GDP, _CPI, _RATE, _UNEMPLOYMENT))
    return Figures(
        quarter=Quarter(quarter.year, int(row["quarter"])),
        real_gdp=gdp,
        price_index=cpi,
        interest_rate=rate,
        unemployment=unemployment,
    )


def _number(row: dict[str, str], column: _Column, source: str, line: int) -> float:
    try:
        value = float(row[column.name])
    except ValueError:
        value = math.nan
    if not column.least <= value <= column.most:
        shown = row[column.name][:60]
        raise InputError(source, f"expected {column.expected}, got {shown!r}", key=column.name, line=line)
    return value
