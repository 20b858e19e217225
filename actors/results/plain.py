"""Values of a run as JSON values, with the names of their fields."""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import Enum
from typing import Any

import msgspec


def plain(value: Any) -> Any:
    """Return a value as JSON values: a record as an object with its fields, even if it is encoded as an array.

    A number that JSON cannot express, and a value of any other kind, becomes a text as Python shows it.
    """
    match value:
        case msgspec.Struct():
            found: Any = {name: plain(getattr(value, name)) for name in value.__struct_fields__}
        case Enum():
            found = plain(value.value)
        case Mapping():
            found = {str(name): plain(each) for name, each in value.items()}
        case list() | tuple():
            found = [plain(each) for each in value]
        case set() | frozenset():
            found = [plain(each) for each in sorted(value, key=repr)]
        case float() if not math.isfinite(value):
            found = repr(value)
        case _:
            found = _builtin(value)
    return found


def _builtin(value: Any) -> Any:
    try:
        return msgspec.to_builtins(value)
    except (TypeError, ValueError):
        return repr(value)
