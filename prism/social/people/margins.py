"""Populations from margins: tables of shares, as statistics publish them, and the people who have these shares.

Tables of one attribute or of several (age x region) are combined by iterative proportional fitting: of all populations
with these shares, it finds the one with the largest entropy, which assumes nothing else.

Sources: Deming & Stephan (1940) for the fit; Ireland & Kullback (1968) for its result; Madow (1949) for the systematic
draw.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise, product
from pathlib import PurePath
from typing import Any, Final, NamedTuple

import numpy as np
from msgspec.structs import replace

from prism.columns import Floats
from prism.config.attributes import PLACE, AttributeConfig, Value
from prism.config.model import PopulationConfig
from prism.errors import InputError
from prism.rng import WORLD, Draw, integer, uniforms
from prism.social.people.persona import draw_attribute, without_values
from prism.text_files import MISSING, POINTS, TABLES, TRUTHS, check_format, decode_text, plain_number, read_table
from prism.wording import counted

FIGURES: Final = {"share": 1.0, "percent": 100.0, "count": None}
"""`{column that can hold the figures of a table: their sum}`; None for any sum."""
TOLERANCE: Final = 0.01
"""The most by which two tables, or the sum of a table and 1, may differ: published shares are rounded."""
CELLS_MAX: Final = 1_000_000
"""The most combinations of values. They take 8 MB, and a round of the fit some milliseconds."""
ROUNDS_MAX: Final = 1000  # the most rounds of the fit; tables without contradictions need some tens
CHANGE_MIN: Final = 1e-12  # a round that changes no share by more than this is the last one
UNITS: Final = 1 << 36
"""People are counted by shares in whole parts of 1 / `UNITS`, so that the last bit of a sum decides nothing."""
ROWS_SHOWN: Final = 12  # the most rows of a table that a line shows
_BAND: Final = re.compile(r"([-+]?[0-9.]+)\s*(?:-|\u2013|to)\s*([-+]?[0-9.]+)")
_OPEN_BAND: Final = re.compile(r"([-+]?[0-9.]+)\s*\+")


class Category(NamedTuple):
    """A value of a table, or a band of numbers from `low` to `high`."""

    low: Value
    high: Value

    def __str__(self) -> str:
        if isinstance(self.low, bool):
            return str(self.low).lower()
        if isinstance(self.low, str):
            return self.low
        return f"{self.low:.15g}" if self.low == self.high else f"{self.low:.15g}-{self.high:.15g}"


class MarginTable(NamedTuple):
    """The shares in one file."""

    source: str  # the name of the file
    # `{attribute: its categories, as the file orders them}`, in the order of the configuration
    categories: Mapping[str, tuple[Category, ...]]
    shares: Floats  # of each combination of categories, an axis for each of its attributes; they add up to 1
    # the sum of the figures in the file, as a multiple of the expected one; None if it is 1, or for counts
    total: float | None

    @property
    def rows(self) -> list[str]:
        """Each combination in words, in the order of the shares."""
        named = ([f"{name} {each}" for each in found] for name, found in self.categories.items())
        return [*map(", ".join, product(*named))]


def parse_margin(data: bytes, source: str, config: PopulationConfig) -> MarginTable:
    """Return the table in a file: a column for each attribute, and one of `share`, `percent` or `count`."""
    check_format(source, "margins", TABLES)
    declared, text = config.attributes, decode_text(data, source, config.encoding, "population.encoding")
    found = read_table(text, source, {*FIGURES, *declared})
    columns = [each.lower() if each.lower() in FIGURES else each for each in found.header]
    # One column has the figures; the others are attributes, which only this table may give.
    figure, *more = [column for column in columns if column in FIGURES] or [""]
    if not figure or more or len({*columns}) != len(columns):
        problem = f"expected one column of figures ({', '.join(FIGURES)}) and columns that differ"
        raise InputError(source, f"{problem}, got: {', '.join(columns) or 'nothing'}", line=found.line)
    given = [column for column in columns if column != figure]
    unknown = [column for column in given if column not in declared]
    if unknown or not given:
        shown = f"the column {unknown[0]!r}" if unknown else "no column of an attribute"
        expected = ", ".join(declared) or "none, because none is declared"
        raise InputError(source, f"has {shown}: expected attributes of {PLACE} ({expected})", line=found.line)
    for name in given:
        if declared[name].is_drawn or declared[name].default is not None:
            problem = f"expected a declaration without default and ways to draw it ({PLACE}.{name}): the table gives it"
            raise InputError(source, problem, key=name, line=found.line)
    # 1. The figure of each row.
    names = [name for name in declared if name in columns]
    figures, lines = dict[tuple[Category, ...], float](), dict[tuple[Category, ...], int]()
    for line, values in found.rows:
        cells = dict(zip(columns, values, strict=True))
        row = tuple(_category(cells[name], name, declared[name], source, line) for name in names)
        if row in figures:
            raise InputError(source, f"is the row of line {lines[row]} again", line=line)
        # A comma stands between thousands only in counts; elsewhere it would be a decimal comma.
        text, has_groups = cells[figure], found.separator != ";"
        number = plain_number(text) if "," not in text or (has_groups and figure == "count") else None
        problem = ""
        if number is None or not 0.0 <= number < math.inf:
            problem = f"expected a number of 0 or more, such as 1200 or 20.5, got {text[:60]!r}"
        elif figure == "count" and not has_groups and POINTS.fullmatch(text):
            problem = f"expected a count without separators, got {text}: write {text.replace('.', '')}, or {text}0"
        if number is None or problem:
            raise InputError(source, problem, key=figure, line=line)
        lines[row], figures[row] = line, number
    # 2. Shares, which add up to 1. Every combination must have one.
    categories = {name: tuple(dict.fromkeys(row[place] for row in figures)) for place, name in enumerate(names)}
    shape = [len(each) for each in categories.values()]
    shares = np.reshape([figures.get(row, math.nan) for row in product(*categories.values())], shape)
    table, total, whole = MarginTable(source, categories, shares, None), math.fsum(figures.values()), FIGURES[figure]
    if np.isnan(shares).any():
        missing = table.rows[int(np.isnan(shares).argmax())]
        problem = "expected one for each combination, with 0 where nobody is"
        raise InputError(source, f"has no row for {missing}: {problem}")
    off = 0.0 if whole is None else abs(total / whole - 1.0)
    if not total > 0.0 or off > TOLERANCE:
        told = f"that add up to {whole:g}, got {total:.6g}; is a row missing, or is it a count?" if whole else "above 0"
        raise InputError(source, f"expected figures {told}", key=figure)
    return table._replace(shares=shares / total, total=None if whole is None or off < 1e-9 else total / whole)


class Margins:
    """The tables of a population, and the share of each combination of values that follows from them."""

    def __init__(self, tables: Sequence[MarginTable], config: PopulationConfig) -> None:
        self.declared = config.attributes
        for name, declaration in self.declared.items():
            if not declaration.is_complete and not any(name in table.categories for table in tables):
                raise without_values(name, declaration)
        self.tables = _alike(tables, config)
        found = {name: each for table in self.tables for name, each in table.categories.items()}
        self.categories = {name: found[name] for name in self.declared if name in found}
        shape = [len(each) for each in self.categories.values()]
        if (cells := math.prod(shape)) > CELLS_MAX:
            problem = f"makes {cells:,} combinations of values with the other tables: expected {CELLS_MAX:,} at most"
            raise InputError(tables[-1].source, problem)
        # The share of each combination, by iterative proportional fitting.
        # 1. Begin with all combinations alike: this leaves attributes independent as far as the tables let them be.
        joint = np.full(shape, 1.0 / cells)
        # 2. Scale to one table after the other. Each scaling spoils the others a little less, where they agree.
        for _ in range(ROUNDS_MAX):
            before = joint
            for table in self.tables:
                now = _summed(joint, table)
                joint = joint * np.divide(table.shares, now, out=np.zeros_like(now), where=now > 0.0)
            if float(np.abs(joint - before).max()) < CHANGE_MIN:
                break
        # 3. Tables that contradict each other never converge: the remaining difference tells which one is wrong.
        for table in self.tables:
            now = _summed(joint, table)
            place = int(np.abs(now - table.shares).argmax())
            asked, left = float(table.shares.ravel()[place]), float(now.ravel()[place])
            if abs(asked - left) > TOLERANCE:
                problem = f"{table.rows[place]} is {asked:.1%} here, and they leave {left:.1%}"
                raise InputError(table.source, f"contradicts the other tables: {problem}")
        self.shares = np.asarray(joint / joint.sum())
        """The share of each combination: an axis for each attribute."""


class DrawnMargins:
    """People from margins: the combination of values that each has.

    Every sum from the first combination on differs by less than one person from the shares.
    """

    def __init__(self, margins: Margins, size: int, seed: int) -> None:
        self._margins, self._size, self._seed = margins, size, seed
        # 1. Shares as whole numbers: sums of floats would depend on their order.
        ends = np.cumsum(np.rint(margins.shares.ravel() * UNITS).astype(np.int64))
        total = int(ends[-1])
        # 2. Systematic sampling: the people stand at equal distances along the shares, and a draw moves all of them.
        #    A combination gets those between the end before it and its own: its share, rounded down or up.
        marks = (ends * size + integer(total, seed, WORLD, 0, Draw.MARGIN)) // total
        self._counts = np.diff(marks, prepend=0)
        # 3. The combinations are dealt to people in a random order: those next to each other in number are not alike.
        order = np.argsort(uniforms(seed, np.arange(size, dtype=np.int64), 0, Draw.MARGIN, 1), kind="stable")
        cells = np.empty(size, dtype=np.int32)
        cells[order] = np.repeat(np.arange(ends.size, dtype=np.int32), self._counts)
        places = np.unravel_index(cells, margins.shares.shape)
        self._places = {name: each.astype(np.int32) for name, each in zip(margins.categories, places, strict=True)}
        # The declaration of each category of an attribute, from which only its values are drawn.
        self._narrowed = {
            name: [
                replace(margins.declared[name], default=low)
                if low == high
                else replace(margins.declared[name], min=low, max=high)
                for low, high in categories
            ]
            for name, categories in margins.categories.items()
        }

    def outcomes(self) -> Iterator[tuple[MarginTable, list[tuple[str, float, float]]]]:
        """Yield each table with its rows in words, the shares that it asks for, and those that came out."""
        margins = self._margins
        drawn = self._counts.reshape(margins.shares.shape) / self._size
        for table in margins.tables:
            came_out = _summed(drawn, table).ravel().tolist()
            yield table, [*zip(table.rows, table.shares.ravel().tolist(), came_out, strict=True)]

    @property
    def lines(self) -> list[str]:
        """A line for each table: the shares that it asks for, beside those that came out."""
        lines = []
        for table, outcomes in self.outcomes():
            off = max(abs(asked - came_out) for _, asked, came_out in outcomes)
            shown = [f"{row} asked {asked:.1%}, came out {came_out:.1%}" for row, asked, came_out in outcomes]
            others = f"; {counted(len(shown) - ROWS_SHOWN, 'more row')}" if len(shown) > ROWS_SHOWN else ""
            scaled = "" if table.total is None else f" (they add up to {table.total:.6g} and are scaled to 1)"
            shares = f"{counted(len(shown), 'share')} of {counted(self._size, 'person', 'people')}"
            head = f"population.margins: {table.source}: {shares}{scaled}"
            lines.append(f"{head}, off by {100 * off:.2f} points at most: {'; '.join(shown[:ROWS_SHOWN])}{others}")
        return lines

    @cached_property
    def records(self) -> dict[str, Any]:
        """The same for `summary.json`; a run asks for it in every round.

        Tables are called by the names of their files alone: where these lie changes no result.
        """
        found: dict[str, Any] = {}
        for table, outcomes in self.outcomes():
            name = PurePath(table.source).name
            found[name if name not in found else f"{name} ({len(found) + 1})"] = [
                {"row": row, "asked": round(asked, 6), "came_out": round(came_out, 6)}
                for row, asked, came_out in outcomes
            ]
        return found

    def value(self, person: int, name: str) -> Value:
        declaration = self._margins.declared[name]
        if name in self._places:
            declaration = self._narrowed[name][self._places[name][person]]
        return draw_attribute(person, self._seed, name, declaration)


def _summed(joint: Floats, table: MarginTable) -> Floats:
    """Return the shares of a table's attributes alone."""
    axes = tuple(axis for axis, length in enumerate(table.shares.shape) if length == 1)
    return np.asarray(joint.sum(axis=axes, keepdims=True))


def _alike(tables: Sequence[MarginTable], config: PopulationConfig) -> list[MarginTable]:
    """Return the tables with categories in one order, and an axis for any attribute, of length 1 if it is lacking."""
    firsts, found = dict[str, MarginTable](), list[MarginTable]()
    names = [name for name in config.attributes if any(name in table.categories for table in tables)]
    for table in tables:
        shares, categories = table.shares, dict[str, tuple[Category, ...]]()
        for axis, (name, own) in enumerate(table.categories.items()):
            first, kind = firsts.setdefault(name, table), config.attributes[name].type
            known = categories[name] = first.categories[name]
            if {*own} != {*known}:
                one, two = (", ".join(map(str, each)) for each in (known, own))
                raise InputError(table.source, f"expected the values of {first.source} ({one}), got {two}", key=name)
            for before, after in pairwise(sorted(known)) if kind in ("int", "float") else ():
                # Bands of floats may share an end: a float is on it with probability 0.
                if after.low < before.high or (after.low == before.high and kind == "int"):  # type: ignore[operator]
                    problem = f"has {before} and {after}: expected bands apart"
                    raise InputError(table.source, problem, key=name)
            shares = shares.take([own.index(each) for each in known], axis)
        shares = shares.reshape([len(categories.get(name, "1")) for name in names])
        found.append(table._replace(categories=categories, shares=shares))
    return found


def _category(text: str, name: str, declaration: AttributeConfig, source: str, line: int) -> Category:
    found: Category | None = None
    expected = declaration.expected
    if declaration.type in ("int", "float"):
        expected = f"{expected}, or a band such as 18-29 or 65+ in it"
        ends = text, text
        if (band := _BAND.fullmatch(text)) is not None:
            ends = band[1], band[2]
        elif (band := _OPEN_BAND.fullmatch(text)) is not None:
            ends = band[1], "" if declaration.max is None else f"{declaration.max:.15g}"
        numbers = [number for each in ends if (number := plain_number(each)) is not None]
        if declaration.type == "int":
            numbers = [int(number) for number in numbers if number.is_integer()]
        if len(numbers) == 2 and numbers[0] <= numbers[1]:
            found = Category(*numbers)
    elif text and (text not in MISSING or text in declaration.values):
        value: Value | None = text if declaration.type == "text" else TRUTHS.get(text.lower())
        found = None if value is None else Category(value, value)
    if found is None or not (declaration.holds(found.low) and declaration.holds(found.high)):
        raise InputError(source, f"expected {expected}, got {text[:60]!r}", key=name, line=line)
    return found
