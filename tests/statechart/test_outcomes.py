"""The outcomes of rows: those by which `select` and `candidates` choose, whatever guards say and on whatever level."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from prism.statechart import ENABLED, NEEDS_ORACLE, Choice, Transition, outcomes
from prism.statechart.transitions import Guard
from tests.statechart.charts import COMPOSING, EVALUATING, LIKE, SCROLLING, Person, breaks, chart_of, decides, says

GUARDS: dict[str, Guard] = {
    "true": says(True),
    "false": says(False),
    "needs_oracle": says(NEEDS_ORACLE),
    "raised": breaks("no such post"),
}

rows = st.lists(st.tuples(st.sampled_from(sorted(GUARDS)), st.integers(0, 2)), max_size=5)


def chart_rows(kinds: list[tuple[str, int]], *, has_else: bool) -> list[Transition[Any]]:
    """Return rows of these guards and levels, inner ones first, as a flat chart has them."""
    made = [
        replace(decides(target, GUARDS[kind]), level=level)
        for (kind, level), target in zip(
            sorted(kinds, key=lambda each: each[1]), [COMPOSING, LIKE, SCROLLING, EVALUATING, COMPOSING], strict=False
        )
    ]
    return [*made, decides(SCROLLING)] if has_else else made


@given(rows, st.booleans())
def test_the_enabled_rows_are_the_candidates(kinds: list[tuple[str, int]], has_else: bool) -> None:
    chart = chart_of(*chart_rows(kinds, has_else=has_else))
    found = outcomes(chart, Person(), "decides")
    assert [each.row for each in found] == list(chart.transitions)
    enabled = tuple(each.row for each in found if each.outcome in ENABLED)
    assert enabled == chart.candidates(Person(), "decides")
    selected = chart.select(Person(), "decides")
    if isinstance(selected, Choice):
        assert {row.target for row in selected.options} == {row.target for row in enabled}
    else:
        assert (selected is None) == (not enabled)


@given(rows)
def test_a_guard_that_is_asked_has_the_outcome_that_it_gives(kinds: list[tuple[str, int]]) -> None:
    for each in outcomes(chart_of(*chart_rows(kinds, has_else=False)), Person(), "decides"):
        expected = next(kind for kind, guard in GUARDS.items() if guard is each.row.guard)
        assert each.outcome in (expected, "not_asked")
        assert each.error == ("LookupError: no such post" if each.outcome == "raised" else "")


def test_an_else_beside_an_enabled_row_is_not_needed() -> None:
    found = outcomes(chart_of(decides(LIKE, says(True)), decides(SCROLLING)), Person(), "decides")
    assert [each.outcome for each in found] == ["true", "not_needed"]
    found = outcomes(chart_of(decides(LIKE, says(False)), decides(SCROLLING)), Person(), "decides")
    assert [each.outcome for each in found] == ["false", "else"]


@pytest.mark.parametrize("trigger", ["timeout", "no such trigger"])
def test_a_trigger_without_rows_has_no_outcomes(trigger: str) -> None:
    assert outcomes(chart_of(decides(LIKE)), Person(), trigger) == ()


def test_errors_of_guards_are_not_counted_once_more() -> None:
    chart = chart_of(decides(LIKE, breaks()))
    outcomes(chart, Person(), "decides")
    assert chart.guard_errors == []
