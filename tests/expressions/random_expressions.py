"""Random expressions of every form over declared fields, and over fields of few values, which can all be tried."""

from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any

from hypothesis import strategies as st

from prism.expressions import Expression, Field, compiled, parse

Texts = st.SearchStrategy[str]
Values = Mapping[str, Any]
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
WORDS = ["idle", "sports", "rome", "it's"]
SIGNS = st.sampled_from(["<", "<=", ">", ">=", "==", "!="])
EQUALS = st.sampled_from(["==", "!="])
WITHIN = st.sampled_from(["in", "not in"])


def joined(*parts: Texts) -> Texts:
    return st.tuples(*parts).map(" ".join)


def literal(text: str) -> str:
    return f'"{text}"' if "'" in text else f"'{text}'"


def numbers_of(fields: Iterable[Field], constants: Texts) -> Texts:
    """Numbers of these fields and of constants, in every operator and function."""
    names = [field.name for field in fields if field.is_number]
    flags = st.sampled_from([field.name for field in fields if field.kind == "bool"])

    def of_numbers(inner: Texts) -> Texts:
        conditions = flags | flags.map("not {}".format) | joined(inner, SIGNS, inner)
        return st.one_of(
            joined(inner, st.sampled_from("+-*/"), inner).map("({})".format),
            joined(inner, st.sampled_from("+-*/"), inner),
            inner.map("-({})".format),
            st.tuples(st.sampled_from(["abs", "exp", "log10", "sqrt"]), inner).map(
                lambda parts: "{}({})".format(*parts)
            ),
            st.tuples(conditions, inner, inner).map(lambda parts: f"if({', '.join(parts)})"),
            st.tuples(st.sampled_from(["min", "max"]), st.lists(inner, min_size=2, max_size=3)).map(
                lambda parts: f"{parts[0]}({', '.join(parts[1])})"
            ),
        )

    return st.recursive(constants | st.sampled_from(names), of_numbers, max_leaves=5)


def conditions_of(fields: Iterable[Field], numbers: Texts) -> Texts:
    """Conditions on these fields: chains of comparisons, texts, members, and what joins them."""
    atoms = [
        st.tuples(numbers, st.lists(joined(SIGNS, numbers), min_size=1, max_size=3)).map(
            lambda parts: " ".join([parts[0], *parts[1]])
        ),
        st.sampled_from(["true", "false", *(field.name for field in fields if field.kind == "bool")]),
    ]
    members = [field for field in fields if field.kind == "texts"]
    for field in (each for each in fields if each.kind in ("text", "texts")):
        name, literals = st.just(field.name), st.sampled_from(field.values or WORDS).map(literal)
        if field.kind == "texts":
            atoms.append(joined(literals, WITHIN, name))
            continue
        lists = st.lists(literals, min_size=1, max_size=3).map(lambda texts: f"[{', '.join(texts)}]")
        alike = [each for each in fields if each.kind == "text" and shares(each, field)]
        atoms += [
            joined(name, EQUALS, literals | st.sampled_from([each.name for each in alike])),
            joined(literals, EQUALS, name),
            joined(name, WITHIN, lists | st.sampled_from([each.name for each in members if shares(each, field)])),
        ]

    def of_conditions(inner: Texts) -> Texts:
        grouped = inner.map("({})".format)
        return st.one_of(
            joined(grouped, st.sampled_from(["and", "or", "==", "!="]), grouped),
            *(st.lists(inner, min_size=2, max_size=4).map(f" {word} ".join) for word in ("and", "or")),
            grouped.map("not {}".format),
        )

    return st.recursive(st.one_of(atoms[0], *atoms), of_conditions, max_leaves=4)


def shares(one: Field, other: Field) -> bool:
    return not (one.values and other.values) or bool({*one.values} & {*other.values})


CONSTANTS = st.sampled_from([0, 1, 2, 0.5, 1e308, 1e-320, 3]).map(str) | st.floats(0, 10).map(str)
NUMBERS = numbers_of(DECLARED, CONSTANTS)
expressions: st.SearchStrategy[Expression] = st.one_of(
    conditions_of(DECLARED, NUMBERS).map(lambda text: parse(text, FIELDS)),
    NUMBERS.map(lambda text: parse(text, FIELDS, kind="number")),
)
SIDES = st.sampled_from([0, 0.0, 1, 0.5, 3, -2.5, 1e308, -1e308, 5e-324, 2**53])


def values_of(field: Field) -> st.SearchStrategy[Any]:
    """Values that the field can have, with many that are equal to others."""
    low, high = field.bounds
    if field.kind == "int":
        return st.integers(int(low), int(high)) | st.integers(max(int(low), -2), min(int(high), 3))
    if field.kind == "float":
        within = SIDES.filter(lambda value: low <= value <= high).map(float)
        return within | st.floats(low, high) | st.integers(max(-2, int(low)), min(2, int(high))).map(float)
    if field.kind == "bool":
        return st.booleans()
    known = st.sampled_from(field.values or WORDS)
    return st.lists(known, unique=True, max_size=3).map(tuple) if field.kind == "texts" else known


environments: st.SearchStrategy[Values] = st.fixed_dictionaries({field.name: values_of(field) for field in DECLARED})


def read_in(expression: Expression, values: Values) -> Any:
    readers = {name: lambda agent, _, name=name: agent[name] for name in FIELDS}
    return compiled(expression, readers)(values, None)


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
