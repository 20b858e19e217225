"""The columns of a profile file, or keys of its profiles, that the configuration names for attributes and thresholds.

A file is refused where a column is missing or a value does not fit: a person with another value than the file says
would go unnoticed.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Final, NamedTuple

from prism.checked import field_types
from prism.config.attributes import NUMBER_MAX, PLACE, AttributeConfig, Value
from prism.config.model import ColumnsConfig
from prism.errors import InputError
from prism.text_files import MISSING, TRUTHS
from prism.wording import cut

_NUMBER: Final = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?", re.ASCII)
_COLUMNS_MAX: Final = 400
"""The most characters of an error that lists columns."""


class Row(NamedTuple):
    """One profile as a file has it.

    Args:
        cells: `{column or key: value}`; a `.csv` has texts only.
        who: the profile in words, as errors name it; empty where the line says it.
        line: the line of a `.csv` on which it begins.
    """

    cells: Mapping[str, object]
    who: str = ""
    line: int | None = None


class OwnColumns:
    """The columns of one file that the configuration names, and the values in them.

    Args:
        declared: the attributes of people, or of posts.
        columns: the settings of further columns.
        present: the columns of the file, or the keys that a profile of it has.
        source: the name of the file.
        line: the line of the header; None in a `.json`.
        place: where the attributes are declared. Those of posts are never drawn.

    Raises:
        InputError: the file lacks a column, or has it twice.
    """

    def __init__(  # what is read, and where it stands
        self,
        declared: Mapping[str, AttributeConfig],
        columns: ColumnsConfig,
        present: Sequence[str],
        source: str,
        line: int | None = None,
        place: str = PLACE,
    ) -> None:
        self._present = present
        self._source = source
        self._line = line
        self._declared = declared
        self._place = place
        self.attributes: dict[str, str] = {}
        """`{attribute: the column that gives it}`."""
        self.given: dict[str, str] = {}
        """`{threshold or activity: the column that gives it}`."""
        for name, declaration in declared.items():
            column = self._column_of(name, declaration)
            if column is not None:
                self.attributes[name] = self._found(column, f"{place}.{name}")
        for name in field_types(ColumnsConfig):
            column = getattr(columns, name)
            if column is not None:
                self.given[name] = self._found(column, f"population.columns.{name}")

    def values_of(self, row: Row) -> dict[str, Value]:
        """Return the attributes of one profile that are read from columns.

        Raises:
            InputError: a value is missing, or does not fit the declaration.
        """
        return {name: self._attribute(name, column, row) for name, column in self.attributes.items()}

    def given_of(self, row: Row) -> dict[str, float]:
        """Return the thresholds and so on of one profile that are read from columns, without those left blank.

        Raises:
            InputError: a value is not in its range, or the thresholds are not in order.
        """
        given: dict[str, float] = {}
        for name, column in self.given.items():
            cell = row.cells.get(column)
            if not _is_blank(cell, ColumnsConfig.holding(name)):
                value = _read(cell, ColumnsConfig.holding(name))
                if value is None:
                    raise self._refusal(
                        column, row, f"expected {ColumnsConfig.holding(name).expected}, got {_shown(cell)}"
                    )
                given[name] = float(value)
        self._check_order(given, row)
        return given

    def _column_of(self, name: str, declaration: AttributeConfig) -> str | None:
        """Return the column that gives an attribute; None if it is drawn."""
        if declaration.column is not None or declaration.is_drawn:
            return declaration.column
        if name in self._present:
            return name
        # A column in capitals would be passed over, and the attribute drawn in its place.
        alike = next((column for column in self._present if column.lower() == name.lower()), None)
        if alike is not None:
            raise self._missing(name, f"{self._place}.{name}; `column: {alike}` reads {alike!r}", "")
        has_value = declaration.is_complete if self._place == PLACE else declaration.default is not None
        return None if has_value else name

    def _found(self, column: str, setting: str) -> str:
        """Return a column that the file has once."""
        if column not in self._present:
            raise self._missing(column, setting)
        if list(self._present).count(column) > 1:
            raise InputError(self._source, f"stands twice, and {setting} reads it", key=column, line=self._line)
        return column

    def _missing(self, column: str, setting: str, meant: str | None = None) -> InputError:
        """Return the error for a column that a setting needs, with the nearest one that there is."""
        if meant is None:
            known = {present.lower(): present for present in self._present}
            close = get_close_matches(column.lower(), known, n=1)
            meant = f"; did you mean {known[close[0]]!r}?" if close else ""
        listed = cut(", ".join(dict.fromkeys(self._present)), _COLUMNS_MAX)
        kind = "key" if self._line is None else "column"
        problem = f"missing {kind}: {column}, for {setting}{meant}; the file has: {listed}"
        return InputError(self._source, problem, line=self._line)

    def _attribute(self, name: str, column: str, row: Row) -> Value:
        declaration, cell = self._declared[name], row.cells.get(column)
        if _is_blank(cell, declaration):
            if declaration.default is None:
                way_out = f"{self._place}.{name}.default would stand for it"
                got = f"{_shown(cell)}, which stands for a missing value" if cell else "nothing"
                problem = f"expected {declaration.expected}, got {got}; {way_out}"
                raise self._refusal(column, row, problem)
            return declaration.default
        value = _read(cell, declaration)
        if value is None:
            raise self._refusal(column, row, f"expected {declaration.expected}, got {_shown(cell)}")
        return value

    def _check_order(self, given: Mapping[str, float], row: Row) -> None:
        """Refuse thresholds of one person that are not in order, or whose middle is missing."""
        middle, low, high = (given.get(f"{name}_threshold") for name in ("engagement", "low", "high"))
        for name, edge in (("low_threshold", low), ("high_threshold", high)):
            if edge is not None and middle is None:
                raise self._refusal(self.given[name], row, "expected an engagement threshold in the same profile")
        if middle is not None and low is not None and low > middle:
            problem = f"expected at most the engagement threshold of {middle:g}, got {low:g}"
            raise self._refusal(self.given["low_threshold"], row, problem)
        if middle is not None and high is not None and high < middle:
            problem = f"expected at least the engagement threshold of {middle:g}, got {high:g}"
            raise self._refusal(self.given["high_threshold"], row, problem)

    def _refusal(self, column: str, row: Row, problem: str) -> InputError:
        told = f"{row.who}: {problem}" if row.who else problem
        return InputError(self._source, told, key=column, line=row.line)


def _is_blank(cell: object, declaration: AttributeConfig) -> bool:
    """Return whether a cell holds no value. A word for a missing one is a value if the attribute declares it."""
    if not isinstance(cell, str):
        return cell is None or (isinstance(cell, float) and math.isnan(cell))
    text = cell.strip()
    return not text or (text in MISSING and text not in declaration.values)


def _read(cell: object, declaration: AttributeConfig) -> Value | None:
    """Return the value in a cell; None if the attribute may not have it.

    A `.csv` has texts, so there a number is a text that reads as one. A table program may write 40 as `40.0`.
    """
    text = cell.strip() if isinstance(cell, str) else ""
    value: object = text or cell
    if declaration.type == "bool" and text:
        value = TRUTHS.get(text.lower())
    elif declaration.type in ("int", "float"):
        number = float(text) if _NUMBER.fullmatch(text) else cell
        value = _as_number(number, declaration)
    return value if isinstance(value, float | int | bool | str) and declaration.holds(value) else None


def _as_number(number: object, declaration: AttributeConfig) -> float | None:
    if isinstance(number, bool) or not isinstance(number, int | float):
        return None
    if not abs(number) <= NUMBER_MAX:  # it may be no number at all
        return None
    if declaration.type == "float":
        return float(number)
    return int(number) if float(number).is_integer() else None


def _shown(cell: object) -> str:
    """Return a cell as an error shows it."""
    return json.dumps(cell, ensure_ascii=False)[:60] if not isinstance(cell, str) else repr(cell[:60])
