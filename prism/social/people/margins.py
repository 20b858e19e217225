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
from itertools import combinations, pairwise, product
from pathlib import PurePath
from typing import Any, Final, NamedTuple

import numpy as np
from msgspec.structs import replace

from prism.columns import Ints
from prism.config.attributes import PLACE, AttributeConfig, Value
from prism.config.model import PopulationConfig
from prism.errors import InputError
from prism.rng import WORLD, Draw, integer, uniforms
from prism.social.people.attributes import draw_attribute, drawn_attributes, without_values
from prism.text_files import (
    MISSING,
    TABLES,
    TRUTHS,
    check_format,
    decode_text,
    plain_number,
    read_table,
)
from prism.wording import counted

_POINTS: Final = re.compile(r"[1-9][0-9]{0,2}\.[0-9]{3}")
"""A number whose point may be decimal, or stand between thousands."""
FIGURES: Final = {"share": 1.0, "percent": 100.0, "count": None}
"""`{column that can hold the figures of a table: their sum}`; None for any sum."""
TOLERANCE: Final = 0.01
"""The most by which two tables, or the sum of a table and 1, may differ: published shares are rounded."""
CELLS_MAX: Final = 1_000_000
"""The most combinations of values. They take 8 MB, and a round of the fit some milliseconds."""
ROUNDS_MAX: Final = 1000
"""The most rounds of the fit; tables without contradictions need some tens."""
CHANGE_MIN: Final = 1e-12
"""A round that changes no share by more than this is the last one."""
UNITS: Final = 1 << 36
"""People are counted by shares in whole parts of 1 / `UNITS`, so that the last bit of a sum decides nothing."""
ROWS_SHOWN: Final = 12
"""The most rows of a table that a line shows."""
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
    """The shares in one file.

    Args:
        source: the name of the file.
        names: the attributes, in the order of the configuration.
        shares: `{a category of each attribute: its share}`; they add up to 1.
        total: the sum of the figures in the file, as a multiple of the expected one; None if it is 1, or for counts.
    """

    source: str
    names: tuple[str, ...]
    shares: Mapping[tuple[Category, ...], float]
    total: float | None

    @property
    def categories(self) -> dict[str, tuple[Category, ...]]:
        """The categories of each attribute, in the order of the file."""
        return {name: tuple(dict.fromkeys(row[place] for row in self.shares)) for place, name in enumerate(self.names)}


def parse_margin(data: bytes, source: str, config: PopulationConfig) -> MarginTable:
    """Return the table in a file: a column for each attribute, and one of `share`, `percent` or `count`."""
    check_format(source, "margins", TABLES)
    text = decode_text(data, source, config.encoding, "population.encoding")
    found = read_table(text, source, {*FIGURES, *config.attributes})
    columns = [each.lower() if each.lower() in FIGURES else each for each in found.header]
    # One column has the figures; the others are attributes, which only this table may give.
    figure, *more = [column for column in columns if column in FIGURES] or [""]
    if not figure or more or len({*columns}) != len(columns):
        problem = f"expected one column of figures ({', '.join(FIGURES)}) and columns that differ"
        raise InputError(source, f"{problem}, got: {', '.join(columns) or 'nothing'}", line=found.line)
    given = [column for column in columns if column != figure]
    unknown = next((column for column in given if column not in config.attributes), None)
    if unknown is not None or not given:
        shown = "no column of an attribute" if unknown is None else f"the column {unknown!r}"
        expected = ", ".join(config.attributes) or "none, because none is declared"
        raise InputError(source, f"has {shown}: expected attributes of {PLACE} ({expected})", line=found.line)
    for name in given:
        if config.attributes[name].is_drawn or config.attributes[name].default is not None:
            problem = f"expected a declaration without default and ways to draw it ({PLACE}.{name}): the table gives it"
            raise InputError(source, problem, key=name, line=found.line)
    names = tuple(name for name in config.attributes if name in columns)
    # 1. The figure of each row.
    figures: dict[tuple[Category, ...], float] = {}
    lines: dict[tuple[Category, ...], int] = {}
    for line, values in found.rows:
        cells = dict(zip(columns, values, strict=True))
        row = tuple(_category(cells[name], name, config.attributes[name], source, line) for name in names)
        if row in figures:
            raise InputError(source, f"is the row of line {lines[row]} again", line=line)
        # A comma stands between thousands only in counts; elsewhere it would be a decimal comma.
        text = cells[figure]
        has_groups = found.separator != ";"
        number = plain_number(text) if "," not in text or (has_groups and figure == "count") else None
        if number is None or not 0.0 <= number < math.inf:
            problem = f"expected a number of 0 or more, such as 1200 or 20.5, got {text[:60]!r}"
            raise InputError(source, problem, key=figure, line=line)
        if figure == "count" and not has_groups and _POINTS.fullmatch(text):
            problem = f"expected a count without separators, got {text}: write {text.replace('.', '')}, or {text}0"
            raise InputError(source, problem, key=figure, line=line)
        lines[row], figures[row] = line, number
    # 2. Every combination must have a figure.
    table = MarginTable(source, names, figures, None)
    for row in product(*table.categories.values()):
        if row not in figures:
            problem = "expected one for each combination, with 0 where nobody is"
            raise InputError(source, f"has no row for {_in_words(names, row)}: {problem}")
    # 3. Shares, which add up to 1.
    total, whole = math.fsum(figures.values()), FIGURES[figure]
    if not total > 0.0:
        raise InputError(source, "holds no shares: expected figures above 0", key=figure)
    off = 0.0 if whole is None else abs(total / whole - 1.0)
    if whole is not None and off > TOLERANCE:
        problem = f"expected figures that add up to {whole:g}, got {total:.6g}; is a row missing, or is it a count?"
        raise InputError(source, problem, key=figure)
    shares = {row: each / total for row, each in figures.items()}
    return table._replace(shares=shares, total=None if whole is None or off < 1e-9 else total / whole)


class Margins:
    """The tables of a population, and the share of each combination of values that follows from them.

    Args:
        tables: the tables, in the order of the configuration.
        config: the people.
    """

    def __init__(self, tables: Sequence[MarginTable], config: PopulationConfig) -> None:
        self.tables = tuple(tables)
        self.names = tuple(name for name in config.attributes if any(name in table.names for table in tables))
        self.declared = config.attributes
        self.others = {name: each for name, each in config.attributes.items() if name not in self.names}
        """The attributes that are in no table."""
        for name, declaration in self.others.items():
            if not declaration.is_complete:
                raise without_values(name, declaration)
        self._categories = {name: _categories_of(name, tables, config.attributes[name]) for name in self.names}
        self._shape = tuple(len(self._categories[name]) for name in self.names)
        if (cells := math.prod(self._shape)) > CELLS_MAX:
            problem = f"makes {cells:,} combinations of values with the other tables: expected {CELLS_MAX:,} at most"
            raise InputError(tables[-1].source, problem)
        for one, other in combinations(tables, 2):  # two tables that give an attribute different shares
            both = [name for name in one.names if name in other.names]
            here, there = _within(one, both), _within(other, both)
            row = max(here, key=lambda each: abs(here[each] - there[each])) if both else ()
            if both and abs(here[row] - there[row]) > TOLERANCE:
                problem = (
                    f"contradicts {one.source}: {_in_words(both, row)} is {there[row]:.1%} here and {here[row]:.1%}"
                )
                raise InputError(other.source, f"{problem} there; expected at most {TOLERANCE:.0%} between them")
        self._targets = [
            np.array([table.shares[row] for row in self._rows_of(table)]).reshape(
                [len(self._categories[name]) for name in table.names]
            )
            for table in tables
        ]
        # The share of each combination, by iterative proportional fitting.
        # 1. Begin with all combinations alike: this leaves attributes independent as far as the tables let them be.
        joint = np.full(self._shape, 1.0 / math.prod(self._shape))
        # 2. Scale to one table after the other. Each scaling spoils the others a little less, where they agree.
        for _ in range(ROUNDS_MAX):
            before = joint
            for table, target in zip(self.tables, self._targets, strict=True):
                others = self._axes_but(table)
                now = joint.sum(axis=others)  # the present shares of the table: an axis for each of its attributes
                factors = np.divide(target, now, out=np.zeros_like(now), where=now > 0.0)
                joint = joint * np.expand_dims(factors, others)
            if float(np.abs(joint - before).max()) < CHANGE_MIN:
                break
        # 3. Tables that agree in pairs, but not all together, never converge: the remaining difference tells which one
        # is wrong.
        for table, target in zip(self.tables, self._targets, strict=True):
            now = joint.sum(axis=self._axes_but(table))
            place = int(np.abs(now - target).argmax())
            asked, left = float(target.ravel()[place]), float(now.ravel()[place])
            if abs(asked - left) > TOLERANCE:
                wrong = _in_words(table.names, [*self._rows_of(table)][place])
                problem = f"contradicts the other tables: {wrong} is {asked:.1%} here, and they leave {left:.1%}"
                raise InputError(table.source, problem)
        self.shares = np.asarray(joint / joint.sum())
        """The share of each combination: an axis for each attribute."""
        self.narrowed = {
            name: [
                replace(config.attributes[name], default=low)
                if low == high
                else replace(config.attributes[name], min=low, max=high)
                for low, high in self._categories[name]
            ]
            for name in self.names
        }
        """The declaration of each category of an attribute, from which only its values are drawn."""

    def counts(self, size: int, seed: int) -> Ints:
        """Return the number of people with each combination, of shape (combinations,).

        Every sum from the first combination on differs by less than one person from the shares.
        """
        # 1. Shares as whole numbers: sums of floats would depend on their order.
        weights = np.rint(self.shares.ravel() * UNITS).astype(np.int64)
        ends = np.cumsum(weights)
        total = int(ends[-1])
        # 2. Systematic sampling: the people stand at equal distances along the shares, and a draw moves all of them.
        #    A combination gets those between the end before it and its own: its share, rounded down or up.
        marks = (ends * size + integer(total, seed, WORLD, 0, Draw.MARGIN)) // total
        return np.diff(marks, prepend=0)

    def outcomes(self, size: int, seed: int) -> Iterator[tuple[MarginTable, list[tuple[str, float, float]]]]:
        """Yield each table with its rows in words, the shares that it asks for, and those among `size` people."""
        drawn = self.counts(size, seed).reshape(self._shape) / size
        for table, target in zip(self.tables, self._targets, strict=True):
            rows = [_in_words(table.names, row) for row in self._rows_of(table)]
            came_out = drawn.sum(axis=self._axes_but(table)).ravel().tolist()
            yield table, [*zip(rows, target.ravel().tolist(), came_out, strict=True)]

    def lines(self, size: int, seed: int) -> Iterator[str]:
        """Yield a line for each table: the shares that it asks for, beside those that come out."""
        for table, outcomes in self.outcomes(size, seed):
            off = max(abs(asked - came_out) for _, asked, came_out in outcomes)
            shown = [f"{row} asked {asked:.1%}, came out {came_out:.1%}" for row, asked, came_out in outcomes]
            others = f"; {counted(len(shown) - ROWS_SHOWN, 'more row')}" if len(shown) > ROWS_SHOWN else ""
            scaled = "" if table.total is None else f" (they add up to {table.total:.6g} and are scaled to 1)"
            shares = f"{counted(len(shown), 'share')} of {counted(size, 'person', 'people')}"
            head = f"population.margins: {table.source}: {shares}{scaled}"
            yield f"{head}, off by {100 * off:.2f} points at most: {'; '.join(shown[:ROWS_SHOWN])}{others}"

    def _axes_but(self, table: MarginTable) -> tuple[int, ...]:
        return tuple(axis for axis, name in enumerate(self.names) if name not in table.names)

    def _rows_of(self, table: MarginTable) -> Iterator[tuple[Category, ...]]:
        return product(*(self._categories[name] for name in table.names))


class DrawnMargins:
    """People from margins: the combination of values that each of them has.

    Args:
        margins: the tables, with the share of each combination.
    """

    def __init__(self, margins: Margins, size: int, seed: int) -> None:
        self._margins, self._size, self._seed = margins, size, seed
        # The combinations are dealt to people in a random order: those next to each other in number are not alike.
        order = np.argsort(uniforms(seed, np.arange(size, dtype=np.int64), 0, Draw.MARGIN, 1), kind="stable")
        self._cell_of = np.empty(size, dtype=np.int32)
        self._cell_of[order] = np.repeat(np.arange(margins.shares.size, dtype=np.int32), margins.counts(size, seed))

    @property
    def lines(self) -> list[str]:
        """The shares that each table asks for beside those that came out, a line each."""
        return [*self._margins.lines(self._size, self._seed)]

    @cached_property
    def records(self) -> dict[str, Any]:
        """The same for `summary.json`; a run asks for it in every round.

        Tables are called by the names of their files alone: where these lie changes no result.
        """
        found: dict[str, Any] = {}
        for table, outcomes in self._margins.outcomes(self._size, self._seed):
            name = PurePath(table.source).name
            found[name if name not in found else f"{name} ({len(found) + 1})"] = [
                {"row": row, "asked": round(asked, 6), "came_out": round(came_out, 6)}
                for row, asked, came_out in outcomes
            ]
        return found

    def attributes(self, person: int) -> dict[str, Value]:
        places = np.unravel_index(int(self._cell_of[person]), self._margins.shares.shape)
        values = drawn_attributes(person, self._seed, self._margins.others) | {
            name: draw_attribute(person, self._seed, name, self._margins.narrowed[name][int(place)])
            for name, place in zip(self._margins.names, places, strict=True)
        }
        return {name: values[name] for name in self._margins.declared}

    def attribute(self, name: str) -> list[Value]:
        margins, seed = self._margins, self._seed
        if name not in margins.names:
            return [draw_attribute(person, seed, name, margins.others[name]) for person in range(self._size)]
        places = np.unravel_index(self._cell_of, margins.shares.shape)[margins.names.index(name)].tolist()
        declared = margins.narrowed[name]
        return [draw_attribute(person, seed, name, declared[place]) for person, place in enumerate(places)]


def _category(text: str, name: str, declaration: AttributeConfig, source: str, line: int) -> Category:
    found: Category | None = None
    expected = declaration.expected
    if declaration.type in ("int", "float"):
        expected = f"{expected}, or a band such as 18-29 or 65+ in it"
        if (band := _BAND.fullmatch(text)) is not None:
            ends = band[1], band[2]
        elif (band := _OPEN_BAND.fullmatch(text)) is not None:
            ends = band[1], "" if declaration.max is None else f"{declaration.max:.15g}"
        else:
            ends = text, text
        numbers = [number for each in ends if (number := plain_number(each)) is not None]
        if declaration.type == "int":
            numbers = [int(number) for number in numbers if number.is_integer()]
        if len(numbers) == 2 and numbers[0] <= numbers[1]:
            found = Category(*numbers)
    else:
        value: Value | None = text if declaration.type == "text" else TRUTHS.get(text.lower())
        is_missing = not text or (text in MISSING and text not in declaration.values)
        found = None if value is None or is_missing else Category(value, value)
    if found is None or not (declaration.holds(found.low) and declaration.holds(found.high)):
        raise InputError(source, f"expected {expected}, got {text[:60]!r}", key=name, line=line)
    return found


def _categories_of(name: str, tables: Sequence[MarginTable], declaration: AttributeConfig) -> tuple[Category, ...]:
    first, *others = [table for table in tables if name in table.names]
    found = first.categories[name]
    for other in others:
        if {*other.categories[name]} != {*found}:
            one, two = (", ".join(map(str, each.categories[name])) for each in (first, other))
            raise InputError(other.source, f"expected the values of {first.source} ({one}), got {two}", key=name)
    if declaration.type in ("int", "float"):
        bands = sorted((float(each.low), float(each.high)) for each in found)
        for before, after in pairwise(bands):
            # Bands of floats may share an end: a float is on it with probability 0.
            if after[0] < before[1] or (after[0] == before[1] and declaration.type == "int"):
                told = " and ".join(str(Category(*band)) for band in (before, after))
                raise InputError(first.source, f"has {told}: expected bands apart", key=name)
    return found


def _within(table: MarginTable, names: Sequence[str]) -> dict[tuple[Category, ...], float]:
    """Return the shares of some of a table's attributes alone."""
    places = [table.names.index(name) for name in names]
    sums: dict[tuple[Category, ...], list[float]] = {}
    for row, share in table.shares.items():
        sums.setdefault(tuple(row[place] for place in places), []).append(share)
    return {row: math.fsum(shares) for row, shares in sums.items()}


def _in_words(names: Sequence[str], row: Sequence[Category]) -> str:
    return ", ".join(f"{name} {category}" for name, category in zip(names, row, strict=True))
