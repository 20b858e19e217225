"""The rows of a file of profiles or posts: one for each, as a table or as JSON has them."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
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
_DESCRIBING: Final = ("name", "username", "persona", "bio")
"""A file without any of these columns describes nobody."""
FORMATS: Final = (".json", ".jsonl", ".ndjson", *TABLES)
SHOWN_MAX: Final = 400
"""The most characters of an error that lists columns."""
DEPTH_MAX: Final = 32
"""Lists and objects inside one another in a JSON file; a profile needs 3."""
_BRACKET: Final = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[\]{}]', re.DOTALL)
"""A text, or a bracket outside of texts."""

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
        plain = _plain(column)
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
    if column_of.keys().isdisjoint(_DESCRIBING):
        expected = ", ".join(name for kind in _DESCRIBING for name in KINDS[kind])
        listed = cut(", ".join(found.columns), SHOWN_MAX)
        noun = "key" if found.header_line is None else "column"
        problem = f"expected a {noun} that describes people ({expected}), got: {listed}"
        raise InputError(source, problem, line=found.header_line)
    return found._replace(column_of=column_of)


def read_rows(text: str, source: str, known: Collection[str], noun: str = "profile") -> FileRows:
    """Return the rows of a table or of JSON. A text that begins with a bracket is JSON, whatever its name.

    Args:
        known: columns that the file may have, by which the separator of a table is found.
        noun: what a row describes, as errors call it.
    """
    if file_format(source) not in TABLES or text.lstrip()[:1] in ("[", "{"):
        entries, lines = _json_rows(text, source, noun)
        return FileRows(source, noun, tuple(dict.fromkeys(key for row in entries for key in row)), entries, lines, None)
    found = read_table(text, source, known, keeps_blank=True)
    table = FileRows(source, noun, tuple(found.header), [], [], found.line)
    for line, cells in found.rows:
        table.rows.append(dict(zip(table.columns, cells, strict=True)))
        table.lines.append(line)
    return table


def _plain(column: str) -> str:
    return column.strip().lower()


def _json_rows(text: str, source: str, noun: str) -> tuple[list[Cells], list[int]]:
    """Return the objects of a JSON text and, if it has one a line, their lines."""
    entries: Any
    lines: list[int] = []
    if _is_json_lines(text, source):
        numbered = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
        entries = [_decode_json(line, source, number) for number, line in numbered]
        lines = [number for number, _ in numbered]
    else:
        entries = _decode_json(text, source)
        if not isinstance(entries, list):  # the list stands under a key, such as {"data": {"users": [...]}}
            lists = dict(_lists_in(entries, "")) if isinstance(entries, dict) else {}
            lists = {key: found for key, found in lists.items() if found} or lists
            if len(lists) > 1:
                listed = ", ".join(repr(key) for key in lists)
                raise InputError(source, f"expected one list of {noun}s, got lists of objects under {listed}")
            if not lists:
                raise InputError(source, f"expected a list of {noun}s, got {_kind(entries)}")
            [entries] = lists.values()
    for place, entry in enumerate(entries, 1):
        line = lines[place - 1] if lines else None
        if not isinstance(entry, dict):
            raise InputError(source, f"{noun} {place}: expected an object, got {_kind(entry)}", line=line)
        try:
            json.dumps(entry, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            problem = f"{noun} {place} holds half a character (\\ud800 to \\udfff alone): expected text"
            raise InputError(source, problem, line=line) from None
    return entries, lines


def _is_json_lines(text: str, source: str) -> bool:
    """Return whether a JSON text has a value on each line, without a list around them."""
    if not text.lstrip().startswith("{"):
        return False
    if file_format(source) in (".jsonl", ".ndjson"):
        return True
    first, *others = [line for line in text.split("\n") if line.strip()]
    try:
        return bool(others) and isinstance(json.loads(first), dict)
    except (ValueError, RecursionError):
        return False


def _lists_in(document: Mapping[str, Any], place: str) -> Iterator[tuple[str, list[Any]]]:
    """Yield the lists of objects within an object, each with its dotted key; a profile itself holds none."""
    if any(_plain(key) in names for kind, names in KINDS.items() if kind in _DESCRIBING for key in document):
        return
    for key, value in document.items():
        if isinstance(value, dict):
            yield from _lists_in(value, f"{place}{key}.")
        elif isinstance(value, list) and all(isinstance(each, dict) for each in value):
            yield f"{place}{key}", value


def _decode_json(text: str, source: str, line: int = 1) -> Any:
    """Return the value of a JSON text, which begins on a line of the file."""
    try:
        document = json.loads(text)
        is_shallow = _is_shallow(document, DEPTH_MAX)
    except RecursionError:
        is_shallow = False
    except json.JSONDecodeError as error:
        problem = f"bad JSON: {error.msg} (column {error.colno})"
        raise InputError(source, problem, line=error.lineno + line - 1) from None
    except ValueError as error:  # a number with thousands of digits
        raise InputError(source, f"bad JSON: {error}") from None
    if is_shallow:
        return document
    # The error names the line of the first bracket that is nested too deeply.
    depth = 0
    for found in _BRACKET.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(found[0], 0)
        if depth > DEPTH_MAX:
            line += text.count("\n", 0, found.start())
            break
    raise InputError(source, f"bad JSON: is nested more than {DEPTH_MAX} levels deep", line=line)


def _is_shallow(value: object, levels: int) -> bool:
    """Return whether a value has at most this many levels of lists and objects."""
    if not isinstance(value, list | dict):
        return True
    inner = value.values() if isinstance(value, dict) else value
    return levels > 0 and all(_is_shallow(each, levels - 1) for each in inner)


def _kind(value: object) -> str:
    kinds = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return kinds.get(type(value), "a number")
