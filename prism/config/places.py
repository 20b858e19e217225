"""The place of an error in a YAML file: the line of the innermost key that stands there.

Keys may be named by the user and have dots of their own, as in `parameters.feed.size`, and lists have items, as in
`hypotheses[1].measure`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

from prism.config.yaml_text import Entry, read_document, without_lines
from prism.errors import ConfigError, SettingError
from prism.expectations import guess, in_words, meant

R = TypeVar("R")
T = TypeVar("T")

_ANY_KEY = "[...]"
"""The key of a mapping whose keys the user names, as msgspec writes it."""
_INDEX = re.compile(r"\[(\d+)\]")


def read_as(text: str, source: str, kind: type[T], checked: Callable[[T], R]) -> tuple[R, Mapping[str, Entry]]:
    """Return the value of the record that a YAML text describes, and the keys of the text with their lines."""
    entries = read_document(text, source)
    plain = {key: without_lines(entry.value) for key, entry in entries.items()}
    try:
        return checked(msgspec.convert(plain, kind)), entries
    except msgspec.ValidationError as error:
        raise refusal(source, entries, *_told(error, plain, kind)) from None
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


def _told(error: msgspec.ValidationError, plain: Any, kind: type) -> tuple[str, str]:
    """Return the problem with a value in words, and the key of the value."""
    problem, key = _key_of(error, plain, kind)
    expected = _type_at(kind, _steps(plain, key))
    if unknown := re.fullmatch(r"Object contains unknown field `(.*)`", problem):
        known = [name for each in _members(expected) for name in getattr(each, "__struct_fields__", ())]
        return f"unknown key; {guess(unknown[1], known)}", f"{key}.{unknown[1]}".lstrip(".")
    if missing := re.fullmatch(r"Object missing required field `(.*)`", problem):
        about = next(filter(None, (_meaning(each, missing[1]) for each in _members(expected))), "")
        return f"is missing{f'; expected {about}' if about else ''}", f"{key}.{missing[1]}".lstrip(".")
    if problem.startswith("Invalid enum value"):
        choices = [name for each in _members(expected) if get_origin(each) is Literal for name in get_args(each)]
        got = problem.rpartition(" ")[2]
        near = meant(got.strip("'"), choices)
        return f"expected one of {', '.join(choices)}, got {got}{near}", key
    return in_words(problem), key


def _meaning(kind: Any, name: str) -> str:
    """Return what the docstring of a record says of a field; empty if it says nothing."""
    found = re.search(rf"^ +(?:\w+, )*{name}(?:, \w+)*: ([^.;]+)", getattr(kind, "__doc__", "") or "", re.MULTILINE)
    return " ".join(found[1].split()) if found else ""


def _type_at(kind: Any, steps: Sequence[Any]) -> Any:
    """Return the type that is expected at a place."""
    for step in steps:
        inner = (_inner(each, step) for each in _members(kind))
        kind = next((each for each in inner if each is not None), None)
    return kind


def _members(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) in {Union, UnionType} else (kind,)


def _inner(kind: Any, step: Any) -> Any:
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return get_type_hints(kind).get(step)
    if (get_origin(kind) is dict) == isinstance(step, int):
        return None  # another member of a union is meant
    return next(iter(get_args(kind)[-1 if isinstance(step, str) else 0 :]), None)


def _key_of(error: msgspec.ValidationError, plain: Any, kind: type) -> tuple[str, str]:
    """Return what msgspec says is wrong with a value, and the key of it.

    Where msgspec does not say which key of a mapping it means, each is tried alone.
    """
    problem, _, place = str(error).partition(" - at `$")
    found, rest = "", place.rstrip("`")
    while _ANY_KEY in rest:
        before, _, rest = rest.partition(_ANY_KEY)
        found += before
        name = _wrong_name(str(error), plain, kind, found.lstrip("."))
        if name is None:
            break
        found += f".{name}"
    return problem, f"{found}{rest}".lstrip(".")


def _wrong_name(error: str, plain: Any, kind: type, section: str) -> str | None:
    """Return the name that gives this error as the only one in its mapping; None if none does."""
    named = _at(plain, section) or {}
    for name, value in named.items():
        try:
            msgspec.convert(_replaced(plain, _steps(plain, section), {name: value}), kind)
        except msgspec.ValidationError as other:
            if str(other) == error:
                return name
    return None


def _at(plain: Any, section: str) -> dict[str, Any] | None:
    """Return the mapping at a place; None if there is none."""
    for name in _steps(plain, section):
        plain = plain[name]
    return plain if isinstance(plain, dict) else None


def _steps(plain: Any, section: str) -> list[Any]:
    """Return the names and numbers that lead to a place, as far as there is one."""
    steps, rest = list[Any](), section
    while rest:
        index = _INDEX.match(rest)
        if isinstance(plain, list) and index is not None:
            name: Any = int(index[1])
            rest = rest[index.end() :].removeprefix(".")
        elif isinstance(plain, dict) and (known := _first_key(plain, rest)) is not None:
            name, rest = known, rest[len(known) :].removeprefix(".")
        else:
            break
        plain = plain[name]
        steps.append(name)
    return steps


def _replaced(plain: Any, steps: list[Any], value: Any) -> Any:
    """Return a copy of a value with another value at a place."""
    if not steps:
        return value
    copied = dict(plain) if isinstance(plain, dict) else list(plain)
    copied[steps[0]] = _replaced(plain[steps[0]], steps[1:], value)
    return copied
