"""The reading of an expression for many agents at once: an array of values from columns of values.

It agrees with the reading for one agent value for value, NaN included.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from math import nan
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from prism.errors import ExpressionError
from prism.expressions.fields import Field, guesses
from prism.expressions.tree import (
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

Array = NDArray[Any]
_Columns = Mapping[str, Array]


def vector(expression: Expression, columns: Mapping[str, Array]) -> Array:
    """Return the value of the expression for each row of the columns: bools, or 64-bit floats.

    An expression that reads no field has as many values as the columns have rows.

    Args:
        columns: `{name of a field: its values}`, all of one length and at least those that the expression reads. Texts
            are an array of str or of objects, and `texts` an array of tuples.

    Raises:
        ExpressionError: a field has no column.
    """
    for name in expression.fields:
        if name not in columns:
            column = expression.text.find(name) + 1
            raise ExpressionError(expression.text, column, f"{name} has no column; {guesses(name, list(columns))}")
    length = len(next(iter(columns.values()), ()))
    read = {name: columns[name] for name in expression.fields}
    with np.errstate(all="ignore"):  # overflow and NaN mean the same as for one agent, without a warning as well
        result = _number(expression.root, read) if expression.kind == "number" else _condition(expression.root, read)
    return np.array(np.broadcast_to(result, (length,)))


def truths(conditions: Sequence[Expression], columns: Mapping[str, Array]) -> list[Array]:
    """Return for each condition whether it holds for each row, as `vector` does; one truth value if it reads no field.

    Args:
        columns: as for `vector`; of every field that the conditions read.
    """
    with np.errstate(all="ignore"):
        return [_condition(condition.root, columns) for condition in conditions]


def _value(node: Node, columns: _Columns) -> Any:
    match node:
        case Read(field):
            return _column(field, columns)
        case Text(value):
            return value
        case Flag(value):
            return np.array(value)
        case Number() | Negative() | Arithmetic() | Call():
            return _number(node, columns)
    return _condition(node, columns)


def _column(field: Field, columns: _Columns) -> Array:
    if field.kind in {"text", "texts"}:
        return columns[field.name]
    return np.asarray(columns[field.name], dtype=np.float64 if field.is_number else np.bool_)


# Conditions


def _condition(node: Node, columns: _Columns) -> Array:
    match node:
        case Comparison():
            return _comparison(node, columns)
        case And(parts):
            return _all([_condition(part, columns) for part in parts])
        case Or(parts):
            return _any([_condition(part, columns) for part in parts])
        case Not(of):
            return np.logical_not(_condition(of, columns))
        case Member():
            found = _member(node, columns)
            return np.logical_not(found) if node.is_negated else found
    return cast("Array", _value(node, columns))


def _all(parts: Sequence[Array]) -> Array:
    return reduce(np.logical_and, parts)


def _any(parts: Sequence[Array]) -> Array:
    return reduce(np.logical_or, parts)


_COMPARE: Final[dict[Ordering, Any]] = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": lambda left, right: np.less(left, right) | np.greater(left, right),
}


def _comparison(node: Comparison, columns: _Columns) -> Array:
    compare = _compared_texts if _is_text(node.operands[0]) else _compared
    values = [_value(operand, columns) for operand in node.operands]
    pairs = zip(values, node.signs, values[1:], strict=False)
    return _all([compare(left, sign, right) for left, sign, right in pairs])


def _is_text(node: Node) -> bool:
    return isinstance(node, Text) or (isinstance(node, Read) and node.field.kind == "text")


def _compared(left: Array, sign: Ordering, right: Array) -> Array:
    return np.asarray(_COMPARE[sign](left, right))


def _compared_texts(left: Any, sign: Ordering, right: Any) -> Array:
    return np.asarray(left == right if sign == "==" else left != right, dtype=np.bool_)


def _member(node: Member, columns: _Columns) -> Array:
    item = _value(node.item, columns)
    if not isinstance(node.among, Read):
        return _any([np.asarray(item == text, dtype=np.bool_) for text in node.among])
    rows = columns[node.among.field.name]
    if isinstance(item, str):
        return np.fromiter((item in texts for texts in rows), np.bool_, len(rows))
    return np.fromiter((text in texts for text, texts in zip(item, rows, strict=True)), np.bool_, len(rows))


# Numbers

_OPERATIONS: Final[dict[str, Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": lambda left, right: np.where(right == 0.0, nan, np.divide(left, right)),
}


def _number(node: Node, columns: _Columns) -> Array:
    match node:
        case Number(value):
            return np.array(value)
        case Negative(of):
            return np.negative(_number(of, columns))
        case Arithmetic(sign, left, right):
            return np.asarray(_OPERATIONS[sign](_number(left, columns), _number(right, columns)))
        case Call("abs", (only,)):
            return np.abs(_number(only, columns))
        case Call(name, arguments):
            return reduce(_least if name == "min" else _greatest, [_number(each, columns) for each in arguments])
    return cast("Array", _value(node, columns))


def _least(left: Array, right: Array) -> Array:
    return np.where(left <= right, left, np.where(right < left, right, nan))


def _greatest(left: Array, right: Array) -> Array:
    return np.where(left >= right, left, np.where(right > left, right, nan))
