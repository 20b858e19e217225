"""Conditions over fields of few values, which can all be tried."""

from itertools import product
from typing import Any

from hypothesis import strategies as st

from prism.expressions import Field, parse
from tests.expressions.random_expressions import conditions_of, numbers_of

VALUES: dict[Field, list[Any]] = {
    Field(name="a", kind="int", low=0, high=2): [0, 1, 2],
    Field(name="b", kind="int", low=0, high=2): [0, 1, 2],
    Field(name="c", kind="int", low=-1, high=1): [-1, 0, 1],
    Field(name="on", kind="bool"): [False, True],
    Field(name="state", kind="text", values=("x", "y")): ["x", "y"],
    Field(name="mood", kind="text", values=("y", "z")): ["y", "z"],
    Field(name="tags", kind="texts", values=("x", "y")): [(), ("x",), ("y",), ("x", "y")],
}
GRID = {field.name: field for field in VALUES}
EVERY_VALUE = [dict(zip(GRID, values, strict=True)) for values in product(*VALUES.values())]
"""Every combination of the values of these fields."""
conditions = conditions_of(GRID.values(), numbers_of(GRID.values(), st.sampled_from(["0", "1", "2", "1.5"]))).map(
    lambda text: parse(text, GRID)
)
