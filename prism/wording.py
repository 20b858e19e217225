"""The wording of messages: a noun after its count, clauses in one sentence, and long texts cut."""

from __future__ import annotations


def counted(count: int, one: str, many: str = "") -> str:
    """Return a count with its noun: `1 profile`, `1,200 profiles`.

    Args:
        one: the noun for a count of one.
        many: the noun for other counts; by default `one` with an s.
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def clauses(*parts: str) -> str:
    """Return the parts that are not empty, with a semicolon between; a server's words may end with a full stop."""
    *before, last = [part for part in parts if part] or [""]
    return "; ".join([*(part if part.endswith("...") else part.removesuffix(".") for part in before), last])


def cut(text: str, length_max: int) -> str:
    """Return a text of at most `length_max` characters; a longer one ends in dots."""
    return text if len(text) <= length_max else f"{text[: length_max - 3]}..."
