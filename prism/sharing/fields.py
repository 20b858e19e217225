"""The fields of questions: their values, and how a logit uses them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

Value = float | int | bool | str  # the value of a field: a number, a truth value or a text


def in_words(value: Value) -> str:
    """Return a value in words: a truth value is `yes` or `no`."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


class Fields(NamedTuple):
    """The fields of questions, as a logit uses them."""

    names: Sequence[str]  # all of them, in the order of a judgement's values
    stated: Collection[str]  # those that an oracle may judge by
    multiplied: Collection[str]  # those of them whose columns are multiplied with each other
