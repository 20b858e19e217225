"""The words of a refusal: the value that was expected, and the value that was found."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from difflib import get_close_matches
from typing import Any

from msgspec import inspect

from prism.credentials import without_keys
from prism.quoting import printable
from prism.wording import cut

FOUND_LENGTH = 60
KEYS_SHOWN = 4
"""The most keys of a mapping that a text lists."""
NAMES_MAX = 16
"""The most names that a guess lists."""


def expectation(kind: Any) -> str:
    return type_text(inspect.type_info(kind))


def mismatch(kind: Any, value: object) -> str:
    """Return in words what was expected of a value and what it is: `expected int >= 1, got -5`."""
    expected = inspect.type_info(kind)
    return f"expected {type_text(expected)}, got {found(value)}{meant(value, _choices(expected))}"


def found(value: object) -> str:
    """Return a value as an error shows it: on one line, as YAML writes it, cut where it is long, without keys."""
    return cut(without_keys(" ".join(line.strip() for line in _found(value).splitlines())), FOUND_LENGTH)


def join(path: str, key: str) -> str:
    """Return the dotted path of a key, with unprintable characters escaped, so that an error stays on one line."""
    shown = printable(key) or "''"
    return f"{path}.{shown}" if path else shown


def type_text(kind: inspect.Type) -> str:
    """Return a type and its range in words: `int >= 1`, `one of: a, b`, `text or none`; or its title, if it has one."""
    match kind:
        case inspect.Metadata():
            text = (kind.extra_json_schema or {}).get("title") or type_text(kind.type)
        case inspect.UnionType():
            text = " or ".join(map(type_text, kind.types))
        case inspect.VarTupleType() | inspect.ListType():
            bound = "exactly" if kind.min_length == kind.max_length else "at least"
            length = f", {bound} {kind.min_length}" if kind.min_length else ""
            text = f"list of {type_text(kind.item_type)}{length}"
        case inspect.DictType():
            text = f"mapping of {type_text(kind.key_type)} to {type_text(kind.value_type)}"
        case inspect.IntType() | inspect.FloatType():
            bounds = ((">=", kind.ge), (">", kind.gt), ("<=", kind.le), ("<", kind.lt))
            given = " and ".join(f"{sign} {_plain(bound)}" for sign, bound in bounds if bound is not None)
            if kind.ge is not None and kind.le is not None:
                given = f"{_plain(kind.ge)} to {_plain(kind.le)}"
            text = f"{'int' if isinstance(kind, inspect.IntType) else 'float'} {given}".rstrip()
        case inspect.LiteralType() | inspect.EnumType():
            text = f"one of: {', '.join(_choices(kind))}"
        case inspect.StrType():
            text = "non-empty text" if kind.min_length else "text"
        case inspect.DateTimeType():
            text = "date and time with UTC offset" if kind.tz else "date and time"
        case inspect.StructType():
            names = [field.name for field in kind.fields]
            text = f"{{{', '.join(names[:KEYS_SHOWN])}{', ...' if len(names) > KEYS_SHOWN else ''}}}"
        case inspect.BoolType() | inspect.NoneType() | inspect.AnyType():
            text = {"BoolType": "true or false", "NoneType": "none", "AnyType": "any value"}[type(kind).__name__]
        case _:
            raise TypeError(f"no words for values of type {kind}")
    return text


def _choices(kind: inspect.Type) -> list[str]:
    match kind:
        case inspect.Metadata():
            return _choices(kind.type)
        case inspect.UnionType():
            return [name for member in kind.types for name in _choices(member)]
        case inspect.LiteralType():
            return [*map(str, kind.values)]
        case inspect.EnumType():
            return [str(member.value) for member in kind.cls]
    return []


def _plain(number: float) -> str:
    """Return a bound without needless digits: 0.0 is 0, and a large int keeps all its digits."""
    return str(number) if isinstance(number, int) else f"{number:g}"


def _found(value: object) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if type(value) is float:
        return repr(value).replace("inf", ".inf").replace("nan", ".nan")
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_found, value))}]"
    if isinstance(value, dict):
        return "a mapping" if value else "{}"
    return str(value) if isinstance(value, date) else repr(value)


def meant(value: object, known: Iterable[str]) -> str:
    """Return the question whether the nearest known word was meant; empty if none is near.

    Of names such as `agent.energy` the last parts are near, too: all of them are alike in the first part.
    """
    names = {name.lower(): name for name in known}
    word = value.lower() if isinstance(value, str) else ""
    last = word.rpartition(".")[2]
    close = get_close_matches(word, [each for each in names if get_close_matches(last, [each.rpartition(".")[2]])], n=1)
    return f"; did you mean {names[close[0]]}?" if close else ""


def guess(name: str, known: Iterable[str]) -> str:
    """Return what was meant by an unknown name: the nearest known one, or else all of them in their order, if few."""
    names = list(known)
    if near := meant(name, names):
        return near.removeprefix("; ")
    more = f" and {len(names) - NAMES_MAX:,} more" if len(names) > NAMES_MAX else ""
    return f"expected one of {', '.join(names[:NAMES_MAX]) or 'none'}{more}"
