"""The language: what is an expression, and what is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.expressions import Expression, ExpressionError, Field, compiled, parse
from tests.catalogue import catalogue
from tests.expressions.random_expressions import FIELDS, expressions

HOSTILE = [
    ("", 1, "expected a field"),
    ("agent.__class__", 1, "unknown field agent.__class__"),
    ("agent.energy.__init__.__globals__ == 1", 1, "unknown field"),
    ("__import__('os')", 1, "no function __import__"),
    ("__import__('os').system('id')", 17, "found '.'"),
    ("import os", 1, "unknown field import"),
    ("eval('1') == 1", 1, "no function eval"),
    ("agent.energy()", 1, "no function agent.energy"),
    ("lambda: true", 7, "found ':'"),
    ("[x for x in post.topics]", 1, "a list stands only behind `in`"),
    ("f'{agent.energy}' == 'a'", 1, "unknown field f"),
    ("agent.energy = 1", 14, "write == to compare"),
    ("agent.energy > 1; true", 17, "found ';'"),
    ("agent.state == 'idle", 16, "quotes are not closed"),
    ("agent.state == 'id\\x6ce'", 19, "no backslash"),
    ("agent.city == 'a\x00b'", 17, "visible characters"),
    ("agent.energy >\x00 1", 15, "found '\\x00'"),
    ("аgent.energy > 1", 1, "found '\\u0430'"),  # noqa: RUF001  # a Cyrillic letter
    ("agent.energy > 1e999", 16, "up to 1.79e308"),
    ("agent.energy > 0x10", 17, "after the number 0, found 'x'"),
    ("agent.energy > 1.2.3", 19, "after the number 1.2"),
    ("agent.energy > .5", 16, "a number begins with a digit"),
    ("agent.energy > nan", 16, "unknown field nan"),
    ("agent.energy ** 9 > 1", 15, "found '*'"),
    ("agent.is_known && true", 16, "write and"),
    ("!agent.is_known", 1, "write not"),
    ("agent.energy if true else 2", 14, "found 'if'"),
    ("agent.energy > 1 2", 18, "found '2'"),
    ("agent.energy < 'a'", 16, "expected a number as on the left of <, found a text"),
    ("1 == true", 6, "expected a number as on the left of ==, found a condition"),
    ("agent.energy == agent.age == 'a'", 30, "expected a number as on the left of ==, found a text"),
    ("agent.is_known and agent.energy", 20, "expected a condition, found a number"),
    ("not agent.energy", 5, "expected a condition, found a number"),
    ("-agent.state == 1", 2, "expected a number, found a text"),
    ("agent.state < 'idle'", 13, "expected == or !=, for a text has no order"),
    ("post.topics == post.tags", 13, "texts cannot be compared"),
    ("agent.state == 'sleeping'", 16, "agent.state is never 'sleeping'; expected one of idle, resting, composing"),
    ("agent.state == 'ilde'", 16, "did you mean idle?"),
    ("agent.state in ['idle', 'asleep']", 25, "agent.state is never 'asleep'"),
    ("agent.state in post.topics", 1, "none that they share"),
    ("agent.state in []", 17, "expected a text in quotes, found ']'"),
    ("agent.state in ['idle',]", 24, "expected a text in quotes"),
    ("agent.state in 'idle'", 16, "expected texts, found a text"),
    ("agent.state not 'idle'", 13, "`not in` is one"),
    ("agent.state in ['idle'] == true", 25, "expected parentheses"),
    ("agent.is_known == not true", 19, "expected parentheses around `not`"),
    ("(agent.energy > 1", 18, "expected ) for column 1, found the end"),
    ("agent.energy > 1)", 17, "found ')'"),
    ("min(agent.energy) > 1", 1, "min takes two or more numbers, found 1"),
    ("abs(1, 2) > 1", 1, "abs takes one number, found 2"),
    ("if(agent.energy > 0, 1) > 1", 1, "if takes a condition and two numbers, found 2"),
    ("if(1, 2, 3) > 1", 4, "expected a condition, found a number"),
    ("if true > 1", 4, "expected ( after if, found 'true'"),
    ("min > 1", 5, "expected ( after min"),
    ("max(agent.energy, 'a') > 1", 19, "expected a number, found a text"),
    ("agent.enrgy > 1", 1, "did you mean agent.energy?"),
    ("energy > 1", 1, "unknown field energy; did you mean agent.energy?"),
    ("agent.needed > 1", 1, "unknown field agent.needed; expected one of "),  # its first part is that of all others
    ("agent.energy", 1, "expected a condition, found a number"),
    ("(" * 1000 + "1" + ")" * 1000, 2001, "at most 2000 characters"),
    ("(" * 900 + "1" + ")" * 900, 51, "at most 50 levels"),
    ("1" + "+1" * 60 + " > 1", 101, "at most 50 levels"),
    (" or ".join(["1<2"] * 285), 1991, "with a space at each operator"),
]


@catalogue(("text", "column", "problem"), HOSTILE)
def test_what_is_no_expression_is_refused_by_its_column(text: str, column: int, problem: str) -> None:
    with pytest.raises(ExpressionError) as refused:
        parse(text, FIELDS)
    error = refused.value
    assert str(error).startswith(f"column {column} of ")
    assert problem in error.problem
    assert (error.text, error.column) == (text, column)
    assert str(error).isprintable()
    assert len(str(error)) < 400


@given(st.text(alphabet=st.sampled_from("agent.ry <>=!+-*/()[]'\",01e \\\x00_andotri:;"), max_size=40) | st.text())
def test_any_text_is_an_expression_or_an_expression_error(text: str) -> None:
    try:
        assert str(parse(text, FIELDS))
    except ExpressionError as error:
        column = error.column
    else:
        column = 1
    assert 1 <= column <= len(text) + 1


@given(expressions)
def test_an_expression_as_text_is_parsed_to_an_equal_tree(expression: Expression) -> None:
    again = parse(str(expression), FIELDS, kind=expression.kind)
    assert again == expression
    assert hash(again) == hash(expression)
    assert str(again) == str(expression)
    assert again.fields == expression.fields


@catalogue(
    ("text", "written"),
    [
        ("agent.energy>.5".replace(".5", "0.50"), "agent.energy > 0.5"),
        ("((agent.energy)) > (1 + 2) * 3", "agent.energy > (1 + 2) * 3"),
        ("(1 + (2 * 3)) > 1", "1 + 2 * 3 > 1"),
        ("1 - (2 - 3) > (1 - 2) - 3", "1 - (2 - 3) > 1 - 2 - 3"),
        ("--1 > - - agent.age", "1 > --agent.age"),
        ("(true and (false and true)) or not (true or false)", "true and false and true or not (true or false)"),
        ("(1 < 2) == (agent.state in ['idle', 'idle'])", '(1 < 2) == (agent.state in ["idle"])'),
        ("not (not true)", "not not true"),
        ("agent.city == '\"' and agent.city != \"'\"", "agent.city == '\"' and agent.city != \"'\""),
        ("agent.debt > 1e21 and agent.debt < 1E-7", "agent.debt > 1e+21 and agent.debt < 1e-07"),
        ("agent.energy\n > 0.5\t", "agent.energy > 0.5"),
    ],
)
def test_an_expression_is_written_in_one_way(text: str, written: str) -> None:
    assert str(parse(text, FIELDS)) == written
    assert str(parse(written, FIELDS)) == written


@catalogue(
    ("text", "value"),
    [
        ("1 + 2 * 3 == 7", True),
        ("8 / 2 / 2 == 2", True),
        ("-2 * -3 == 6", True),
        ("not 1 == 2", True),
        ("true or true and false", True),
        ("(true or true) and false", False),
        ("1 < 3 > 2", True),
        ("max(1, 2, min(5, 4)) == 4", True),
        ("'a' in ['b', 'a'] and 'c' not in ['b']", True),
    ],
)
def test_operators_bind_as_in_mathematics(text: str, value: bool) -> None:
    assert compiled(parse(text, {}), {})(None, None) is value


@catalogue(
    ("settings", "problem"),
    [
        ({"name": "1x"}, "expected a dotted name"),
        ({"name": "agent._x"}, "expected a dotted name"),
        ({"name": "min"}, "no word of the language"),
        ({"name": "x", "kind": "complex"}, "expected a kind among float, int, bool, text, texts, got 'complex'"),
        ({"name": "x", "low": 2, "high": 1}, "expected a range that holds a value, got 2 to 1"),
        ({"name": "x", "low": float("nan")}, "expected a range that holds a value"),
        ({"name": "x", "kind": "int", "low": 0.2, "high": 0.8}, "expected a range that holds a value"),
        ({"name": "x", "kind": "text", "low": 0}, "a range is for numbers"),
        ({"name": "x", "values": ("a",)}, "values are for texts"),
    ],
)
def test_a_declaration_that_cannot_hold_is_refused(settings: dict[str, object], problem: str) -> None:
    with pytest.raises(ExpressionError, match=problem):
        Field(**{"kind": "float", **settings})  # type: ignore[arg-type]
