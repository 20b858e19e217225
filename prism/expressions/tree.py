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

ValueKind = Literal["bool", "number", "text"]

FUNCTIONS: Final[dict[str, tuple[tuple[ValueKind, ...], str]]] = {
    **dict.fromkeys(("abs", "exp", "log10", "sqrt"), (("number",), "one number")),
    "if": (("bool", "number", "number"), "a condition and two numbers"),
    **dict.fromkeys(("max", "min"), ((), "two or more numbers")),
}
"""`{name: (the kinds of its arguments, in words)}`; without kinds it takes two or more numbers."""
WORDS: Final = frozenset({"and", "or", "not", "in", "true", "false", *FUNCTIONS})

INT_MAX: Final = 2**53
"""The largest size of an int: up to here, every int is a 64-bit float exactly."""

FLOAT_MAX: Final = sys.float_info.max
_KINDS: Final = ("float", "int", "bool", "text", "texts")
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z][A-Za-z0-9_]*)*")


class Field(msgspec.Struct, frozen=True, kw_only=True):
    """A declared, typed value that an expression may read.

    A value is never NaN and never infinite. Whoever provides it keeps to the declaration; reading does not check it.

    Args:
        low, high: the least and the greatest value of a number, themselves possible.
        values: every possible value of a text, or of the members of texts; empty if any text is possible.

    Raises:
        ExpressionError: the name, the range or the values cannot be.
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
    return any(name.startswith(("post.", "author.")) for name in names)


def reads_draw(names: Iterable[str]) -> bool:
    return any(name.startswith("draw.") for name in names)


Ordering = Literal["<", "<=", ">", ">=", "==", "!="]


class Number(msgspec.Struct, frozen=True):
    value: float


class Flag(msgspec.Struct, frozen=True):
    value: bool


class Text(msgspec.Struct, frozen=True):
    value: str


class Read(msgspec.Struct, frozen=True):
    field: Field


class Operation(msgspec.Struct, frozen=True):
    """An operator or function, and what it is applied to.

    `and` and `or` have two or more parts, none of which is the same operation; `-` of one part is a sign.
    """

    name: str
    parts: tuple[Node, ...]


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


Node = Number | Flag | Text | Read | Operation | Comparison | Member


class Expression(msgspec.Struct, frozen=True, kw_only=True):
    """A condition, a number or a text that is worked out from declared fields, and its text as the author wrote it.

    Two expressions are equal if their trees are.
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


def walk(node: Node) -> Iterator[Node]:
    """Yield a node and all that it is made of, in the order in which it is written."""
    yield node
    match node:
        case Operation(_, parts) | Comparison(parts, _):
            for part in parts:
                yield from walk(part)
        case Member(item, among, _):
            yield from walk(item)
            if isinstance(among, Read):
                yield among


POWERS: Final = {"or": 1, "and": 2, "not": 3, "compare": 4, "+": 5, "-": 5, "*": 6, "/": 6, "sign": 7, "value": 8}
"""The power with which an operator binds its operands: a product before a sum, a sum before a comparison."""


def written(node: Node, power: int = 0) -> str:
    """Return a node as text, with no more parentheses than it needs as an operand of an operator of this power."""
    binds = POWERS["value"]
    match node:
        case Comparison(operands, signs):
            binds = POWERS["compare"]
            first, *others = (written(operand, binds + 1) for operand in operands)
            text = " ".join([first, *(f"{sign} {other}" for sign, other in zip(signs, others, strict=True))])
        case Member(item, among, is_negated):
            binds = POWERS["compare"]
            texts = written(among) if isinstance(among, Read) else f"[{', '.join(map(_quoted, among))}]"
            text = f"{written(item, POWERS['value'])} {'not in' if is_negated else 'in'} {texts}"
        case Operation(name, parts) if name in FUNCTIONS:
            text = f"{name}({', '.join(map(written, parts))})"
        case Operation(name, (of,)):
            binds = POWERS["sign" if name == "-" else name]
            text = f"{name}{'' if name == '-' else ' '}{written(of, binds)}"
        case Operation(name, (first_part, *other_parts)):
            binds = POWERS[name]
            left = written(first_part, binds + (name in ("and", "or")))
            text = f" {name} ".join([left, *(written(part, binds + 1) for part in other_parts)])
        case Number(value):
            text = str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
        case Flag(value):
            text = "true" if value else "false"
        case Text(value):
            text = _quoted(value)
        case Read(field):
            text = field.name
    return text if binds >= power else f"({text})"


def _quoted(text: str) -> str:
    return f"'{text}'" if '"' in text else f'"{text}"'
