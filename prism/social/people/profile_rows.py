"""The rows of a file of profiles or posts, as a table or as JSON has them, and the columns that settings name."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final, NamedTuple

from prism.checked import field_types
from prism.config.attributes import NUMBER_MAX, PLACE, AttributeConfig, Value
from prism.config.model import ColumnsConfig
from prism.errors import InputError
from prism.text_files import MISSING, TABLES, TRUTHS, file_format, read_table
from prism.wording import cut

KINDS: Final = {
    "index": ("", "unnamed: 0", "index", "agent_id"),
    "id": ("user_id", "userid", "id"),
    "name": ("name", "realname", "real_name"),
    "username": ("username", "user_name", "screen_name"),
    "persona": ("user_char", "persona"),
    "bio": ("bio", "description"),
    "follows": ("following_agentid_list", "following_list"),
    "followers": ("followers_list", "follower_list"),
    "topics": ("interested_topics",),
    "mbti": ("mbti",),
    "age": ("age",),
    "gender": ("gender",),
    "country": ("country",),
    "profession": ("profession",),
}
"""`{kind of content: the names of its column or key}`; of several that a file has, the first is read."""
_DESCRIBING: Final = {name: None for kind in ("name", "username", "persona", "bio") for name in KINDS[kind]}
"""A file without any of these columns describes nobody."""
FORMATS: Final = (".json", ".jsonl", ".ndjson", *TABLES)
SHOWN_MAX: Final = 400
"""The most characters of an error that lists columns."""
_NUMBER: Final = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?", re.ASCII)


class FileRows(NamedTuple):
    """The rows of a file of which each describes one thing.

    Args:
        noun: what a row describes, as errors call it.
        columns: the columns, or all keys, as the file has them.
        rows: `{column or key: value}` of each thing; a table has texts only.
        lines: the line of each; empty for a list of JSON.
        header_line: the line of the header; None in JSON.
        column_of: `{kind: its column}`, for those of `KINDS` that a file of profiles has.
    """

    source: str
    noun: str
    columns: tuple[str, ...]
    rows: Sequence[Mapping[str, object]]
    lines: list[int]
    header_line: int | None
    column_of: Mapping[str, str] = {}

    def value(self, place: int, kind: str) -> object:
        """Return the value of a row in the column of a kind; None without the column."""
        column = self.column_of.get(kind)
        return None if column is None else self.rows[place].get(column)

    def text(self, place: int, kind: str) -> str:
        """Return a text or a number as text; empty for any other value, and for a missing one."""
        value = self.value(place, kind)
        if not isinstance(value, str | int | float) or isinstance(value, bool):
            return ""
        text = str(value).strip()
        return "" if text in MISSING else text

    def error(self, place: int, column: str, problem: str) -> InputError:
        """Return the error for a row's value in a column, with its line, or the number of the row without one."""
        if self.lines:
            return InputError(self.source, problem, key=column, line=self.lines[place])
        return InputError(self.source, f"{self.noun} {place + 1}: {problem}", key=column)

    def missing(self, column: str, why: str = "") -> InputError:
        """Return the error for a column that the file lacks."""
        kind, listed = "key" if self.header_line is None else "column", cut(", ".join(self.columns), SHOWN_MAX)
        problem = f"missing {kind}: {column}{why}; the file has: {listed}"
        return InputError(self.source, problem, line=self.header_line)


def profile_rows(text: str, source: str) -> FileRows:
    found = read_rows(text, source, {name for names in KINDS.values() for name in names if name})
    # A spreadsheet may end its rows with separators: only a first column without a name is one.
    places = {
        plain: column for place, column in enumerate(found.columns) if (plain := column.strip().lower()) or not place
    }
    column_of = {
        kind: next(places[name] for name in names if name in places)
        for kind, names in KINDS.items()
        if not places.keys().isdisjoint(names)
    }
    if found.columns and _DESCRIBING.keys().isdisjoint(places):
        noun, listed = "key" if found.header_line is None else "column", cut(", ".join(found.columns), SHOWN_MAX)
        problem = f"expected a {noun} that describes people ({', '.join(_DESCRIBING)}), got: {listed}"
        raise InputError(source, problem, line=found.header_line)
    return found._replace(column_of=column_of)


def read_rows(text: str, source: str, known: Collection[str], noun: str = "profile") -> FileRows:
    """Return the rows of a table or of JSON.

    Args:
        known: columns that the file may have, by which the separator of a table is found.
        noun: what a row describes, as errors call it.
    """
    if file_format(source) in TABLES:
        table = read_table(text, source, known, keeps_blank=True)
        numbered = [(line, dict(zip(table.header, cells, strict=True))) for line, cells in table.rows]
        lines, rows = [line for line, _ in numbered], [row for _, row in numbered]
        found = FileRows(source, noun, tuple(table.header), rows, lines, table.line)
    else:
        rows, lines = _json_rows(text, source, noun)
        found = FileRows(source, noun, tuple(dict.fromkeys(key for row in rows for key in row)), rows, lines, None)
    seen = set[str]()
    for column in found.columns:
        if (plain := column.strip().lower()) and plain in seen:
            problem = f"stands twice: expected one column {plain!r}"
            raise InputError(source, problem, key=column, line=found.header_line)
        seen.add(plain)
    return found


def _json_rows(text: str, source: str, noun: str) -> tuple[list[Any], list[int]]:
    """Return the objects of a JSON text and, if it has one a line, their lines."""
    entries: Any
    lines: list[int] = []
    if file_format(source) != ".json" and text.lstrip()[:1] != "[":
        numbered = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
        entries = [_decode_json(line, source, number) for number, line in numbered]
        lines = [number for number, _ in numbered]
    else:
        entries = _decode_json(text, source)
    if isinstance(entries, dict) and _DESCRIBING.keys().isdisjoint(entries):  # such as {"users": [...], "page": 1}
        lists = [found for found in entries.values() if isinstance(found, list)]
        entries = lists[0] if len(lists) == 1 else entries
    if not isinstance(entries, list):
        raise InputError(source, f"expected a list of {noun}s, or an object with one list, got {_kind(entries)}")
    for place, entry in enumerate(entries, 1):
        problem = "" if isinstance(entry, dict) else f": expected an object, got {_kind(entry)}"
        try:
            json.dumps(entry, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            problem = " holds half a character (\\ud800 to \\udfff alone): expected text"
        except RecursionError:
            problem = " is nested too deeply"
        if problem:
            raise InputError(source, f"{noun} {place}{problem}", line=lines[place - 1] if lines else None)
    return entries, lines


def _decode_json(text: str, source: str, line: int = 1) -> Any:
    """Return the value of a JSON text, which begins on a line of the file."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        problem = f"bad JSON: {error.msg} (column {error.colno})"
        if error.msg == "Extra data" and file_format(source) == ".json":
            problem += ": a file with an object on each line is a .jsonl"
        raise InputError(source, problem, line=error.lineno + line - 1) from None
    except (RecursionError, ValueError) as error:  # brackets by the thousand, or a number with thousands of digits
        raise InputError(source, f"bad JSON: {error}", line=line) from None


def _kind(value: object) -> str:
    kinds = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return kinds.get(type(value), "a number")


class OwnColumns:
    """The columns of one file that the configuration names, and the values in them.

    Args:
        declared: the attributes of people, or of posts.
        columns: the settings of further columns.
        setting: where the attributes are declared. Those of posts are never drawn.
    """

    def __init__(
        self, table: FileRows, declared: Mapping[str, AttributeConfig], columns: ColumnsConfig, setting: str = PLACE
    ) -> None:
        self._table, self._declared, self._setting = table, declared, setting
        self.attributes: dict[str, str] = {}
        """`{attribute: the column that gives it}`."""
        for name, each in declared.items():
            is_complete = each.is_complete if setting == PLACE else each.default is not None
            column = each.column
            if column is None and not each.is_drawn:
                # A column in capitals would be passed over, and the attribute drawn in its place.
                alike = next((one for one in table.columns if one.lower() == name.lower()), None)
                if alike not in (None, name):
                    raise table.missing(name, f", for {setting}.{name}; `column: {alike}` reads {alike!r}")
                column = alike or (None if is_complete else name)
            if column is not None:
                self.attributes[name] = self._found(column, f"{setting}.{name}")
        named = {name: getattr(columns, name) for name in field_types(ColumnsConfig)}
        self.given = {
            name: self._found(column, f"population.columns.{name}") for name, column in named.items() if column
        }
        """`{threshold or activity: the column that gives it}`."""

    def values_of(self, place: int) -> dict[str, Value]:
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
                raise self._table.error(place, column, f"expected {declaration.expected}, got {got}{way_out}")
            values[name] = value
        return values

    def given_of(self, place: int) -> dict[str, float]:
        """Return the thresholds and so on of one profile that are read from columns, without those left blank."""
        given: dict[str, float] = {}
        for name, column in self.given.items():
            declaration, cell = ColumnsConfig.holding(name), self._table.rows[place].get(column)
            if not _is_blank(cell, declaration):
                value = _read(cell, declaration)
                if value is None:
                    raise self._table.error(place, column, f"expected {declaration.expected}, got {_shown(cell)}")
                given[name] = float(value)
        # The thresholds are in order, and the middle one is not missing.
        middle = given.get("engagement_threshold")
        for name, sign, bound in (("low_threshold", 1, "at most"), ("high_threshold", -1, "at least")):
            edge = given.get(name)
            if edge is not None and (middle is None or sign * edge > sign * middle):
                problem = "expected an engagement threshold in the same profile"
                if middle is not None:
                    problem = f"expected {bound} the engagement threshold of {middle:g}, got {edge:g}"
                raise self._table.error(place, self.given[name], problem)
        return given

    def _found(self, column: str, setting: str) -> str:
        known = {present.lower(): present for present in self._table.columns}
        if column not in known.values():
            close = get_close_matches(column.lower(), known, n=1)
            meant = f"; did you mean {known[close[0]]!r}?" if close else ""
            raise self._table.missing(column, f", for {setting}{meant}")
        return column


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
