"""The columns of a file of profiles or posts that the configuration names for attributes and thresholds.

A file is refused where a column is missing or a value does not fit: a person with another value than the file says
would go unnoticed.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Final

from prism.checked import field_types
from prism.config.attributes import NUMBER_MAX, PLACE, AttributeConfig, Value
from prism.config.model import ColumnsConfig
from prism.errors import InputError
from prism.social.people.profile_rows import SHOWN_MAX, FileRows
from prism.text_files import MISSING, TRUTHS
from prism.wording import cut

_NUMBER: Final = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?", re.ASCII)


class OwnColumns:
    """The columns of one file that the configuration names, and the values in them.

    Args:
        declared: the attributes of people, or of posts.
        columns: the settings of further columns.
        setting: where the attributes are declared. Those of posts are never drawn.
    """

    def __init__(
        self,
        table: FileRows,
        declared: Mapping[str, AttributeConfig],
        columns: ColumnsConfig,
        setting: str = PLACE,
    ) -> None:
        self._table = table
        self._declared = declared
        self._setting = setting
        self.attributes: dict[str, str] = {}
        """`{attribute: the column that gives it}`."""
        self.given: dict[str, str] = {}
        """`{threshold or activity: the column that gives it}`."""
        for name, declaration in declared.items():
            column = self._column_of(name, declaration)
            if column is not None:
                self.attributes[name] = self._found(column, f"{setting}.{name}")
        for name in field_types(ColumnsConfig):
            column = getattr(columns, name)
            if column is not None:
                self.given[name] = self._found(column, f"population.columns.{name}")

    def values_of(self, place: int, who: str = "") -> dict[str, Value]:
        """Return the attributes in a row that are read from columns."""
        values: dict[str, Value] = {}
        for name, column in self.attributes.items():
            declaration, cell = self._declared[name], self._table.rows[place].get(column)
            is_blank = _is_blank(cell, declaration)
            value = declaration.default if is_blank else _read(cell, declaration)
            if value is None:
                got, way_out = _shown(cell), ""
                if is_blank:
                    got = f"{got}, which stands for a missing value" if cell else "nothing"
                    way_out = f"; {self._setting}.{name}.default would stand for it"
                problem = f"expected {declaration.expected}, got {got}{way_out}"
                raise self._table.error(place, column, problem, who)
            values[name] = value
        return values

    def given_of(self, place: int, who: str = "") -> dict[str, float]:
        """Return the thresholds and so on of one profile that are read from columns, without those left blank."""
        given: dict[str, float] = {}
        for name, column in self.given.items():
            declaration, cell = ColumnsConfig.holding(name), self._table.rows[place].get(column)
            if _is_blank(cell, declaration):
                continue
            value = _read(cell, declaration)
            if value is None:
                raise self._table.error(place, column, f"expected {declaration.expected}, got {_shown(cell)}", who)
            given[name] = float(value)
        # The thresholds are in order, and the middle one is not missing.
        middle = given.get("engagement_threshold")
        for name, sign, bound in (("low_threshold", 1, "at most"), ("high_threshold", -1, "at least")):
            edge, problem = given.get(name), ""
            if edge is not None and middle is None:
                problem = "expected an engagement threshold in the same profile"
            elif edge is not None and middle is not None and sign * edge > sign * middle:
                problem = f"expected {bound} the engagement threshold of {middle:g}, got {edge:g}"
            if problem:
                raise self._table.error(place, self.given[name], problem, who)
        return given

    def _column_of(self, name: str, declaration: AttributeConfig) -> str | None:
        """Return the column that gives an attribute; None if it is drawn."""
        if declaration.column is not None or declaration.is_drawn:
            return declaration.column
        if name in self._table.columns:
            return name
        # A column in capitals would be passed over, and the attribute drawn in its place.
        alike = next((column for column in self._table.columns if column.lower() == name.lower()), None)
        if alike is not None:
            raise self._missing(name, f"{self._setting}.{name}; `column: {alike}` reads {alike!r}", "")
        has_value = declaration.is_complete if self._setting == PLACE else declaration.default is not None
        return None if has_value else name

    def _found(self, column: str, setting: str) -> str:
        """Return a column that the file has once."""
        if column not in self._table.columns:
            known = {present.lower(): present for present in self._table.columns}
            close = get_close_matches(column.lower(), known, n=1)
            raise self._missing(column, setting, f"; did you mean {known[close[0]]!r}?" if close else "")
        if self._table.columns.count(column) > 1:
            problem = f"stands twice, and {setting} reads it"
            raise InputError(self._table.source, problem, key=column, line=self._table.header_line)
        return column

    def _missing(self, column: str, setting: str, meant: str) -> InputError:
        listed = cut(", ".join(dict.fromkeys(self._table.columns)), SHOWN_MAX)
        kind = "key" if self._table.header_line is None else "column"
        problem = f"missing {kind}: {column}, for {setting}{meant}; the file has: {listed}"
        return InputError(self._table.source, problem, line=self._table.header_line)


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
        if isinstance(number, bool) or not isinstance(number, int | float) or not abs(number) <= NUMBER_MAX:
            return None  # NaN, too, is not at most the largest number
        if declaration.type == "int" and not float(number).is_integer():
            return None
        value = int(number) if declaration.type == "int" else float(number)
    return value if isinstance(value, float | int | bool | str) and declaration.holds(value) else None


def _shown(cell: object) -> str:
    return json.dumps(cell, ensure_ascii=False)[:60] if not isinstance(cell, str) else repr(cell[:60])
