"""What counts as ambiguous: docs/decisions/001-ambiguity.md, a row of its table each."""

from __future__ import annotations

from typing import Any

import pytest

from prism.expressions import Field, compiled, parse
from prism.statechart import NEEDS_ORACLE, AgentState, Choice, Statechart, Transition
from tests.catalogue import catalogue
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


def test_several_enabled_rows_are_a_choice_led_by_what_fire_would_do() -> None:
    rows = decides(COMPOSING, YES), decides(SCROLLING, YES)
    selected = choice(chart_of(*rows))
    assert (selected.trigger, selected.source, selected.options) == ("decides", EVALUATING, rows)
    assert chart_of(*rows).fire(Person(), "decides") is selected.targets[0]


def test_an_enabled_guarded_row_and_an_else_are_no_choice() -> None:
    row = decides(COMPOSING, YES)
    assert chart_of(row, decides(SCROLLING)).select(Person(), "decides") is row


def test_several_rows_to_one_target_are_a_choice_of_one_option() -> None:
    rows = decides(COMPOSING, YES), decides(COMPOSING, YES, label="again")
    assert choice(chart_of(*rows)).options == rows[:1]


@catalogue("guard", [None, YES])
def test_a_lone_marked_row_is_a_choice_of_one_option(guard: Any) -> None:
    row = decides(COMPOSING, guard, oracle=True)
    assert choice(chart_of(decides(SCROLLING, NO), row)).options == (row,)


def test_a_guard_can_ask_for_the_oracle() -> None:
    row = decides(COMPOSING, says("needs_oracle"))
    assert choice(chart_of(row, decides(SCROLLING))).options == (row,)


def test_any_other_true_result_only_enables_its_row() -> None:
    row = decides(COMPOSING, says("yes"))
    assert chart_of(row, decides(SCROLLING)).select(Person(), "decides") is row


@catalogue("result", ["", 0, None, []])
def test_an_empty_result_disables_its_row(result: object) -> None:
    assert chart_of(decides(COMPOSING, says(result))).select(Person(), "decides") is None


def test_the_plans_own_row_offers_every_valid_target_led_by_the_most_passive() -> None:
    oracles = Transition(
        trigger="decides", source=EVALUATING, target=None, guard=lambda a, p: "needs_oracle", label="torn"
    )
    chart = chart_of(decides(COMPOSING, NO), decides(LIKE, NO), decides(SCROLLING, NO), oracles)
    assert choice(chart).targets == (SCROLLING, COMPOSING, LIKE)


def test_an_else_without_a_target_leaves_it_to_the_oracle() -> None:
    assert choice(chart_of(decides(COMPOSING, NO), decides(SCROLLING, NO), decides(None))).targets == (
        SCROLLING,
        COMPOSING,
    )


def test_an_option_of_a_row_without_a_target_runs_that_rows_own_action() -> None:
    ran: list[str] = []
    rows = (
        Transition("decides", EVALUATING, COMPOSING, NO, lambda *_: ran.append("the guarded row's")),
        Transition("decides", EVALUATING, None, action=lambda *_: ran.append("the oracle row's")),
    )
    chart, agent = chart_of(*rows), Person()
    option = choice(chart).option(COMPOSING)
    assert option is not None
    assert chart.commit(agent, option, 1)
    assert (agent.state, ran) == (COMPOSING, ["the oracle row's"])


def test_an_enabled_row_before_one_without_a_target_stays_first() -> None:
    rows = decides(COMPOSING, YES), decides(SCROLLING, NO), decides(None, YES)
    assert choice(chart_of(*rows)).targets == (COMPOSING, SCROLLING)


def test_a_row_that_refuses_the_oracle_is_no_second_candidate_for_it() -> None:
    first, second = decides(COMPOSING, YES), decides(SCROLLING, YES, oracle=False)
    assert chart_of(first, second).select(Person(), "decides") is first
    assert chart_of(second, first).select(Person(), "decides") is second


def test_a_row_that_refuses_the_oracle_is_an_option_only_where_it_would_win() -> None:
    refuses = decides(RESTING, YES, oracle=False)
    others = decides(COMPOSING, YES), decides(SCROLLING, YES)
    assert choice(chart_of(*others, refuses)).targets == (COMPOSING, SCROLLING)
    assert choice(chart_of(refuses, *others)).targets == (RESTING, COMPOSING, SCROLLING)


def test_a_row_that_refuses_the_oracle_overrides_its_own_guards_marker() -> None:
    row = decides(COMPOSING, says(NEEDS_ORACLE), oracle=False)
    assert chart_of(row).select(Person(), "decides") is row


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


def test_an_interrupt_is_not_an_error_of_a_guard() -> None:
    def interrupted(_agent: Any, _context: Any) -> object:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        chart_of(decides(COMPOSING, interrupted)).select(Person(), "decides")


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
