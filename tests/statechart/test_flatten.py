"""Nested charts: rows from the inside out, actions on entry and exit, effects, and what is refused."""

from typing import Any

import pytest

from prism.agents import StatefulAgent
from prism.errors import ConfigError, StatechartError
from prism.expressions import Field
from prism.statechart import Behaviour, Vocabulary, flatten, outcomes, read_chart
from tests.catalogue import catalogue

LOG: list[str] = []
WORDS = "abcdefghij"


def said(word: str) -> Any:
    return lambda _agent, _context: LOG.append(word)


def vocabulary(**functions: Any) -> Vocabulary:
    def function(name: str) -> Any:
        if name not in functions:
            raise StatechartError(f"{name}: no such function")
        return functions[name]

    return Vocabulary(
        fields={"agent.mood": Field(name="agent.mood", kind="int", low=0, high=10)},
        readers={"agent.mood": lambda _agent, context: context},
        actions={
            word: said(word) for word in (*WORDS, *(f"in_{word}" for word in WORDS), *(f"out_{word}" for word in WORDS))
        },
        roles={"resting": "rests"},
        effects={"sing": "sings", "dance": "dances"},
        delays={"statechart.rest_ticks": "a setting"},
        function=function,
    )


def built(text: str, **functions: Any) -> Behaviour[Any]:
    return flatten(read_chart(text, "chart.yaml"), vocabulary(**functions))


def state(name: str, extra: str, rows: str = "", inner: str = "") -> str:
    return f"{name}: {{on_entry: in_{name}, on_exit: out_{name}, {extra} transitions: [{rows}], {inner}}}"


B_ROWS = "{trigger: go, target: d, do: [i, j]}, {trigger: shared, target: b, when: agent.mood > 5}"
A_ROWS = "{trigger: up, target: c}, {trigger: again, target: b}, {trigger: shared, target: e}"
D = state("d", "", "{trigger: home, target: a}, {trigger: self, target: d}")
C = state("c", "initial: d,", "{trigger: shared, target: b, when: agent.mood > 2}", f"states: {{{D}}}")
NESTED = f"""
initial: a
states:
  {state("a", "initial: b,", A_ROWS, f"states: {{{state('b', '', B_ROWS)}, {C}}}")}
  {state("e", "", "{trigger: shared, target: a}")}
"""


class Walker(StatefulAgent[Any]):
    """An agent of the nested chart."""


def walked(behaviour: Behaviour[Any], start: str, trigger: str, mood: int = 0) -> tuple[str | None, list[str]]:
    LOG.clear()
    walker = Walker(0, behaviour.states(start))
    found = behaviour.chart.fire(walker, trigger, mood)
    return None if found is None else found.value, list(LOG)


def test_only_innermost_states_are_states_of_the_flat_chart() -> None:
    behaviour = built(NESTED)
    assert [each.value for each in behaviour.states] == ["b", "d", "e"]
    assert behaviour.chart.initial == "b"


@catalogue(
    ("start", "trigger", "end", "actions"),
    [
        ("b", "go", "d", ["out_b", "i", "j", "in_c", "in_d"]),
        ("d", "home", "b", ["out_d", "out_c", "out_a", "in_a", "in_b"]),  # an outer row's target is its own ancestor
        ("d", "self", "d", ["out_d", "in_d"]),
        ("b", "up", "d", ["out_b", "out_a", "in_a", "in_c", "in_d"]),  # the row belongs to a, which it leaves
        ("d", "again", "b", ["out_d", "out_c", "out_a", "in_a", "in_b"]),
        ("d", "shared", "e", ["out_d", "out_c", "out_a", "in_e"]),
    ],
)
def test_states_are_left_from_the_inside_and_entered_from_the_outside(
    start: str, trigger: str, end: str, actions: list[str]
) -> None:
    assert walked(built(NESTED), start, trigger) == (end, actions)


def test_inner_rows_come_before_outer_ones() -> None:
    behaviour = built(NESTED)
    assert walked(behaviour, "b", "shared", mood=9)[0] == "b"
    assert walked(behaviour, "b", "shared", mood=1)[0] == "e"
    assert walked(behaviour, "d", "shared", mood=3)[0] == "b"


def test_an_outer_row_is_not_asked_where_an_inner_one_is_enabled() -> None:
    behaviour = built(
        "initial: b\nstates: {a: {initial: b, transitions: [{trigger: t, target: c, when: agent.mood > 1}], "
        "states: {b: {transitions: [{trigger: t, target: b, when: agent.mood > 3}]}}}, c: {}}"
    )
    chart, walker = behaviour.chart, Walker(0, behaviour.states("b"))
    assert [each.outcome for each in outcomes(chart, walker, "t", 9)] == ["true", "not_asked"]
    assert [each.outcome for each in outcomes(chart, walker, "t", 2)] == ["false", "true"]
    assert [[row.target for row in chart.candidates(walker, "t", mood)] for mood in (9, 2)] == [["b"], ["c"]]


def test_effects_are_those_of_rows_and_of_delays_that_are_over() -> None:
    behaviour = built(
        "initial: a\nstates: {a: {effect: sing, after: {ticks: 2, trigger: done}, transitions: "
        "[{trigger: done, target: b}, {trigger: stop, target: b}]}, "
        "b: {transitions: [{trigger: done, target: a, effect: dance}]}}"
    )
    assert behaviour.effects == {"done": {("a", "b"): "sing", ("b", "a"): "dance"}}
    assert behaviour.delays[behaviour.states("a")].trigger == "done"


ONE = "initial: a\nstates:\n  a:\n    {line}\n  b: {{}}\n"
UNANSWERED = "states.a.after.trigger: {}: no row of this state answers it, so its delay would end nothing"
REFUSED = [
    ("role: rest", "states.a.role: rest: no such role; did you mean resting?"),
    ("effect: cry", "states.a.effect: cry: no such effect; expected one of dance, sing"),
    ("after: {ticks: statechart.rest, trigger: t}", "states.a.after.ticks: statechart.rest: no such field for a delay"),
    (
        "after: {ticks: 2, trigger: tim}\n    transitions: [{trigger: time, target: b}]",
        f"chart.yaml:4: {UNANSWERED.format('tim')}; did you mean time?",
    ),
    ("transitions: [{trigger: t, target: c}]", "target: c: no such state; expected one of a, b"),
    ("transitions: [{trigger: t, target: b, do: k}]", "do: k: no such action"),
    ("transitions: [{trigger: t, target: b, do: 'm:f'}]", "do: m:f: no such function"),
    ("transitions: [{trigger: t, target: b, when: 'm:f'}]", "when: m:f: no such function"),
    (
        "transitions: [{trigger: t, target: b, oracle: false}, {trigger: t, target: a}]",
        "trigger: a row for t before it has no `when`",
    ),
    ("on_exit: k\n    transitions: [{trigger: t, target: b}]", "chart.yaml:4: states.a.on_exit: k: no such action"),
    (
        "transitions: [{trigger: t, target: b, when: agent.mood > 3}, {trigger: t, effect: sing}]",
        "effect: is for rows with a target",
    ),
]


@catalogue(("line", "message"), REFUSED)
def test_words_that_nobody_knows_are_named_with_their_line(line: str, message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        built(ONE.format(line=line))
    shown = str(refused.value)
    assert shown.startswith("chart.yaml")
    assert message in shown
    assert "\n" not in shown


@catalogue(("second", "told"), [(", effect: dance", "dance"), ("", "none")])
def test_two_rows_cannot_have_two_effects_between_the_same_states(second: str, told: str) -> None:
    message = rf"chart.yaml:3: states.a.*effect: the row from a to b for t has the effect {told}, and another"
    with pytest.raises(ConfigError, match=message):
        built(
            "initial: a\nstates: {b: {}, a: {transitions: [\n"
            "{trigger: t, target: b, when: agent.mood > 3, effect: sing},\n"
            f"{{trigger: t, target: b{second}}}]}}}}".replace("[\n{", "[{")
        )
