"""The rows of a file of profiles or posts: one for each, as a table or as JSON has them."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any, Final, NamedTuple

from prism.errors import InputError
from prism.text_files import MISSING, TABLES, file_format, read_table
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

Cells = Mapping[str, object]
"""`{column or key: value}` of one row; a table has texts only."""


class FileRows(NamedTuple):
    """The rows of a file of which each describes one thing.

    Args:
        noun: what a row describes, as errors call it.
        columns: the columns, or all keys, as the file has them.
        rows: what the file says of each thing.
        lines: the line of each; empty for a list of JSON.
        header_line: the line of the header; None in JSON.
        column_of: `{kind: its column}`, for those of `KINDS` that a file of profiles has.
    """

    source: str
    noun: str
    columns: tuple[str, ...]
    rows: list[Cells]
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

    def error(self, place: int, column: str, problem: str, name: str = "") -> InputError:
        """Return the error for a row's value in a column. Where no line tells the row, its number and name do."""
        if self.lines:
            return InputError(self.source, problem, key=column, line=self.lines[place])
        who = f"{self.noun} {place + 1}" + (f" ({name})" if name else "")
        return InputError(self.source, f"{who}: {problem}", key=column)


def profile_rows(text: str, source: str) -> FileRows:
    found = read_rows(text, source, {name for names in KINDS.values() for name in names if name})
    if not found.rows and not found.header_line:
        return found
    places = dict[str, str]()
    for place, column in enumerate(found.columns):
        plain = column.strip().lower()
        if not plain and place:
            continue  # a spreadsheet may end its rows with separators
        if plain in places and any(plain in names for names in KINDS.values()):
            problem = f"stands twice: expected one column {plain!r}"
            raise InputError(source, problem, key=column, line=found.header_line)
        places.setdefault(plain, column)
    column_of = {
        kind: next(places[name] for name in names if name in places)
        for kind, names in KINDS.items()
        if not places.keys().isdisjoint(names)
    }
    if _DESCRIBING.keys().isdisjoint(places):
        expected = ", ".join(_DESCRIBING)
        listed = cut(", ".join(found.columns), SHOWN_MAX)
        noun = "key" if found.header_line is None else "column"
        problem = f"expected a {noun} that describes people ({expected}), got: {listed}"
        raise InputError(source, problem, line=found.header_line)
    return found._replace(column_of=column_of)


def read_rows(text: str, source: str, known: Collection[str], noun: str = "profile") -> FileRows:
    """Return the rows of a table or of JSON.

    Args:
        known: columns that the file may have, by which the separator of a table is found.
        noun: what a row describes, as errors call it.
    """
    if file_format(source) not in TABLES:
        entries, lines = _json_rows(text, source, noun)
        return FileRows(source, noun, tuple(dict.fromkeys(key for row in entries for key in row)), entries, lines, None)
    found = read_table(text, source, known, keeps_blank=True)
    table = FileRows(source, noun, tuple(found.header), [], [], found.line)
    for line, cells in found.rows:
        table.rows.append(dict(zip(table.columns, cells, strict=True)))
        table.lines.append(line)
    return table


def _json_rows(text: str, source: str, noun: str) -> tuple[list[Cells], list[int]]:
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
        line = lines[place - 1] if lines else None
        if not isinstance(entry, dict):
            raise InputError(source, f"{noun} {place}: expected an object, got {_kind(entry)}", line=line)
        try:
            json.dumps(entry, ensure_ascii=False).encode()
        except (UnicodeEncodeError, RecursionError) as error:
            half = "holds half a character (\\ud800 to \\udfff alone): expected text"
            problem = f"{noun} {place} {half if isinstance(error, UnicodeEncodeError) else 'is nested too deeply'}"
            raise InputError(source, problem, line=line) from None
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
