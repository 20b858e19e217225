"""The reading of an expression over a box: its possible values where each field is only known to be within bounds.

The answer is never too narrow: a value that the expression has somewhere in the box is always among the possible ones.
It can be too wide, because each part is read for itself: over a box, `x - x` is more than 0. A smaller box gives a
narrower answer.

A bound is worked out with the same operation on 64-bit floats as the values. Rounding keeps the order of numbers, so a
bound needs no margin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Flag as Bits
from itertools import product
from math import inf, isinf, isnan, nextafter
from typing import Final, NamedTuple, cast

from prism.expressions.fields import Field
from prism.expressions.source import exponential, logarithm, root
from prism.expressions.tree import (
    And,
    Arithmetic,
    Call,
    Choose,
    Comparison,
    Expression,
    Flag,
    Member,
    Negative,
    Node,
    Not,
    Number,
    Or,
    Ordering,
    Read,
    Text,
    children,
)

TINY: Final = 5e-324
"""The least float above 0."""


class Truth(Bits):
    """The truth values that are possible: one of the two, or either."""

    TRUE = 1
    FALSE = 2
    EITHER = 3

    @property
    def can_be_true(self) -> bool:
        """True if it may be true somewhere."""
        return Truth.TRUE in self

    @property
    def can_be_false(self) -> bool:
        """True if it may be false somewhere."""
        return Truth.FALSE in self


class Interval(NamedTuple):
    """Numbers from `low` to `high`, both possible, or none if `low` is above `high`; NaN as well if `has_nan`."""

    low: float
    high: float
    has_nan: bool = False


NOTHING: Final = Interval(inf, -inf, has_nan=True)
"""The interval of what is NaN for certain."""


class Words(NamedTuple):
    """A text: one of `named`, or any other text that is not in `barred`; None for no other text."""

    named: tuple[str, ...]
    barred: tuple[str, ...] | None = None


class Members(NamedTuple):
    """A tuple of texts that has all of `present` and none of `absent`; nothing is known of other texts."""

    present: frozenset[str] = frozenset()
    absent: frozenset[str] = frozenset()


Box = Interval | Truth | Words | Members
"""The possible values of a field: of a number, a bool, a text or texts."""


def whole(field: Field) -> Box:
    """Return the box of all values that a field can have."""
    if field.is_number:
        return Interval(*field.bounds)
    if field.kind == "bool":
        return Truth.EITHER
    if field.kind == "texts":
        return Members()
    return Words(field.values, None if field.values else ())


def possible(expression: Expression, box: Mapping[str, Box]) -> Truth:
    """Return the truth values that a condition can have.

    Args:
        box: the possible values of fields, by name; a field that is not there can have any of its declared values.

    Raises:
        TypeError: the expression is a number; see `span`.
    """
    if expression.kind != "bool":
        raise TypeError(f"expected a condition, got a number: {expression}")
    return truth(expression.root, box)


def span(expression: Expression, box: Mapping[str, Box]) -> Interval:
    """Return the numbers that an expression can have as its value.

    Args:
        box: as for `possible`.

    Raises:
        TypeError: the expression is a condition; see `possible`.
    """
    if expression.kind != "number":
        raise TypeError(f"expected a number, got a condition: {expression}")
    return interval(expression.root, box)


def _box_of(node: Node, box: Mapping[str, Box]) -> Box:
    field = cast("Read", node).field
    found = box.get(field.name)
    return whole(field) if found is None else found


def _truth(can_be_true: bool, can_be_false: bool) -> Truth:
    return Truth(can_be_true * 1 + can_be_false * 2)


# Conditions


def truth(node: Node, box: Mapping[str, Box]) -> Truth:
    """Return the truth values that a condition within an expression can have; see `possible`."""
    match node:
        case Comparison():
            return all_of(compared(*pair, box) for pair in node.pairs)
        case And(parts):
            return all_of(truth(part, box) for part in parts)
        case Or(parts):
            return opposite(all_of(opposite(truth(part, box)) for part in parts))
        case Not(of):
            return opposite(truth(of, box))
        case Member():
            found = _member(node, box)
            return opposite(found) if node.is_negated else found
    return _truth(node.value, not node.value) if isinstance(node, Flag) else cast("Truth", _box_of(node, box))


def opposite(of: Truth) -> Truth:
    """Return the truth values of the opposite."""
    return _truth(of.can_be_false, of.can_be_true)


def all_of(parts: Iterable[Truth]) -> Truth:
    """Return the truth values of conditions that are joined by `and`."""
    found = list(parts)
    return _truth(all(part.can_be_true for part in found), any(part.can_be_false for part in found))


def compared(left: Node, sign: Ordering, right: Node, box: Mapping[str, Box]) -> Truth:
    """Return the truth values that the comparison of two parts of an expression can have."""
    match left, right:
        case (Text(), _) | (_, Text()):
            return _same_texts(left, sign, right, box)
        case (Read(field), _) if field.kind == "text":
            return _same_texts(left, sign, right, box)
        case (Read(field), _) if field.kind == "bool":
            return _same_truth(left, sign, right, box)
        case (Flag() | Comparison() | Member() | Not() | And() | Or(), _):
            return _same_truth(left, sign, right, box)
    return _ordered(left, sign, right, box)


def _same_truth(left: Node, sign: Ordering, right: Node, box: Mapping[str, Box]) -> Truth:
    first, second = truth(left, box), truth(right, box)
    equal = _truth(bool(first & second), first | second == Truth.EITHER)
    return equal if sign == "==" else opposite(equal)


def _same_texts(left: Node, sign: Ordering, right: Node, box: Mapping[str, Box]) -> Truth:
    first, second = words(left, box), words(right, box)
    is_one = first == second and len(first.named) == 1 and first.barred is None
    equal = _truth(_can_share(first, second), not is_one)
    return equal if sign == "==" else opposite(equal)


def words(node: Node, box: Mapping[str, Box]) -> Words:
    """Return the texts that a part of an expression can be."""
    return Words((node.value,)) if isinstance(node, Text) else cast("Words", _box_of(node, box))


def _can_be(text: str, of: Words) -> bool:
    return text in of.named or (of.barred is not None and text not in of.barred)


def _can_share(first: Words, second: Words) -> bool:
    if first.barred is not None and second.barred is not None:
        return True
    return any(_can_be(text, second) for text in first.named) or any(_can_be(text, first) for text in second.named)


def _member(node: Member, box: Mapping[str, Box]) -> Truth:
    item = words(node.item, box)
    if not isinstance(node.among, Read):
        is_always = item.barred is None and set(item.named) <= set(node.among)
        return _truth(any(_can_be(text, item) for text in node.among), not is_always)
    texts = cast("Members", _box_of(node.among, box))
    is_always = item.barred is None and texts.present >= set(item.named)
    is_never = item.barred is None and texts.absent >= set(item.named)
    return _truth(not is_never, not is_always)


def _ordered(left: Node, sign: Ordering, right: Node, box: Mapping[str, Box]) -> Truth:
    first, second = interval(left, box), interval(right, box)
    if _is_empty(first) or _is_empty(second):
        return Truth.FALSE
    has_nan = first.has_nan or second.has_nan
    found = _HOLDS[sign](*first[:2], *second[:2])
    if left == right:  # the same value on both sides, whatever it is
        found = _truth(sign in {"==", "<=", ">="}, sign in {"!=", "<", ">"})
    return found | Truth.FALSE if has_nan else found


def _less(low: float, high: float, other_low: float, other_high: float) -> Truth:
    return _truth(low < other_high, high >= other_low)


def _equal(low: float, high: float, other_low: float, other_high: float) -> Truth:
    return _truth(low <= other_high and other_low <= high, not low == high == other_low == other_high)


_HOLDS: Final[dict[Ordering, Callable[[float, float, float, float], Truth]]] = {
    "<": _less,
    "<=": lambda low, high, least, most: opposite(_less(least, most, low, high)),
    ">": lambda low, high, least, most: _less(least, most, low, high),
    ">=": lambda low, high, least, most: opposite(_less(low, high, least, most)),
    "==": _equal,
    "!=": lambda low, high, least, most: opposite(_equal(low, high, least, most)),
}


# Numbers


def interval(node: Node, box: Mapping[str, Box]) -> Interval:
    """Return the numbers that a part of an expression can be; see `span`."""
    if isinstance(node, Number):
        return Interval(node.value, node.value)
    if isinstance(node, Read):
        return cast("Interval", _box_of(node, box))
    if isinstance(node, Choose):
        return _chosen(node, box)
    parts = [interval(part, box) for part in children(node)]
    if any(map(_is_empty, parts)):
        return NOTHING
    return _worked_out(node, parts)


def _chosen(node: Choose, box: Mapping[str, Box]) -> Interval:
    """Return the numbers of the branches that can be taken."""
    holds = truth(node.condition, box)
    branches = [interval(node.yes, box)] * holds.can_be_true + [interval(node.no, box)] * holds.can_be_false
    lows, highs, have_nan = zip(*branches, strict=True)
    return Interval(min(lows), max(highs), any(have_nan))


def _worked_out(node: Node, parts: Sequence[Interval]) -> Interval:
    """Return the interval of a result from those of its parts."""
    match node:
        case Negative():
            return Interval(-parts[0].high, -parts[0].low, parts[0].has_nan)
        case Arithmetic(sign, _, _):
            return _OPERATIONS[sign](*parts)
        case Call("abs", _):
            return _size(parts[0])
    if isinstance(node, Call) and node.name in _GROWING:
        return _grown(_GROWING[node.name], parts[0])
    of_two = min if cast("Call", node).name == "min" else max
    lows, highs, have_nan = zip(*parts, strict=True)
    return Interval(of_two(lows), of_two(highs), any(have_nan))


def _grown(function: Callable[[float], float], of: Interval) -> Interval:
    """Return the interval of a function that never falls, of which a library may round the last bit either way."""
    low, high = function(of.low), function(of.high)
    if _is_point(of):
        return NOTHING if isnan(low) else Interval(low, low, of.has_nan)
    if isnan(high):
        return NOTHING
    has_nan = of.has_nan or isnan(low)
    # The function has no value of the lowest numbers: those above them can have any up to the highest.
    return Interval(-inf if isnan(low) else nextafter(low, -inf), nextafter(high, inf), has_nan)


def _is_empty(of: Interval) -> bool:
    return of.low > of.high


def _is_point(of: Interval) -> bool:
    return of.low == of.high


def _size(of: Interval) -> Interval:
    sizes = abs(of.low), abs(of.high)
    return Interval(0.0 if _holds_zero(of) else min(sizes), max(sizes), of.has_nan)


def _around(values: Iterable[float], has_nan: bool, *, is_exact: bool) -> Interval:
    """Return the interval of a result from its values at the corners.

    A corner can be NaN where the result has an infinite value beside it, which is then another corner.

    Args:
        is_exact: whether a result whose corners are all NaN is NaN everywhere.
    """
    numbers = [value for value in values if not isnan(value)]
    if numbers:
        return Interval(min(numbers), max(numbers), has_nan)
    return NOTHING if is_exact else Interval(-inf, inf, has_nan=True)


def _infinite(of: Interval) -> bool:
    return isinf(of.low) or isinf(of.high)


def _holds_zero(of: Interval) -> bool:
    return of.low <= 0.0 <= of.high


def _sum(left: Interval, right: Interval) -> Interval:
    clash = (left.low == -inf and right.high == inf) or (left.high == inf and right.low == -inf)
    return _around(
        (left.low + right.low, left.high + right.high), left.has_nan or right.has_nan or clash, is_exact=True
    )


def _difference(left: Interval, right: Interval) -> Interval:
    return _sum(left, Interval(-right.high, -right.low, right.has_nan))


def _product(left: Interval, right: Interval) -> Interval:
    clash = (_holds_zero(left) and _infinite(right)) or (_holds_zero(right) and _infinite(left))
    corners = (first * second for first, second in product(left[:2], right[:2]))
    return _around(corners, left.has_nan or right.has_nan or clash, is_exact=_is_point(left) and _is_point(right))


def _quotient(left: Interval, right: Interval) -> Interval:
    """Return the interval of a quotient; dividing by zero gives NaN, so zero itself gives no number."""
    divisors = [right.low, right.high]
    if _holds_zero(right):
        divisors = [bound for bound in divisors if bound] + [-TINY] * (right.low < 0.0) + [TINY] * (right.high > 0.0)
    has_nan = left.has_nan or right.has_nan or _holds_zero(right) or (_infinite(left) and _infinite(right))
    is_exact = _is_point(right) and (_is_point(left) or not divisors)
    return _around((first / second for first, second in product(left[:2], divisors)), has_nan, is_exact=is_exact)


_GROWING: Final[dict[str, Callable[[float], float]]] = {"exp": exponential, "log10": logarithm, "sqrt": root}

_OPERATIONS: Final[dict[str, Callable[[Interval, Interval], Interval]]] = {
    "+": _sum,
    "-": _difference,
    "*": _product,
    "/": _quotient,
}
