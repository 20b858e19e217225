"""The tree of an expression, the typed fields that it may read, and the text that it is written as."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
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


def reads_view(names: Iterable[str]) -> bool:
    """Return whether one of these fields is of the post in view or of its author."""
    return any(name.startswith(("post.", "author.")) for name in names)


def reads_draw(names: Iterable[str]) -> bool:
    """Return whether one of these fields is a random number."""
    return any(name.startswith("draw.") for name in names)


Ordering = Literal["<", "<=", ">", ">=", "==", "!="]

ValueKind = Literal["bool", "number", "text"]


class Number(msgspec.Struct, frozen=True):
    value: float


class Flag(msgspec.Struct, frozen=True):
    value: bool


class Text(msgspec.Struct, frozen=True):
    value: str


class Read(msgspec.Struct, frozen=True):
    field: Field


class Negative(msgspec.Struct, frozen=True):
    of: Node


class Arithmetic(msgspec.Struct, frozen=True):
    sign: Literal["+", "-", "*", "/"]
    left: Node
    right: Node


class Call(msgspec.Struct, frozen=True):
    """The least or the greatest of two or more numbers, or a function of one."""

    name: Literal["min", "max", "abs", "exp", "log10", "sqrt"]
    arguments: tuple[Node, ...]


class Choose(msgspec.Struct, frozen=True):
    """One of two numbers: the first where a condition holds, else the second."""

    condition: Node
    yes: Node
    no: Node


class Comparison(msgspec.Struct, frozen=True):
    """A chain of comparisons: `operands` are one more than `signs`, and each sign compares its two neighbours."""

    operands: tuple[Node, ...]
    signs: tuple[Ordering, ...]

    @property
    def pairs(self) -> Iterator[tuple[Node, Ordering, Node]]:
        """The comparisons of the chain, all of which must hold."""
        return zip(self.operands, self.signs, self.operands[1:], strict=False)


class Member(msgspec.Struct, frozen=True):
    """A text that is among others: those of a list, or those of a field."""

    item: Node
    among: tuple[str, ...] | Read
    is_negated: bool


class Not(msgspec.Struct, frozen=True):
    of: Node


class And(msgspec.Struct, frozen=True):
    """Two or more conditions that must all hold; none of them is an `And`."""

    parts: tuple[Node, ...]


class Or(msgspec.Struct, frozen=True):
    """Two or more conditions of which one must hold; none of them is an `Or`."""

    parts: tuple[Node, ...]


Node = Number | Flag | Text | Read | Negative | Arithmetic | Call | Choose | Comparison | Member | Not | And | Or


class Expression(msgspec.Struct, frozen=True, kw_only=True):
    """A condition, a number or a text that is worked out from declared fields.

    Two expressions are equal if their trees are, however they are written.

    `text` is the expression as its author wrote it.
    """

    text: str
    root: Node
    kind: ValueKind

    @property
    def fields(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(node.field.name for node in walk(self.root) if isinstance(node, Read)))

    def __str__(self) -> str:
        return written(self.root)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expression) and self.root == other.root

    def __hash__(self) -> int:
        return hash(self.root)


def children(node: Node) -> tuple[Node, ...]:
    """Return the parts that a node is made of, in the order in which they are written."""
    match node:
        case Negative(of) | Not(of):
            return (of,)
        case Arithmetic(_, left, right):
            return left, right
        case Choose(condition, yes, no):
            return condition, yes, no
        case Call(_, parts) | And(parts) | Or(parts) | Comparison(parts, _):
            return parts
        case Member(item, among, _):
            return (item, among) if isinstance(among, Read) else (item,)
    return ()


def walk(node: Node) -> Iterator[Node]:
    """Yield a node and all that it is made of, in the order in which it is written."""
    yield node
    for child in children(node):
        yield from walk(child)


POWERS: Final = {"or": 1, "and": 2, "not": 3, "compare": 4, "+": 5, "-": 5, "*": 6, "/": 6, "sign": 7, "value": 8}
"""The power with which an operator binds its operands: a product before a sum, a sum before a comparison."""

_POWERS: Final[dict[type, int]] = {
    Or: POWERS["or"],
    And: POWERS["and"],
    Not: POWERS["not"],
    Comparison: POWERS["compare"],
    Member: POWERS["compare"],
    Negative: POWERS["sign"],
}


def written(node: Node) -> str:
    """Return a node as text, with no more parentheses than it needs."""
    match node:
        case Comparison(operands, signs):
            first, *others = (_inside(operand, POWERS["compare"] + 1) for operand in operands)
            return " ".join([first, *(f"{sign} {other}" for sign, other in zip(signs, others, strict=True))])
        case Member(item, among, is_negated):
            texts = written(among) if isinstance(among, Read) else f"[{', '.join(map(_quoted, among))}]"
            return f"{_inside(item, POWERS['value'])} {'not in' if is_negated else 'in'} {texts}"
        case Not(of):
            return f"not {_inside(of, POWERS['not'])}"
        case And(parts) | Or(parts):
            word = "and" if isinstance(node, And) else "or"
            return f" {word} ".join(_inside(part, POWERS[word] + 1) for part in parts)
        case Flag(value):
            return "true" if value else "false"
        case Text(text):
            return _quoted(text)
        case Read(field):
            return field.name
    return _number(node)


def _number(node: Number | Negative | Arithmetic | Call | Choose) -> str:
    match node:
        case Number(value):
            return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
        case Negative(of):
            return f"-{_inside(of, POWERS['sign'])}"
        case Arithmetic(sign, left, right):
            return f"{_inside(left, POWERS[sign])} {sign} {_inside(right, POWERS[sign] + 1)}"
        case Choose(condition, yes, no):
            return f"if({', '.join(map(written, (condition, yes, no)))})"
        case Call(name, arguments):
            return f"{name}({', '.join(map(written, arguments))})"


def _inside(node: Node, power: int) -> str:
    """Return a node as an operand of an operator that binds with this power."""
    binds = POWERS[node.sign] if isinstance(node, Arithmetic) else _POWERS.get(type(node), POWERS["value"])
    return written(node) if binds >= power else f"({written(node)})"


def _quoted(text: str) -> str:
    return f"'{text}'" if '"' in text else f'"{text}"'
