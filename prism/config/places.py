"""The place of an error in a YAML file: the line of the innermost key that stands there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

import msgspec

from prism.checked import record_of
from prism.config.yaml_text import Entry, read_document, without_lines
from prism.errors import ConfigError, SettingError

R = TypeVar("R")
T = TypeVar("T", bound=msgspec.Struct)


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
    return Entry(value=entries).at(key).line or None
