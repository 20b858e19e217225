"""The reading of a tree: the value of an expression for an agent."""

from typing import Any

import pytest

from prism.expressions import (
    Expression,
    ExpressionError,
    Field,
    compiled,
    parse,
)
from prism.expressions.source import Reader
from tests.catalogue import catalogue

X, Y, Z = (Field(name=name, kind="float", low=-2, high=2) for name in "xyz")
N = Field(name="n", kind="int", low=0, high=9)
SMALL = {field.name: field for field in (X, Y, Z, N)}


def number(text: str) -> Expression:
    return parse(text, SMALL, kind="number")


def condition(text: str) -> Expression:
    return parse(text, SMALL)


def value_of(expression: Expression, **values: float) -> tuple[Any, list[str]]:
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
    assert value_of(condition(text), x=1.0, y=0.0, z=0.0, n=0)[0] is False


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
    assert value_of(condition(text), **values)[1] == reads


def test_an_error_of_a_reader_passes_through() -> None:
    def broken(agent: Any, context: Any) -> Any:
        return context.post

    with pytest.raises(AttributeError, match="post"):
        compiled(condition("x > 1"), {"x": broken})(None, None)


def test_a_field_without_a_reader_is_named() -> None:
    with pytest.raises(ExpressionError, match=r"^column 5 of '1 < xy': xy has no reader; did you mean x\?"):
        compiled(parse("1 < xy", {"xy": Field(name="xy", kind="float")}), {"x": lambda agent, _: agent})
