"""The wording of messages: a noun after its count, times, clauses in one sentence, names of models, long texts cut."""

from __future__ import annotations

import re

_PLACE = re.compile(r" (at|from tape) [^,]*")


def counted(count: int, one: str, many: str = "") -> str:
    """Return a count with its noun: `1 profile`, `1,200 profiles`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


_UNITS_S = ((86_400.0, "day"), (3600.0, "hour"), (60.0, "minute"))


class Ticks(int):
    """A number of ticks since something happened, which a prompt shows as time."""


def ago(seconds: float) -> str:
    """Return how long ago something was, in the largest whole unit: `12 minutes ago`, `just now` below a minute."""
    for unit_s, name in _UNITS_S:
        if seconds >= unit_s:
            return f"{counted(int(seconds // unit_s), name)} ago"
    return "just now"


def clauses(*parts: str) -> str:
    """Return the parts that are not empty, with a semicolon between; a server's words may end with a full stop."""
    *before, last = [part for part in parts if part] or [""]
    return "; ".join([*(part if part.endswith("...") else part.removesuffix(".") for part in before), last])


def model_name(model: str) -> str:
    """Return the name of a model as others may read it: without directories if it is a file."""
    is_file = model.startswith(("/", ".", "~")) or model.endswith(".gguf")
    return model.replace("\\", "/").rpartition("/")[2] if is_file else model


def without_place(oracle: str) -> str:
    """Return the description of a model without the address of its server or the path of its tape."""
    models, by, rest = oracle.partition(" by ")
    return f"{', '.join(map(model_name, models.split(', ')))}{by}{_PLACE.sub('', rest, count=1)}"


def cut(text: str, length_max: int) -> str:
    """Return a text of at most `length_max` characters; a longer one ends in dots."""
    return text if len(text) <= length_max else f"{text[: length_max - 3]}..."
