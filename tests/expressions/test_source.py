"""The generated source against a plain interpreter of the tree, and against authors who try to write Python into it."""

import math
import operator
import re
from collections import Counter
from collections.abc import Callable
from math import inf, isnan, nan
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from prism.expressions import (
    Expression,
    ExpressionError,
    Field,
    compiled,
    parse,
    readers_of,
)
from prism.expressions.source import TOOLS, Reader, source
from prism.expressions.tree import (
    Comparison,
    Flag,
    Member,
    Node,
    Number,
    Operation,
    Read,
    Text,
)
from tests.catalogue import catalogue
from tests.expressions.random_expressions import DECLARED, FIELDS, Values, environments, expressions, read_in

Look = Callable[[str], Any]
"""The name of a field -> its value."""

OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": lambda left, right: nan if right == 0 else left / right,
}


OF_ONE: dict[str, Callable[[float], float]] = {
    "-": operator.neg,
    "abs": abs,
    "exp": lambda number: inf if number > 709.0 else math.exp(number),
    "log10": lambda number: math.log10(number) if number > 0 else nan,
    "sqrt": lambda number: math.sqrt(number) if number >= 0 else nan,
}


def value_of(node: Node, look: Look) -> Any:
    """The value of a tree, as the language is described: the reference."""
    match node:
        case Number(value) | Flag(value) | Text(value):
            return value
        case Read(field):
            return look(field.name)
        case Comparison():
            return chain_of(node, look)
        case Operation("not", (of,)):
            return not value_of(of, look)
        case Operation("and", parts):
            return all(value_of(part, look) for part in parts)
        case Operation("or", parts):
            return any(value_of(part, look) for part in parts)
        case Operation():
            return number_of(node, look)
    text = value_of(node.item, look)
    texts = value_of(node.among, look) if isinstance(node.among, Read) else node.among
    return (text in texts) != node.is_negated


def chain_of(node: Comparison, look: Look) -> bool:
    left = value_of(node.operands[0], look)
    for sign, operand in zip(node.signs, node.operands[1:], strict=True):
        right = value_of(operand, look)
        has_nan = any(isinstance(value, float) and isnan(value) for value in (left, right))
        if has_nan or not OPERATORS[sign](left, right):
            return False
        left = right
    return True


def number_of(node: Node, look: Look) -> float:
    match node:
        case Operation("if", (condition, yes, no)):
            return number_of(yes if value_of(condition, look) else no, look)
        case Operation("min" | "max" as name, parts):
            numbers = [number_of(part, look) for part in parts]
            return nan if any(map(isnan, numbers)) else (min if name == "min" else max)(numbers)
        case Operation(name, (of,)):
            return OF_ONE[name](number_of(of, look))
        case Operation(name, (left, right)):
            return float(OPERATORS[name](number_of(left, look), number_of(right, look)))
    return float(value_of(node, look))


def outcome_of(work_out: Callable[[Look], Any], values: Values, broken: str | None) -> tuple[str, Counter[str]]:
    """The value as text, which tells -0.0 from 0.0 and shows NaN, or the error; and how often each field was read."""
    reads = Counter[str]()

    def look(name: str) -> Any:
        reads[name] += 1
        if name == broken:
            raise LookupError(name)
        return values[name]

    try:
        return repr(work_out(look)), reads
    except LookupError as error:
        return repr(error), reads


def of_compiled(expression: Expression, look: Look) -> Any:
    readers: dict[str, Reader] = {name: lambda agent, _, name=name: agent(name) for name in FIELDS}  # type: ignore[misc]
    return compiled(expression, readers)(look, None)


def check(expression: Expression, values: Values, broken: str | None) -> None:
    reference = number_of if expression.kind == "number" else value_of
    expected, most = outcome_of(lambda look: reference(expression.root, look), values, broken)
    found, reads = outcome_of(lambda look: of_compiled(expression, look), values, broken)
    assert found == expected
    assert reads <= most  # two comparisons around one field read it once
    assert reads.keys() == most.keys() or broken is not None


@given(expressions, environments, st.sampled_from([None, *FIELDS]))
def test_the_source_means_what_the_tree_does(expression: Expression, values: Values, broken: str | None) -> None:
    check(expression, values, broken)


NUMBERS = st.sampled_from(["agent.age", "agent.energy / agent.age", "-agent.age", "2", "max(1, agent.energy, -1)"])
SIGNS = st.sampled_from(["<", "!=", "==", ">="])
CHAINS = st.tuples(NUMBERS, SIGNS, NUMBERS, SIGNS, NUMBERS, SIGNS, NUMBERS).map(" ".join)
NESTED = st.tuples(CHAINS, CHAINS, CHAINS).map(lambda three: "({}) != ({}) == ({})".format(*three))


@given(NESTED, environments)
@example("(1 < 2 != agent.energy / 0) != (3 != agent.age + 0 != 3) == true", {"agent.energy": 1.0, "agent.age": 3})
def test_a_chain_in_a_chain_keeps_the_values_of_each(text: str, values: Values) -> None:
    check(parse(text, FIELDS), values, None)


class InColumns:
    def __call__(self, value: Field | str | tuple[str, ...]) -> str:
        return f"columns[{DECLARED.index(value)}][row]" if isinstance(value, Field) else repr(value)

    def holds(self, texts: Field, item: str) -> str:
        return f"({item} in {self(texts)})"


@given(expressions, st.lists(environments, min_size=1, max_size=3))
def test_the_source_can_be_told_to_read_a_field_from_a_column(expression: Expression, rows: list[Values]) -> None:
    columns = [[row[field.name] for row in rows] for field in DECLARED]
    text = f"[{source(expression, InColumns())} for row in range({len(rows)})]"
    found = eval(text, {**TOOLS, "columns": columns})
    expected = [read_in(expression, row) for row in rows]
    assert all(left == right or (isnan(left) and isnan(right)) for left, right in zip(found, expected, strict=True))


@catalogue(
    ("text", "kind"),
    [
        ("min(1, x, " * 48 + "x" + ")" * 48, "number"),
        ("max(" + ", ".join(["x"] * 600) + ")", "number"),
        ("-" * 48 + "x", "number"),
        ("x" + " + x" * 48, "number"),
        ("not (x < 1 or " * 14 + "x < 2" + ")" * 14, "bool"),
        ("(x < 1 != x / 2) == (" * 22 + "true" + ")" * 22, "bool"),
    ],
)
def test_python_reads_the_source_of_the_deepest_trees(text: str, kind: Any) -> None:
    expression = parse(text, {"x": Field(name="x", kind="float")}, kind=kind)
    reference = number_of if kind == "number" else value_of
    value = compiled(expression, {"x": lambda agent, _: agent})(1.5, None)
    assert value == reference(expression.root, lambda _: 1.5)


# Hostile authors

X = Field(name="x", kind="text")
HARM = "__import__('os').abort()"
HOSTILE = [
    HARM,
    f"'{HARM}'",
    f'"+{HARM}+"',
    f"\\'+{HARM}#",
    f"\n    {HARM}\n#",
    f"{{{HARM}}} {{0}} {{}} %s",
    f"agent, context: {HARM}",
    "field0(agent, context)",
    "\x00\r\x0c\u2028\ud800\U0001f600\u202e>",
]


class _Shown(str):
    __slots__ = ()

    def __repr__(self) -> str:
        return HARM


def trees_with(text: str) -> list[Node]:
    """Conditions that hold if the field has this text. The parser would refuse most; a tree can be made without it."""
    among = Field(name="y", kind="texts")
    return [
        Comparison((Read(X), Text(text)), ("==",)),
        Member(Read(X), (text, "other"), is_negated=False),
        Member(Text(text), Read(among), is_negated=False),
        Operation("not", (Comparison((Text(text), Read(X)), ("!=",)),)),
    ]


def names_in(root: Node, readers: dict[str, Reader]) -> set[str]:
    made = compiled(Expression(text="", root=root, kind="bool"), readers)
    code = made.__code__
    return {*code.co_names, *code.co_varnames, *(str(each) for each in code.co_consts if each is not None)}


@given(st.sampled_from(HOSTILE) | st.sampled_from(HOSTILE).map(_Shown) | st.text(st.characters()))
def test_no_text_of_an_author_is_in_the_source(text: str) -> None:
    readers: dict[str, Reader] = {"x": lambda agent, _: agent, "y": lambda agent, _: (agent,)}
    for root in trees_with(text):
        guard = compiled(Expression(text=text, root=root, kind="bool"), readers)
        assert guard(text, None) is True
        assert guard(f"{text}.", None) is False
        assert all(re.fullmatch(r"agent|context|(field|texts?)[01]", name) for name in names_in(root, readers))


@catalogue(
    "root",
    [
        Comparison((Number(1), Number(2)), (f"< {HARM} <",)),  # type: ignore[arg-type]
        Operation(f"+ {HARM} +", (Number(1), Number(2))),
        Operation("__import__", (Number(1), Number(2))),
        Number(HARM),  # type: ignore[arg-type]
    ],
)
def test_what_the_language_does_not_have_is_no_source(root: Node) -> None:
    with pytest.raises((KeyError, ValueError)):
        compiled(Expression(text="", root=root, kind="bool"), {})


def test_a_compiled_expression_has_none_of_the_builtins() -> None:
    guard = compiled(parse("x > 1", {"x": Field(name="x", kind="float")}), {"x": lambda agent, _: agent})
    assert guard.__globals__["__builtins__"] == {}
    assert readers_of(guard).keys() == {"x"}


FLOAT_X, Y, Z = (Field(name=name, kind="float", low=-2, high=2) for name in "xyz")
N = Field(name="n", kind="int", low=0, high=9)
SMALL = {field.name: field for field in (FLOAT_X, Y, Z, N)}


def condition(text: str) -> Expression:
    return parse(text, SMALL)


def read_of(expression: Expression, **values: float) -> tuple[Any, list[str]]:
    """The value of the compiled expression, and the fields that it has read."""
    calls: list[str] = []

    def reader(name: str) -> Reader:
        def read(agent: Any, _: Any) -> Any:
            calls.append(name)
            return agent[name]

        return read

    result = compiled(expression, {name: reader(name) for name in SMALL})(values, None)
    return result, calls


@catalogue("text", ["x / y < 9", "x / y >= 0", "x / y != 1", "x / y == x / y", "min(x / y, 1) <= 1"])
def test_a_comparison_with_a_division_by_zero_is_false(text: str) -> None:
    assert read_of(condition(text), x=1.0, y=0.0, z=0.0, n=0)[0] is False


@catalogue(
    ("text", "values", "reads"),
    [
        ("x < y", {"x": 1.0, "y": 2.0}, ["x", "y"]),
        ("x < 1", {"x": 0.0}, ["x"]),
        ("x < y < z", {"x": 0.0, "y": 1.0, "z": 2.0}, ["x", "y", "z"]),
        ("x < y < z", {"x": 1.0, "y": 0.0, "z": 2.0}, ["x", "y"]),
        ("x > 1 and y > 1", {"x": 0.0, "y": 9.0}, ["x"]),
        ("x > 1 or y > 1", {"x": 2.0, "y": 9.0}, ["x"]),
    ],
)
def test_a_compiled_expression_reads_each_field_once_and_no_further_than_it_needs(
    text: str, values: dict[str, float], reads: list[str]
) -> None:
    assert read_of(condition(text), **values)[1] == reads


def test_an_error_of_a_reader_passes_through() -> None:
    def broken(agent: Any, context: Any) -> Any:
        return context.post

    with pytest.raises(AttributeError, match="post"):
        compiled(condition("x > 1"), {"x": broken})(None, None)


def test_a_field_without_a_reader_is_named() -> None:
    with pytest.raises(ExpressionError, match=r"^column 5 of '1 < xy': xy has no reader; did you mean x\?"):
        compiled(parse("1 < xy", {"xy": Field(name="xy", kind="float")}), {"x": lambda agent, _: agent})
