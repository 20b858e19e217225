"""Faults of charts: each kind by an example, and all of them against charts whose every value is tried."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prism.agents import StatefulAgent
from prism.expressions import Expression, Field, compiled, parse
from prism.expressions.source import Reader
from prism.social.chart import SOCIAL_BEHAVIOUR, SOCIAL_CHART
from prism.statechart import Finding, FindingKind, Statechart, Transition, lint, rendered
from tests.expressions.random_expressions import EVERY_VALUE, conditions


class Light(StrEnum):
    RED = "red"
    GREEN = "green"
    AMBER = "amber"
    BROKEN = "broken"


RED, GREEN, AMBER, BROKEN = Light
Row = Transition[Light]
FIELDS = {
    "energy": Field(name="energy", kind="float", low=0, high=1),
    "low": Field(name="low", kind="float", low=0, high=1),
    "high": Field(name="high", kind="float", low=0, high=1),
    "relevance": Field(name="relevance", kind="float", low=0, high=1),
    "steps": Field(name="steps", kind="int", low=0, high=9),
    "city": Field(name="city", kind="text", values=("rome", "oslo")),
}


class Lamp(StatefulAgent[Light]):
    def __init__(self, state: Light) -> None:
        super().__init__(1, state)


def from_context(name: str) -> Reader:
    return lambda _, context: context[name]


def guard_of(expression: Expression) -> Reader:
    return compiled(expression, {name: from_context(name) for name in expression.fields})


def row(
    trigger: str, source: Light, target: Light | None, when: str = "", *, oracle: bool | None = None, label: str = ""
) -> Row:
    guard = guard_of(parse(when, FIELDS)) if when else None
    return Transition(trigger, source, target, guard, oracle=oracle, label=label)


def chart_of(*rows: Row, states: tuple[Light, ...] = (RED, GREEN)) -> Statechart[Light]:
    return Statechart(states, rows, RED)


def outer(source: Light, target: Light, when: str = "") -> Row:
    return Transition("go", source, target, guard_of(parse(when, FIELDS)) if when else None, level=1)


def any_guard(_agent: Any, _context: Any) -> bool:
    return True


BACK = row("back", GREEN, RED)


def found_in(*rows: Row, states: tuple[Light, ...] = (RED, GREEN), **settings: Any) -> list[str]:
    return rendered(lint(chart_of(*rows, states=states), **settings)).splitlines()


BELOW = row("go", RED, GREEN, "energy < 0.5")
FAULTS: dict[str, tuple[tuple[Row, ...], tuple[Light, ...], list[str]]] = {
    "none": ((row("go", RED, GREEN, "energy > 0.2"), row("go", RED, RED, "energy <= 0.2"), BACK), (RED, GREEN), []),
    "a state that no row leads to": (
        (row("go", RED, GREEN), BACK, row("go", AMBER, RED)),
        (RED, GREEN, AMBER),
        ["amber: unreachable: no row leads from red to amber"],
    ),
    "a state that is never left": (
        (row("go", RED, GREEN), BACK, row("break", RED, BROKEN), row("repair", BROKEN, BROKEN)),
        (RED, GREEN, BROKEN),
        ["broken: trap: no row leads from broken to another state"],
    ),
    "states that lead only to one another": (
        (row("go", RED, GREEN), row("go", GREEN, AMBER), row("go", AMBER, GREEN)),
        (RED, GREEN, AMBER),
        ["green: trap: no row leads out of green, amber"],
    ),
    "a row that the ones before it cover together": (
        (
            row("go", RED, GREEN, "energy < 0.5", oracle=False),
            row("go", RED, GREEN, "energy > 0.4", oracle=False),
            row("go", RED, RED, "0.1 < energy < 0.9", oracle=False, label="wait"),
            BACK,
        ),
        (RED, GREEN),
        ["red, go: shadowed: 'wait' never wins: wherever it is enabled, a row before it is"],
    ),
    "an else that is never enabled": (
        (BELOW, row("go", RED, RED, "energy >= 0.5"), row("go", RED, RED), BACK),
        (RED, GREEN),
        ["red, go: shadowed: the row to red (the else) never wins: wherever it is enabled, a row before it is"],
    ),
    "an overlap is shown by values": (
        (row("go", RED, GREEN, "steps <= 3", label="few"), row("go", RED, RED, "steps >= 3"), BACK),
        (RED, GREEN),
        ["red, go: overlap: 'few' and the row to red (where steps >= 3) are both enabled where steps = 3"],
    ),
    "nothing that depends on a guard that is another function": (
        (Transition("go", RED, GREEN, any_guard), Transition("go", RED, RED, any_guard), BACK),
        (RED, GREEN),
        [],
    ),
    "a row of an outer state holds back and does not overlap": (
        (BELOW, outer(RED, RED, "energy < 0.4"), outer(RED, GREEN, "energy >= 0.5"), BACK),
        (RED, GREEN),
        [],
    ),
}


@pytest.mark.parametrize(("rows", "states", "expected"), FAULTS.values(), ids=FAULTS)
def test_each_fault_is_told_in_a_line(rows: tuple[Row, ...], states: tuple[Light, ...], expected: list[str]) -> None:
    assert found_in(*rows, states=states) == expected


def test_a_gap_is_shown_by_values() -> None:
    (found,) = lint(chart_of(row("go", RED, GREEN, "energy < 0.5 or city == 'oslo'"), BACK))
    assert found == Finding(
        kind=FindingKind.GAP,
        state="red",
        trigger="go",
        rows=("red --go--> green",),
        message='no row is enabled where energy = 0.501, city = "rome"',
        witness={"energy": 0.501, "city": "rome"},
    )
    assert str(found) == 'red, go: gap: no row is enabled where energy = 0.501, city = "rome"'


def test_what_cannot_be_by_the_relations_of_fields_is_no_fault() -> None:
    rows = (
        row("decides", RED, GREEN, "relevance <= low", label="no"),
        row("decides", RED, AMBER, "relevance >= high", label="yes"),
        row("decides", RED, GREEN, "low < relevance < high", oracle=True),
        row("decides", RED, AMBER, "low < relevance < high", oracle=True),
        BACK,
        row("back", AMBER, RED),
    )

    def found_with(*assumed: str) -> list[str]:
        return found_in(*rows, states=(RED, GREEN, AMBER), assume=[parse(text, FIELDS) for text in assumed])

    for assumed in ((), ("low <= high", "high <= energy", "0 < steps")):
        (edge,) = found_with(*assumed)
        assert edge.startswith("red, decides: overlap: 'no' and 'yes' are both enabled where relevance = ")
    assert found_with("low < high") == []
    assert found_with("low < energy", "energy < high", "0 < steps") == []


def test_a_delay_whose_trigger_does_nothing() -> None:
    rows = (row("go", RED, GREEN), BACK, row("timeout", GREEN, RED, "energy > 1"))
    found = found_in(*rows, delays={RED: "timeout", GREEN: "timeout"})
    assert "red, timeout: delay: the delay ends with timeout, which has no row in red" in found
    assert "green, timeout: delay: the delay ends with timeout, which has no row that can be enabled in green" in found
    assert found_in(row("go", RED, GREEN), BACK, delays={RED: "go", GREEN: "back"}) == []


def test_the_shipped_chart_has_no_faults_but_rows_that_wait() -> None:
    delays = {state: delay.trigger for state, delay in SOCIAL_BEHAVIOUR.delays.items()}
    found = lint(SOCIAL_CHART, assume=SOCIAL_BEHAVIOUR.assumed, delays=delays)
    assert {each.kind for each in found} == {FindingKind.GAP}
    assert {each.trigger for each in found} == {"timeout", "compose_done"}


marks = st.sampled_from([None, None, True, False])
targets = st.sampled_from([GREEN, AMBER, BROKEN, None])


@st.composite
def groups(draw: st.DrawFn) -> list[Row]:
    """Rows of one state and trigger with random guards, so that list order, marks and an else all occur."""
    expressions = draw(st.lists(conditions, min_size=1, max_size=3))
    rows = []
    for expression in expressions:
        target = draw(targets)
        mark = draw(marks)
        guard = guard_of(expression)
        rows.append(Transition("go", RED, target, guard, oracle=True if target is None and mark is False else mark))
    if draw(st.booleans()):
        rows.append(Transition("go", RED, draw(st.sampled_from([GREEN, AMBER])), oracle=draw(marks)))
    return rows if any(each.target for each in rows) else [*rows[:-1], Transition("go", RED, GREEN)]


@settings(max_examples=25)
@given(groups())
def test_findings_are_what_trying_all_values_finds(rows: list[Row]) -> None:
    chart, lamp = Statechart(Light, rows, RED), Lamp(RED)
    by_kind: dict[FindingKind, list[Finding]] = {}
    for finding in lint(chart):
        by_kind.setdefault(finding.kind, []).append(finding)
    enabled: set[tuple[int, ...]] = set()
    for values in EVERY_VALUE:
        candidates = chart.candidates(lamp, "go", values)
        enabled.add(tuple(next(at for at, each in enumerate(rows) if each is one) for one in candidates))

    assert (FindingKind.GAP in by_kind) == (rows[-1].guard is not None and () in enabled)
    for finding in by_kind.get(FindingKind.GAP, []):
        assert chart.candidates(lamp, "go", whole(finding.witness)) == ()

    overlaps = sum(
        any(first in each and second in each for each in enabled)
        for first in range(len(rows))
        for second in range(first + 1, len(rows))
        if not is_meant(rows[first], rows[second])
    )
    assert len(by_kind.get(FindingKind.OVERLAP, [])) == overlaps
    for finding in by_kind.get(FindingKind.OVERLAP, []):
        assert len(chart.candidates(lamp, "go", whole(finding.witness))) >= 2

    shadowed = [each for place, each in enumerate(rows) if is_shadowed(each, place, enabled)]
    assert len(by_kind.get(FindingKind.SHADOWED, [])) == len(shadowed)


def whole(witness: Mapping[str, Any] | None) -> dict[str, Any]:
    """Values of all fields: those of a witness, and any for the others."""
    assert witness is not None
    return {**EVERY_VALUE[0], **witness}


def is_meant(first: Row, second: Row) -> bool:
    both_ask = all(each.oracle is True or each.target is None for each in (first, second))
    return both_ask or False in (first.oracle, second.oracle) or first.target == second.target


def is_shadowed(each: Row, place: int, enabled: set[tuple[int, ...]]) -> bool:
    if each.guard is not None and (each.oracle is True or each.target is None):
        return not any(place in places for places in enabled)
    return not any(places[:1] == (place,) for places in enabled)
