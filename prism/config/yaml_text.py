"""A YAML text as plain values, with the line of each.

Only the part of YAML that a configuration needs is read. Numbers, booleans and null are written as in YAML 1.2: the
older rules turn `no` into false, `0042` into 34 and `12:30` into 750, and leave `1e3` a text, all without a message.
Tags and aliases are refused: no setting needs them, and with aliases a small file can mean an endless value. Long texts
and deep nesting are refused too.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime
from typing import Any, Final, TypeVar

import msgspec
import yaml

from prism.checked import record_of
from prism.errors import ConfigError, SettingError
from prism.expectations import found, join
from prism.quoting import printable

R = TypeVar("R")
T = TypeVar("T", bound=msgspec.Struct)

DEPTH_MAX = 32
"""The most collections inside one another; settings need 4."""
LENGTH_MAX = 64 * 1024
"""The most characters of a text. All settings with their comments take 29,000; for this many the library takes up to
1 s."""

_PLAIN: Final = {"true": True, "false": False, "null": None, ".inf": math.inf, "-.inf": -math.inf, ".nan": math.nan}
_WORDS: Final = {form: value for word, value in _PLAIN.items() for form in (word, word.capitalize(), word.upper())}
_INT = re.compile(r"[-+]?(0|[1-9][0-9_]*)")
_FLOAT = re.compile(r"[-+]?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))([eE][-+]?[0-9]+)?")
_TIME = re.compile(r"\d{4}-\d\d-\d\d([Tt ]\d\d:\d\d:\d\d\S*)?")


class Document(msgspec.Struct, frozen=True):
    """The value of a YAML text.

    Args:
        lines: `{key such as feed.size or topics[1]: its 1-based line}`, and the line where all of it begins, by "".
    """

    value: Any
    source: str
    lines: Mapping[str, int]

    def line(self, key: str) -> int | None:
        """Return the line of a key, or of the innermost part of it that the text has."""
        return self.lines.get(innermost(key, self.lines) or key)

    def refused(self, problem: str, key: str) -> ConfigError:
        return ConfigError(self.source, problem, key=key or None, line=self.line(key))


def innermost(key: str, known: Mapping[str, object]) -> str:
    """Return the innermost known part of a dotted key; empty if no part of it is known."""
    while key and key not in known:
        key = key[: max(key.rfind("."), key.rfind("["), 0)]
    return key


def read_document(text: str, source: str, *, length_max: int = LENGTH_MAX) -> Document:
    """Return a YAML text that is a mapping, or empty."""
    document = read_yaml(text, source, length_max=length_max)
    if not isinstance(document.value, dict | None):
        problem = f"expected sections at the top, got {found(document.value)}"
        raise ConfigError(source, problem, line=document.lines[""])
    return Document(document.value or {}, source, document.lines)


def read_as(text: str, source: str, kind: type[T], checked: Callable[[T], R]) -> tuple[R, Document]:
    """Return the value of the record that a YAML text describes, and the text with its lines."""
    document = read_document(text, source)
    try:
        return checked(record_of(kind, document.value)), document
    except SettingError as error:
        raise document.refused(error.problem, error.keys[0]) from None


def read_yaml(text: str, source: str, *, length_max: int = LENGTH_MAX) -> Document:
    """Return any YAML text; its value is None if it is empty."""
    if len(text) > length_max:
        raise ConfigError(source, f"is longer than the {length_max:,} characters that a configuration may have")
    reader = _Reader(text, source)
    try:
        return Document(reader.document(), source, reader.lines)
    except yaml.MarkedYAMLError as error:
        problem, line = _told(error, text.rstrip().split("\n"))
        raise ConfigError(source, f"not valid YAML: {problem}", line=line) from error
    except yaml.reader.ReaderError as error:
        problem = f"not valid YAML: the character {chr(error.character)!a} is not allowed"
        raise ConfigError(source, problem, line=text.count("\n", 0, error.position) + 1) from error


class _Reader:
    """Builds the value of one text from PyYAML's events."""

    def __init__(self, text: str, source: str) -> None:
        self.lines: dict[str, int] = {}
        self._source = source
        self._events: Iterator[Any] = yaml.parse(text, Loader=yaml.SafeLoader)

    def document(self) -> Any:
        value, _, event = None, next(self._events), next(self._events)  # the stream's start, and the document's
        if isinstance(event, yaml.DocumentStartEvent):
            value, _, event = self._value(next(self._events), "", DEPTH_MAX), next(self._events), next(self._events)
        if not isinstance(event, yaml.StreamEndEvent):
            raise self._refused("not valid YAML: expected one document, got another behind ---", None, event)
        self.lines.setdefault("", 1)
        return value

    def _value(self, event: Any, path: str, depth: int) -> Any:
        self.lines[path] = _line(event.start_mark)
        if isinstance(event, yaml.AliasEvent):
            raise self._refused(f"*{event.anchor}: YAML aliases are not supported", None, event)
        if event.tag is not None:
            tag = event.tag.replace("tag:yaml.org,2002:", "!!")
            raise self._refused(f"{tag}: YAML tags are not supported", None, event)
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event, path) if event.implicit[0] else event.value
        if not depth:
            raise self._refused(
                f"is nested more than {DEPTH_MAX} levels deep; no setting needs more than 4", None, event
            )
        if isinstance(event, yaml.SequenceStartEvent):
            items: list[Any] = []
            while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
                items.append(self._value(event, f"{path}[{len(items)}]", depth - 1))
            return items
        values: dict[str, Any] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            before = self.lines[path]
            key = self._value(event, path, depth - 1)
            self.lines[path] = before
            if not isinstance(key, str):
                raise self._refused(f"expected a name as key, got {found(key)}", path, event)
            inner = join(path, key)
            if key in values:
                raise self._refused(f"stands twice, first in line {self.lines[inner]}", inner, event)
            values[key] = self._value(next(self._events), inner, depth - 1)
            self.lines[inner] = _line(event.start_mark)
        return values

    def _scalar(self, event: Any, path: str) -> Any:
        text, kind = event.value, "int"
        if text in _WORDS or text in ("", "~"):
            return _WORDS.get(text)
        try:
            if _INT.fullmatch(text):
                return int(text.replace("_", ""))
            if _FLOAT.fullmatch(text):
                return float(text)
            if time := _TIME.fullmatch(text):
                kind = "timestamp"
                return datetime.fromisoformat(text) if time[1] else date.fromisoformat(text)
        except ValueError as error:  # a date like 2026-02-30, or an int of more digits than Python reads
            raise self._refused(f"expected a valid {kind}, got {found(text)}", path, event) from error
        return text

    def _refused(self, problem: str, key: str | None, event: Any) -> ConfigError:
        return ConfigError(self._source, problem, key=key or None, line=_line(event.start_mark))


COLON: Final = "expected a key with a colon and a space behind it"
"""The problem with `seed:5`, which is a text to YAML."""
_MENDED: Final = {
    "found unexpected end of stream": "a quote is not closed",
    "could not find expected ':'": COLON,
    "expected ',' or": "{problem}: a bracket is not closed, or a text needs quotes around it",
    "expected the node content, but found '?'": "a text that begins with ?: put the text in quotes",
    "expected the node content": "a bracket is not closed",
    "mapping keys": "a text that begins with ?: put the text in quotes",
    "cannot start any token": "a text that begins with {mark}: put the text in quotes",
    "sequence entries": "a - outside of quotes: put the text in quotes, or write a list below its key",
    "mapping values": "expected the indent of a key above, or quotes around all of a text with a colon",
    "expected <block end>": "expected the indent of a key above, or quotes around all of a text, got {word}",
}
"""`{part of what PyYAML says: what to mend}`; the first three are told with the line where they begin."""


def _told(error: yaml.MarkedYAMLError, lines: list[str]) -> tuple[str, int | None]:
    """Return the problem with a text that is not YAML in everyday words, and the line to change."""
    at, context, problem = error.problem_mark, error.context_mark, " ".join((error.problem or "").split())
    if at is None:
        return problem, None
    line = lines[at.line] if at.line < len(lines) else ""
    known = next((part for part in _MENDED if part in problem), "")
    mark = line[at.column : at.column + 1]
    if mark and mark in "]}" and known in ("expected the node content", "expected <block end>"):
        return f"a {mark} without a bracket that opens", _line(at)
    if "\t" in line[: len(line) - len(line.lstrip())]:
        return "expected an indent of spaces, got a tab", _line(at)
    if known == "mapping values" and re.fullmatch(r" *[^\s#]+[^\s#:]", lines[at.line - 1]):
        return COLON, at.line
    # What is not closed is found at the end of the text, below the line to change.
    begins = context is not None and known in [*_MENDED][:3]
    word = printable((line[at.column :].split() or [""])[0][:40])
    mended = _MENDED.get(known, "{problem}").format(problem=problem, mark=mark, word=word)
    return mended, min(_line(context if begins else at), len(lines))


def _line(mark: Any) -> int:
    return int(mark.line) + 1


def flat(settings: Mapping[str, Any], section: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each setting below a section by its dotted name."""
    for name, value in settings.items():
        path = join(section, name)
        if isinstance(value, dict):
            yield from flat(value, path)
        else:
            yield path, value
