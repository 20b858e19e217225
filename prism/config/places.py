"""The place of an error in a YAML file: the line of the innermost key that stands there.

Keys may be named by the user and have dots of their own, as in `parameters.feed.size`, and lists have items, as in
`hypotheses[1].measure`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec

from prism.checked import record_of
from prism.config.yaml_text import Entry, read_document, without_lines
from prism.errors import ConfigError, SettingError

R = TypeVar("R")
T = TypeVar("T", bound=msgspec.Struct)

_INDEX = re.compile(r"\[(\d+)\]")


def read_as(text: str, source: str, kind: type[T], checked: Callable[[T], R]) -> tuple[R, Mapping[str, Entry]]:
    """Return the value of the record that a YAML text describes, and the keys of the text with their lines."""
    entries = read_document(text, source)
    plain = {key: without_lines(entry.value) for key, entry in entries.items()}
    try:
        return checked(record_of(kind, plain)), entries
    except SettingError as error:
        raise refusal(source, entries, error.problem, error.keys[0]) from None


def refusal(source: str, entries: Mapping[str, Entry], problem: str, key: str) -> ConfigError:
    """Return the error of a key, with its line."""
    return ConfigError(source, problem, key=key or None, line=line_of(entries, key))


def line_of(entries: Mapping[str, Entry], key: str) -> int | None:
    """Return the line of the innermost part of a key that stands in the file; None if no part does."""
    line: int | None = None
    inner: Any = entries
    rest = key
    while rest:
        index = _INDEX.match(rest)
        if isinstance(inner, list) and index is not None and int(index[1]) < len(inner):
            inner, rest = inner[int(index[1])], rest[index.end() :].removeprefix(".")
            line = next((each.line for each in inner.values()), line) if isinstance(inner, dict) else line
            continue
        name = _first_key(inner, rest) if isinstance(inner, dict) else None
        if name is None:
            break
        line, inner, rest = inner[name].line, inner[name].value, rest[len(name) :].removeprefix(".")
    return line


def _first_key(entries: Mapping[str, Any], key: str) -> str | None:
    """Return the longest name that a key begins with: names of settings have dots."""
    fitting = [name for name in entries if name and (key == name or key.startswith((f"{name}.", f"{name}[")))]
    return max(fitting, key=len, default=None)
