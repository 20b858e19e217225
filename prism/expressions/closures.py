"""The reading of an expression for one agent: a function of agent and context.

A chart asks its guards at every decision of every agent, so common shapes have a function of their own: one comparison
of two values is one call and a call for each of the two.

Every number is a 64-bit float in arithmetic, as in the other readings. What has no value (a division by zero, infinity
less infinity) is NaN, and every comparison with NaN is false, `!=` too.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from math import nan
from typing import Any, Final, cast

from prism.errors import ExpressionError
from prism.expressions.fields import guesses
from prism.expressions.tree import (
    MIRRORED,
    And,
    Arithmetic,
    Call,
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
)

Reader = Callable[[Any, Any], Any]
"""`(agent, context)` -> value."""

Readers = Mapping[str, Reader]


def closure(expression: Expression, readers: Readers) -> Reader:
    """Return the function of agent and context that works the expression out: to a bool, or to a float.

    Its attribute `expression` is the expression, and `readers` has the readers of its fields. An error of a reader
    passes through it. A reader is not called where `and`, `or` or a chain is decided before it.

    Args:
        readers: `{name of a field: its reader}`, at least for the fields that the expression reads.

    Raises:
        ExpressionError: a field has no reader.
    """
    for name in expression.fields:
        if name not in readers:
            column = expression.text.find(name) + 1
            raise ExpressionError(expression.text, column, f"{name} has no reader; {guesses(name, list(readers))}")
    build = _arithmetic if expression.kind == "number" else _condition
    built = build(expression.root, readers)
    if isinstance(expression.root, Read) and expression.kind == "bool":
        built = _wrapped(built)  # the reader itself, which other expressions use, too
    built.expression = expression  # type: ignore[attr-defined]  # a function can have attributes
    built.readers = {name: readers[name] for name in expression.fields}  # type: ignore[attr-defined]
    return built


def expression_of(guard: object) -> Expression | None:
    """Return the expression that a guard was made of; None for any other function."""
    found = getattr(guard, "expression", None)
    return found if isinstance(found, Expression) else None


def readers_of(guard: object) -> Readers:
    """Return `{field: its reader}` of the fields that a guard reads; empty unless it was made of an expression."""
    return cast("Readers", getattr(guard, "readers", {})) if expression_of(guard) is not None else {}


def _wrapped(reader: Reader) -> Reader:
    def read(agent: Any, context: Any) -> Any:
        return reader(agent, context)

    return read


def _constant(value: object) -> Reader:
    return lambda _agent, _context: value


def _value(node: Node, readers: Readers) -> Reader:
    """Return what works out one side of a comparison; an int stays one, because it compares as its float does."""
    match node:
        case Read(field):
            return readers[field.name]
        case Text(value) | Flag(value):
            return _constant(value)
        case Number() | Negative() | Arithmetic() | Call():
            return _arithmetic(node, readers)
    return _condition(node, readers)


# Conditions


def _condition(node: Node, readers: Readers) -> Reader:
    match node:
        case Comparison():
            return _comparison(node, readers)
        case And(parts):
            merged = _merged(parts)
            return _all([_condition(part, readers) for part in parts]) if merged is None else _chain(merged, readers)
        case Or(parts):
            return _any([_condition(part, readers) for part in parts])
        case Not(of):
            inner = _condition(of, readers)
            return lambda agent, context: not inner(agent, context)
        case Member():
            return _member(node, readers)
    return _value(node, readers)


def _all(parts: Sequence[Reader]) -> Reader:
    """Join conditions with `and`; many of them as a balanced tree, because calls can only be nested so deep."""
    half = (len(parts) + 1) // 2
    first, second = (side[0] if len(side) == 1 else _all(side) for side in (parts[:half], parts[half:]))
    return lambda agent, context: first(agent, context) and second(agent, context)


def _any(parts: Sequence[Reader]) -> Reader:
    """Join conditions with `or`, as `_all` does with `and`."""
    half = (len(parts) + 1) // 2
    first, second = (side[0] if len(side) == 1 else _any(side) for side in (parts[:half], parts[half:]))
    return lambda agent, context: first(agent, context) or second(agent, context)


def _member(node: Member, readers: Readers) -> Reader:
    item = _value(node.item, readers)
    if isinstance(node.among, Read):
        texts = readers[node.among.field.name]
        if isinstance(node.item, Text):
            text = node.item.value
            if node.is_negated:
                return lambda agent, context: text not in texts(agent, context)
            return lambda agent, context: text in texts(agent, context)
        if node.is_negated:
            return lambda agent, context: item(agent, context) not in texts(agent, context)
        return lambda agent, context: item(agent, context) in texts(agent, context)
    listed = frozenset(node.among)
    if node.is_negated:
        return lambda agent, context: item(agent, context) not in listed
    return lambda agent, context: item(agent, context) in listed


# Comparisons

_Compare = Callable[[Any, Any], bool]


def _differ(left: float, right: float) -> bool:
    """Return whether two numbers differ: false for NaN, which Python's `!=` says to differ from everything."""
    return left < right or left > right


_COMPARE: Final[dict[Ordering, _Compare]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": _differ,
}

_OF_TWO: Final[dict[Ordering, Callable[[Reader, Reader], Reader]]] = {
    "<": lambda left, right: lambda agent, context: left(agent, context) < right(agent, context),
    "<=": lambda left, right: lambda agent, context: left(agent, context) <= right(agent, context),
    ">": lambda left, right: lambda agent, context: left(agent, context) > right(agent, context),
    ">=": lambda left, right: lambda agent, context: left(agent, context) >= right(agent, context),
    "==": lambda left, right: lambda agent, context: left(agent, context) == right(agent, context),
}

_WITH_CONSTANT: Final[dict[Ordering, Callable[[Reader, Any], Reader]]] = {
    "<": lambda left, right: lambda agent, context: left(agent, context) < right,
    "<=": lambda left, right: lambda agent, context: left(agent, context) <= right,
    ">": lambda left, right: lambda agent, context: left(agent, context) > right,
    ">=": lambda left, right: lambda agent, context: left(agent, context) >= right,
    "==": lambda left, right: lambda agent, context: left(agent, context) == right,
    "!=": lambda left, right: lambda agent, context: left(agent, context) != right,
}


def _comparison(node: Comparison, readers: Readers) -> Reader:
    if len(node.signs) > 1:
        return _chain(node, readers)
    (left, right), (sign,) = node.operands, node.signs
    if isinstance(left, Number | Text):
        left, right, sign = right, left, MIRRORED[sign]
    if isinstance(left, Read) and isinstance(right, Number | Text):
        return _WITH_CONSTANT[sign](readers[left.field.name], right.value)
    first, second = _value(left, readers), _value(right, readers)
    if sign in _OF_TWO:
        return _OF_TWO[sign](first, second)
    differ = _compare(left, sign, right)
    return lambda agent, context: differ(first(agent, context), second(agent, context))


def _compare(left: Node, sign: Ordering, right: Node) -> _Compare:
    """Return the function of two values for a sign; only what is worked out can be NaN, so only it needs `_differ`."""
    worked_out = Negative | Arithmetic | Call
    if sign == "!=" and not isinstance(left, worked_out) and not isinstance(right, worked_out):
        return operator.ne
    return _COMPARE[sign]


def _merged(parts: Sequence[Node]) -> Comparison | None:
    """Return two comparisons with a field in common as a chain around it, which reads it once; None for other parts.

    `x >= a and x < b` is `a <= x < b`.
    """
    if len(parts) != 2 or not all(isinstance(part, Comparison) and len(part.signs) == 1 for part in parts):
        return None
    (first, second) = cast("Sequence[Comparison]", parts)
    for left in (first, _mirrored(first)):
        for right in (second, _mirrored(second)):
            if isinstance(left.operands[1], Read) and left.operands[1] == right.operands[0]:
                return Comparison((*left.operands, right.operands[1]), (*left.signs, *right.signs))
    return None


def _mirrored(node: Comparison) -> Comparison:
    """Return one comparison with its sides exchanged."""
    return Comparison(node.operands[::-1], (MIRRORED[node.signs[0]],))


def _chain(node: Comparison, readers: Readers) -> Reader:
    """Return what works out a chain of comparisons; it works out each operand once, from the left, as far as needed."""
    values = [_value(operand, readers) for operand in node.operands]
    compare = [_compare(*pair) for pair in node.pairs]
    if len(compare) == 2:
        return _between(node, values, compare)
    rest = list(zip(compare, values[1:], strict=True))

    def holds(agent: Any, context: Any) -> bool:
        left = values[0](agent, context)
        for is_so, value in rest:
            right = value(agent, context)
            if not is_so(left, right):
                return False
            left = right
        return True

    return holds


def _between(node: Comparison, values: list[Reader], compare: list[_Compare]) -> Reader:
    low, middle, high = values
    if node.signs == ("<", "<"):
        return lambda agent, context: (
            low(agent, context) < (value := middle(agent, context)) and value < high(agent, context)
        )
    if node.signs == ("<=", "<="):
        return lambda agent, context: (
            low(agent, context) <= (value := middle(agent, context)) and value <= high(agent, context)
        )
    first, second = compare

    def holds(agent: Any, context: Any) -> bool:
        left, value = low(agent, context), middle(agent, context)
        return first(left, value) and second(value, high(agent, context))

    return holds


# Numbers


def _arithmetic(node: Node, readers: Readers) -> Reader:
    """Return what works out a number, always as a float."""
    match node:
        case Number(value):
            return _constant(value)
        case Negative(of):
            inner = _arithmetic(of, readers)
            return lambda agent, context: -inner(agent, context)
        case Arithmetic(sign, left, right):
            return _OPERATIONS[sign](_arithmetic(left, readers), _arithmetic(right, readers))
        case Call("abs", (only,)):
            of_one = _arithmetic(only, readers)
            return lambda agent, context: abs(of_one(agent, context))
        case Call(name, arguments):
            return _extreme(least if name == "min" else greatest, [_arithmetic(each, readers) for each in arguments])
    return _as_float(cast("Read", node), readers)


def _as_float(node: Read, readers: Readers) -> Reader:
    read = readers[node.field.name]
    return lambda agent, context: float(read(agent, context))


def _divided(left: Reader, right: Reader) -> Reader:
    def quotient(agent: Any, context: Any) -> float:
        above, below = left(agent, context), right(agent, context)
        return above / below if below else nan

    return quotient


_OPERATIONS: Final[dict[str, Callable[[Reader, Reader], Reader]]] = {
    "+": lambda left, right: lambda agent, context: left(agent, context) + right(agent, context),
    "-": lambda left, right: lambda agent, context: left(agent, context) - right(agent, context),
    "*": lambda left, right: lambda agent, context: left(agent, context) * right(agent, context),
    "/": _divided,
}


def least(left: float, right: float) -> float:
    """Return the smaller number; NaN if one of them is NaN."""
    return left if left <= right else right if right < left else nan


def greatest(left: float, right: float) -> float:
    """Return the greater number; NaN if one of them is NaN."""
    return left if left >= right else right if right > left else nan


def _extreme(of_two: Callable[[float, float], float], values: Sequence[Reader]) -> Reader:
    if len(values) == 2:
        first, second = values
        return lambda agent, context: of_two(first(agent, context), second(agent, context))
    return lambda agent, context: reduce(of_two, [value(agent, context) for value in values])
