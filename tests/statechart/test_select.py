"""Situations that count as ambiguous: docs/decisions/001-ambiguity.md, a row of its table each."""

from typing import Any

import pytest

from prism.expressions import Field, compiled, parse
from prism.statechart import NEEDS_ORACLE, AgentState, Choice, Statechart, Transition
from tests.statechart.charts import (
    COMPOSING,
    EVALUATING,
    LIKE,
    RESTING,
    SCROLLING,
    Person,
    breaks,
    chart_of,
    decides,
    says,
)

YES, NO = says(True), says(False)


def choice(chart: Statechart[AgentState]) -> Choice[AgentState]:
    selected = chart.select(Person(), "decides")
    assert isinstance(selected, Choice)
    return selected


Rows = tuple[Transition[AgentState], ...]
TORN = Transition(trigger="decides", source=EVALUATING, target=None, guard=lambda a, p: "needs_oracle", label="torn")
REFUSES = decides(RESTING, YES, oracle=False)
CHOICES: dict[str, tuple[Rows, tuple[AgentState, ...]]] = {
    "several enabled rows are led by what fire would do": (
        (decides(COMPOSING, YES), decides(SCROLLING, YES)),
        (COMPOSING, SCROLLING),
    ),
    "several rows to one target are one option": (
        (decides(COMPOSING, YES), decides(COMPOSING, YES, label="again")),
        (COMPOSING,),
    ),
    "a lone marked row is one option": ((decides(SCROLLING, NO), decides(COMPOSING, None, oracle=True)), (COMPOSING,)),
    "and with a guard": ((decides(SCROLLING, NO), decides(COMPOSING, YES, oracle=True)), (COMPOSING,)),
    "a guard can ask for the oracle": ((decides(COMPOSING, says("needs_oracle")), decides(SCROLLING)), (COMPOSING,)),
    "the plan's own row offers every valid target, led by the most passive": (
        (decides(COMPOSING, NO), decides(LIKE, NO), decides(SCROLLING, NO), TORN),
        (SCROLLING, COMPOSING, LIKE),
    ),
    "an else without a target leaves it to the oracle": (
        (decides(COMPOSING, NO), decides(SCROLLING, NO), decides(None)),
        (SCROLLING, COMPOSING),
    ),
    "an enabled row before one without a target stays first": (
        (decides(COMPOSING, YES), decides(SCROLLING, NO), decides(None, YES)),
        (COMPOSING, SCROLLING),
    ),
    "a row that refuses the oracle is no option behind others": (
        (decides(COMPOSING, YES), decides(SCROLLING, YES), REFUSES),
        (COMPOSING, SCROLLING),
    ),
    "but is one where it would win": (
        (REFUSES, decides(COMPOSING, YES), decides(SCROLLING, YES)),
        (RESTING, COMPOSING, SCROLLING),
    ),
}


@pytest.mark.parametrize(("rows", "targets"), CHOICES.values(), ids=CHOICES)
def test_what_is_a_choice_and_of_what(rows: Rows, targets: tuple[AgentState, ...]) -> None:
    chart = chart_of(*rows)
    selected = choice(chart)
    assert (selected.trigger, selected.source, selected.targets) == ("decides", EVALUATING, targets)
    if all(row.target for row in rows):
        first = [next(row for row in rows if row.target is target and row.guard is not NO) for target in targets]
        assert selected.options == tuple(first)
        assert chart.fire(Person(), "decides") is targets[0]


def test_an_enabled_guarded_row_and_an_else_are_no_choice() -> None:
    """Nor are rows that refuse the oracle, and any true result but the marker only enables its row."""
    first, second = decides(COMPOSING, YES), decides(SCROLLING, YES, oracle=False)
    word, marked = decides(COMPOSING, says("yes")), decides(COMPOSING, says(NEEDS_ORACLE), oracle=False)
    lone = ((first, decides(SCROLLING)), (word, decides(SCROLLING)), (first, second), (second, first), (marked,))
    for rows in lone:
        assert chart_of(*rows).select(Person(), "decides") is rows[0]
    results: tuple[object, ...] = ("", 0, None, [])
    for result in results:
        assert chart_of(decides(COMPOSING, says(result))).select(Person(), "decides") is None


def test_errors_of_guards_are_counted_for_each_row_and_the_first_one_kept() -> None:
    messages = iter(["first", "second", "third"])

    def fails(_agent: Any, _context: Any) -> object:
        raise LookupError(next(messages))

    rows = decides(COMPOSING, fails), decides(LIKE, breaks("other row")), decides(SCROLLING)
    chart = chart_of(*rows)
    for _ in range(3):
        chart.select(Person(), "decides")
    assert [(seen.row, seen.count, seen.first) for seen in chart.guard_errors] == [
        (rows[0], 3, "LookupError: first"),
        (rows[1], 3, "LookupError: other row"),
    ]


def test_guards_that_are_expressions_select_what_functions_select_and_one_that_raises_is_counted_and_false() -> None:
    fields = {name: Field(name=name, kind="int") for name in ("x", "y")}
    readers = {"x": lambda _, context: context["x"], "y": lambda _, context: context["y"]}
    guards = [compiled(parse(text, fields), readers) for text in ("x > 1", "y > 1", "x > 1 and y > 2")]
    as_functions = [lambda agent, context, guard=guard: guard(agent, context) for guard in guards]
    charts = [
        chart_of(*(decides(target, guard) for target, guard in zip((COMPOSING, SCROLLING, LIKE), each, strict=True)))
        for each in (guards, as_functions)
    ]
    for context in ({"x": x, "y": y} for x in (0, 2) for y in (0, 2, 3)):
        found, expected = (chart.select(Person(), "decides", context) for chart in charts)
        targets = [getattr(each, "targets", getattr(each, "target", None)) for each in (found, expected)]
        assert targets[0] == targets[1]
    assert charts[0].guard_errors == []
    selected = charts[0].select(Person(), "decides", {"y": 3})
    assert isinstance(selected, Transition)
    assert selected.target is SCROLLING
    assert [(seen.row.target, seen.count) for seen in charts[0].guard_errors] == [(COMPOSING, 1), (LIKE, 1)]
