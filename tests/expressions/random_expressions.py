"""Random expressions of every form, and values for the fields that they read."""

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from prism.expressions import Expression, Field, compiled, parse

TOPICS = ("sports", "politics", "art")
DECLARED = (
    Field(name="agent.energy", kind="float", low=0, high=1),
    Field(name="agent.debt", kind="float"),
    Field(name="agent.age", kind="int", low=-3, high=7),
    Field(name="agent.steps", kind="int"),
    Field(name="agent.is_known", kind="bool"),
    Field(name="agent.state", kind="text", values=("idle", "resting", "composing")),
    Field(name="agent.city", kind="text"),
    Field(name="post.topics", kind="texts", values=TOPICS),
    Field(name="post.tags", kind="texts"),
)
FIELDS = {field.name: field for field in DECLARED}
NUMBERS = [field.name for field in DECLARED if field.is_number]
WORDS = ["idle", "sports", "rome", "it's"]
Values = Mapping[str, Any]


def literal(text: str) -> str:
    return f'"{text}"' if "'" in text else f"'{text}'"


def literals(values: tuple[str, ...]) -> st.SearchStrategy[str]:
    return st.sampled_from(values or WORDS).map(literal)


def lists(values: tuple[str, ...]) -> st.SearchStrategy[str]:
    return st.lists(literals(values), min_size=1, max_size=3).map(lambda texts: f"[{', '.join(texts)}]")


numbers = st.one_of(
    st.sampled_from([0, 1, 2, 0.5, 1e308, 1e-320, 3]).map(str),
    st.floats(0, 10).map(str),
    st.sampled_from(NUMBERS),
)


def of_numbers(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.tuples(inner, st.sampled_from("+-*/"), inner).map(lambda parts: f"({parts[0]} {parts[1]} {parts[2]})"),
        st.tuples(inner, st.sampled_from("+-*/"), inner).map(" ".join),
        inner.map(lambda part: f"-({part})"),
        st.tuples(st.sampled_from(["abs", "exp", "log10", "sqrt"]), inner).map(lambda parts: f"{parts[0]}({parts[1]})"),
        st.tuples(st.sampled_from(["agent.is_known", "not agent.is_known"]), inner, inner).map(
            lambda parts: f"if({', '.join(parts)})"
        ),
        st.tuples(inner, st.sampled_from(["<", ">=", "!="]), inner, inner, inner).map(
            lambda parts: f"if({parts[0]} {parts[1]} {parts[2]}, {parts[3]}, {parts[4]})"
        ),
        st.tuples(st.sampled_from(["min", "max"]), st.lists(inner, min_size=2, max_size=3)).map(
            lambda parts: f"{parts[0]}({', '.join(parts[1])})"
        ),
    )


number_texts = st.recursive(numbers, of_numbers, max_leaves=5)

comparisons = st.tuples(
    number_texts,
    st.lists(st.tuples(st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), number_texts), min_size=1, max_size=3),
).map(lambda parts: " ".join([parts[0], *(f"{sign} {number}" for sign, number in parts[1])]))


def of_texts(name: str) -> st.SearchStrategy[str]:
    """Conditions about a text field."""
    values = FIELDS[name].values
    return st.one_of(
        st.tuples(st.just(name), st.sampled_from(["==", "!="]), literals(values)).map(" ".join),
        st.tuples(literals(values), st.sampled_from(["==", "!="]), st.just(name)).map(" ".join),
        st.tuples(st.just(name), st.sampled_from(["in", "not in"]), lists(values)).map(" ".join),
        st.just(f"{name} != agent.city"),
        st.just(f"{name} in post.tags"),
    )


def of_members(name: str) -> st.SearchStrategy[str]:
    return st.tuples(literals(FIELDS[name].values), st.sampled_from(["in", "not in"]), st.just(name)).map(" ".join)


def of_conditions(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    grouped = inner.map(lambda part: f"({part})")
    return st.one_of(
        st.tuples(grouped, st.sampled_from(["and", "or", "==", "!="]), grouped).map(" ".join),
        st.lists(inner, min_size=2, max_size=4).map(" and ".join),
        st.lists(inner, min_size=2, max_size=4).map(" or ".join),
        grouped.map(lambda part: f"not {part}"),
    )


conditions = st.recursive(
    st.one_of(
        comparisons,
        comparisons,
        of_texts("agent.state"),
        of_texts("agent.city"),
        of_members("post.topics"),
        of_members("post.tags"),
        st.sampled_from(["true", "false", "agent.is_known"]),
    ),
    of_conditions,
    max_leaves=4,
)

expressions: st.SearchStrategy[Expression] = st.one_of(
    conditions.map(lambda text: parse(text, FIELDS)), number_texts.map(lambda text: parse(text, FIELDS, kind="number"))
)

members = st.lists(st.sampled_from(TOPICS), unique=True, max_size=3).map(tuple)
tags = st.lists(st.sampled_from(WORDS), unique=True, max_size=3).map(tuple)
sides = st.sampled_from([0, 0.0, 1, 0.5, 3, -2.5, 1e308, -1e308, 5e-324, 2**53])


def values_of(field: Field) -> st.SearchStrategy[Any]:
    """Values that the field can have, with many that are equal to others."""
    low, high = field.bounds
    if field.kind == "int":
        return st.integers(int(low), int(high)) | st.integers(max(int(low), -2), min(int(high), 3))
    if field.kind == "float":
        within = sides.filter(lambda value: low <= value <= high).map(float)
        return within | st.floats(low, high) | st.integers(max(-2, int(low)), min(2, int(high))).map(float)
    if field.kind == "bool":
        return st.booleans()
    if field.kind == "texts":
        return members if field.values else tags
    return st.sampled_from(field.values or WORDS)


environments: st.SearchStrategy[Values] = st.fixed_dictionaries({field.name: values_of(field) for field in DECLARED})


def read_in(expression: Expression, values: Values) -> Any:
    """The value of the compiled expression, with these values as the agent."""
    readers = {name: lambda agent, _, name=name: agent[name] for name in FIELDS}
    return compiled(expression, readers)(values, None)
