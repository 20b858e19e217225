"""The reading of an expression for one agent: Python source, made from its tree, compiled once, and called.

`source` writes a tree as the source of one value, and is told what stands for a field, a text and a list of texts, so
the same source can be the body of another function, such as a loop over people in arrays.

Nothing that an author wrote becomes source. Fields and texts are names such as `field0`, whose values are in the
namespace of the function. A number is the `repr` of a float, and signs and functions are looked up among those of the
language. The namespace has none of Python's builtins except `abs` and `float`. A traceback names the expression as a
file.

Every number is a 64-bit float in arithmetic, as in the other readings. What has no value (a division by zero, infinity
less infinity) is NaN, and every comparison with NaN is false, `!=` too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from math import inf, nan
from typing import Any, Final, Protocol, cast, get_args

from prism.errors import ExpressionError
from prism.expectations import guess
from prism.expressions import tree
from prism.expressions.tree import Field
from prism.kernels import kernel

EXP_MAX: Final = 709.0
"""The numbers above this are taken to have an infinite power of e: the largest float is e to the power of 709.78."""

Reader = Callable[[Any, Any], Any]
"""Returns the value of a field for an agent and a context. One that reads a member may name it as `path`: then it is
read in place, as in `agent.persona.activity`."""

Readers = Mapping[str, Reader]


class Naming(Protocol):
    """The names of values that are not written out: `(a field, a text, or the texts of a list)` -> its source."""

    def __call__(self, value: Field | str | tuple[str, ...]) -> str:
        """Return the source that stands for a value."""

    def holds(self, texts: Field, item: str) -> str:
        """Return the source of whether a text, by its source, is among those of a field."""


def compiled(expression: tree.Expression, readers: Readers) -> Reader:
    """Return the function of agent and context that works the expression out: to a bool, or to a float.

    Its attribute `expression` is the expression, and `readers` has the readers of its fields. An error of a reader
    passes through it. A reader is not called where `and`, `or` or a chain is decided before it.

    Raises:
        ExpressionError: a field has no reader.
    """
    for name in expression.fields:
        if name not in readers:
            column = expression.text.find(name) + 1
            raise ExpressionError(expression.text, column, f"{name} has no reader; {guess(name, readers)}")
    bound = _Bound(readers)
    value = source(expression, bound)
    made = _function(value, bound, str(expression))
    made.expression = expression
    made.readers = {name: readers[name] for name in expression.fields}
    return cast("Reader", made)


def pattern_of(guards: Sequence[Any]) -> Callable[[Any, Any], int]:
    """Return the function of agent and context that says which guards of `compiled` hold, by the bits of a number.

    Each field is read once. An error of any reader passes through it.
    """
    bound = _Bound({name: read for guard in guards for name, read in guard.readers.items()}, once=True)
    bits = [f"({1 << place} if {source(guard.expression, bound)} else 0)" for place, guard in enumerate(guards)]
    return cast("Callable[[Any, Any], int]", _function(" + ".join(bits), bound, "guards"))


class _Bound(Naming):
    """The names of values in the namespace of a function; `once`: read each field once, before all else."""

    def __init__(self, readers: Readers, *, once: bool = False) -> None:
        self._readers, self._once = readers, once
        self.values: dict[str, Any] = {}
        self.reads: dict[str, str] = {}
        """`{variable: the source of its value}`."""

    def __call__(self, value: Field | str | tuple[str, ...]) -> str:
        if not isinstance(value, Field):
            return self._named("text", value) if isinstance(value, str) else self._named("texts", frozenset(value))
        read = self._readers[value.name]
        path: str | None = getattr(read, "path", None)
        if not self._once:
            return path or f"{self._named('field', read)}(agent, context)"
        variable = f"value{list(self._readers).index(value.name)}"
        if variable not in self.reads:
            self.reads[variable] = path or f"{self._named('field', read)}(agent, context)"
        return variable

    def holds(self, texts: Field, item: str) -> str:
        return f"{item} in {self(texts)}"

    def _named(self, kind: str, value: object) -> str:
        name = f"{kind}{len(self.values)}"
        self.values[name] = value
        return name


def _function(value: str, bound: _Bound, name: str) -> Any:
    reads = [f"    {variable} = {read}\n" for variable, read in bound.reads.items()]
    lines = ["def expression(agent, context):\n", *reads, f"    return {value}\n"]
    file = f"<expression: {name!a}>"
    namespace = {"__builtins__": {}, "__name__": __name__, **TOOLS, **bound.values}
    exec(compile("".join(lines), file, "exec", dont_inherit=True), namespace)  # noqa: S102  # no author's text is in it
    return namespace["expression"]


def expression_of(guard: object) -> tree.Expression | None:
    """Return the expression that a guard was made of; None for any other function."""
    found = getattr(guard, "expression", None)
    return found if isinstance(found, tree.Expression) else None


def readers_of(guard: object) -> Readers:
    """Return `{field: its reader}` of the fields that a guard reads; empty unless it was made of an expression."""
    return cast("Readers", getattr(guard, "readers", {})) if expression_of(guard) is not None else {}


_SIGNS: Final[dict[tree.Ordering, str]] = {sign: sign for sign in get_args(tree.Ordering)}
_SOURCES: Final = {
    "+": "({} + {})",
    "-": "({} - {})",
    "*": "({} * {})",
    "/": "quotient({}, {})",
    "abs": "abs({})",
    "exp": "exponential({})",
    "log10": "logarithm({})",
    "sqrt": "root({})",
}
_SIGN: Final = "(-{})"
_OF_MANY: Final = {"min": "least", "max": "greatest"}


def source(expression: tree.Expression, named: Naming) -> str:
    """Return the Python source of an expression's value: one operand, which uses `TOOLS` and may assign to `left`."""
    return _source(expression.root, named, as_float=expression.kind == "number")


def _source(node: tree.Node, named: Naming, *, as_float: bool = False) -> str:
    """Return the source of a value; an int field stays an int, because it compares as its float does."""
    match node:
        case tree.Number(value):
            text = repr(float(value))
        case tree.Flag(value):
            text = repr(bool(value))
        case tree.Read(of) | tree.Text(of):
            text = f"float({named(of)})" if as_float else named(of)
        case tree.Comparison():
            text = _comparison(node, named)
        case tree.Member(item, among, is_negated):
            found = _source(item, named)
            holds = named.holds(among.field, found) if isinstance(among, tree.Read) else f"{found} in {named(among)}"
            text = f"(not {holds})" if is_negated else f"({holds})"
        case tree.Operation("and" | "or" as word, parts):
            text = f"({f' {word} '.join(_source(part, named) for part in parts)})"
        case tree.Operation("not", (part,)):
            text = f"(not {_source(part, named)})"
        case tree.Operation("if", (condition, yes, no)):
            one, other = (_source(part, named, as_float=True) for part in (yes, no))
            text = f"({one} if {_source(condition, named)} else {other})"
        case tree.Operation(name, parts):
            numbers = [_source(part, named, as_float=True) for part in parts]
            if name in _OF_MANY and len(numbers) > 2:  # calls in each other would be nested too deeply for Python
                text = f"reduce({_OF_MANY[name]}, ({', '.join(numbers)}))"
            elif name in _OF_MANY:
                text = f"{_OF_MANY[name]}({', '.join(numbers)})"
            else:
                text = (_SIGN if name == "-" and len(numbers) == 1 else _SOURCES[name]).format(*numbers)
    return text


def _comparison(node: tree.Comparison, named: Naming) -> str:
    """Return a chain of comparisons as Python's own, which works out each operand once and no more than it needs.

    Python's `!=` holds for NaN. Where it could meet one, the chain is taken apart: `left` has the value of the operand
    before a sign. It is used before the operand behind the sign, which may assign to `left` as well, is worked out.
    """
    first, *others = (_source(operand, named) for operand in node.operands)
    signs = [_SIGNS[sign] for sign in node.signs]
    may_be_nan = [isinstance(operand, tree.Operation) for operand in node.operands]  # nothing else can be
    calls = [sign == "!=" and any(may_be_nan[at : at + 2]) for at, sign in enumerate(signs)]
    if not any(calls):
        return f"({' '.join([first, *(f'{sign} {other}' for sign, other in zip(signs, others, strict=True))])})"
    lefts = [first, *["left"] * (len(others) - 1)]
    rights = [*(f"(left := {other})" for other in others[:-1]), others[-1]]
    pairs = [
        f"differ({left}, {right})" if is_call else f"{left} {sign} {right}"
        for is_call, left, sign, right in zip(calls, lefts, signs, rights, strict=True)
    ]
    return f"({' and '.join(pairs)})"


@kernel
def quotient(above: float, below: float) -> float:
    return above / below if below else nan


@kernel
def least(left: float, right: float) -> float:
    return left if left <= right else right if right < left else nan


@kernel
def greatest(left: float, right: float) -> float:
    return left if left >= right else right if right > left else nan


@kernel
def exponential(number: float) -> float:
    return math.exp(number) if number <= EXP_MAX else inf if number > EXP_MAX else number


@kernel
def logarithm(number: float) -> float:
    return math.log10(number) if number > 0.0 else nan


@kernel
def root(number: float) -> float:
    return math.sqrt(number) if number >= 0.0 else nan


@kernel
def differ(left: float, right: float) -> bool:
    """Return whether two numbers differ: false for NaN, which Python's `!=` says to differ from everything."""
    return left < right or left > right


_TOOLS: Final = (abs, float, reduce, differ, quotient, exponential, logarithm, root, least, greatest)
TOOLS: Final[Mapping[str, Any]] = {each.__name__: each for each in _TOOLS} | {"inf": inf, "nan": nan}
"""`{name: value}` of what `source` uses."""
