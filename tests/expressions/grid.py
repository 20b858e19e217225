"""Conditions over fields of few values, which can all be tried."""

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

from hypothesis import strategies as st

from prism.expressions import Expression, Field, compiled, parse
from prism.expressions.source import Reader

GRID = {
    "a": Field(name="a", kind="int", low=0, high=2),
    "b": Field(name="b", kind="int", low=0, high=2),
    "c": Field(name="c", kind="int", low=-1, high=1),
    "on": Field(name="on", kind="bool"),
    "state": Field(name="state", kind="text", values=("x", "y")),
    "mood": Field(name="mood", kind="text", values=("y", "z")),
    "tags": Field(name="tags", kind="texts", values=("x", "y")),
}
VALUES: dict[str, list[Any]] = {
    "a": [0, 1, 2],
    "b": [0, 1, 2],
    "c": [-1, 0, 1],
    "on": [False, True],
    "state": ["x", "y"],
    "mood": ["y", "z"],
    "tags": [(), ("x",), ("y",), ("x", "y")],
}


def every_value(names: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """Every combination of the values of these fields."""
    for values in product(*(VALUES[name] for name in names)):
        yield dict(zip(names, values, strict=True))


def function(expression: Expression) -> Callable[[dict[str, Any]], Any]:
    """The expression as a function of values by name."""

    def reader(name: str) -> Reader:
        return lambda values, _: values[name]

    made = compiled(expression, {name: reader(name) for name in expression.fields})
    return lambda values: made(values, None)


numbers = st.recursive(
    st.sampled_from(["a", "b", "c", "0", "1", "2", "1.5"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/"]), inner).map(lambda parts: f"({' '.join(parts)})"),
        st.tuples(st.sampled_from(["min", "max"]), inner, inner).map(lambda p: f"{p[0]}({p[1]}, {p[2]})"),
        inner.map(lambda part: f"abs({part})"),
        st.tuples(st.sampled_from(["on", "state == mood", "state in tags", "mood != 'z'"]), inner, inner).map(
            lambda p: f"if({p[0]}, {p[1]}, {p[2]})"
        ),
    ),
    max_leaves=3,
)
signs = st.sampled_from(["<", "<=", ">", ">=", "==", "!="])
atoms = st.one_of(
    st.tuples(numbers, signs, numbers).map(" ".join),
    st.tuples(numbers, signs, numbers, signs, numbers).map(" ".join),
    st.sampled_from(["on", "state == 'x'", "state != mood", "state == mood", "mood in ['z']", "state not in ['x']"]),
    st.sampled_from(["state in tags", "'x' in tags", "'y' not in tags", "'x' == 'y'", "'x' in ['x']", "true"]),
)
conditions = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["and", "or", "==", "!="]), inner).map(
            lambda p: f"(({p[0]}) {p[1]} ({p[2]}))"
        ),
        inner.map(lambda part: f"(not ({part}))"),
    ),
    max_leaves=4,
).map(lambda text: parse(text, GRID))
