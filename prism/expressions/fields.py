"""Fields: the typed values that an expression may read."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from math import ceil, floor, inf, isnan
from typing import Final, Literal

import msgspec

from prism.errors import ExpressionError

Kind = Literal["float", "int", "bool", "text", "texts"]

WORDS: Final = frozenset({"and", "or", "not", "in", "true", "false", "if", "min", "max", "abs", "exp", "log10", "sqrt"})

INT_MAX: Final = 2**53
"""The largest size of an int: up to here, every int is a 64-bit float exactly."""

FLOAT_MAX: Final = sys.float_info.max
_KINDS: Final = ("float", "int", "bool", "text", "texts")
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z][A-Za-z0-9_]*)*")
_SHOWN_MAX: Final = 20


class Field(msgspec.Struct, frozen=True, kw_only=True):
    """A declared, typed value that an expression may read.

    A value is never NaN and never infinite. Whoever provides it keeps to the declaration; reading does not check it.

    Args:
        low: the least value of a number, itself possible.
        high: the greatest value of a number, itself possible.
        values: every possible value of a text, or of the members of texts; empty if any text is possible.

    Raises:
        ExpressionError: the name is no dotted name or a word of the language, a range without values or for something
            that is not a number, or values for something that is not a text.
    """

    name: str
    kind: Kind
    low: float = -inf
    high: float = inf
    values: tuple[str, ...] = ()
    help: str = ""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name) or self.name in WORDS:
            raise self._refused("expected a dotted name such as agent.energy, and no word of the language")
        if self.kind not in _KINDS:
            raise self._refused(f"expected a kind among {', '.join(_KINDS)}, got {self.kind!r}")
        if isnan(self.low) or isnan(self.high) or not self.bounds[0] <= self.bounds[1]:
            raise self._refused(f"expected a range that holds a value, got {self.low} to {self.high}")
        if (self.low, self.high) != (-inf, inf) and not self.is_number:
            raise self._refused(f"a range is for numbers, and this is a field of kind {self.kind}")
        if self.values and self.kind not in {"text", "texts"}:
            raise self._refused(f"values are for texts, and this is a field of kind {self.kind}")

    @property
    def is_number(self) -> bool:
        return self.kind in {"float", "int"}

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the greatest value that a number can have: finite, and whole for an int."""
        if self.kind == "int":
            low, high = max(self.low, -INT_MAX), min(self.high, INT_MAX)
            return float(ceil(low)), float(floor(high))
        return max(self.low, -FLOAT_MAX), min(self.high, FLOAT_MAX)

    def _refused(self, problem: str) -> ExpressionError:
        return ExpressionError(self.name, 1, f"not a field: {problem}")


def guesses(name: str, known: Sequence[str]) -> str:
    """Return a hint for a name that is not known: those that there are, and the nearest one."""
    near = get_close_matches(name, known, n=1)
    shown = ", ".join(known[:_SHOWN_MAX]) + (", ..." if len(known) > _SHOWN_MAX else "")
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"there {'is' if len(known) == 1 else 'are'}: {shown or 'none'}{hint}"


def reads_view(names: Iterable[str]) -> bool:
    """Return whether one of these fields is of the post in view or of its author."""
    return any(name.startswith(("post.", "author.")) for name in names)


def reads_draw(names: Iterable[str]) -> bool:
    """Return whether one of these fields is a random number."""
    return any(name.startswith("draw.") for name in names)
