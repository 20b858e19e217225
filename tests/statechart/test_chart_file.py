"""Chart files: what they mean, flat and nested, and what is refused, with its line."""

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from prism.agents import StatefulAgent
from prism.config.yaml_text import read_document
from prism.errors import ConfigError, StatechartError
from prism.expressions import Field
from prism.statechart import Behaviour, Delay, Vocabulary, flatten, outcomes, read_chart
from tests.catalogue import catalogue
from tests.paths import ROOT

SMALL = """\
initial: idle
states:
  idle:
    role: offline
    transitions:
      - {trigger: feed_ready, target: scrolling}
  scrolling:
    description: Continue browsing
    after: {ticks: 3, trigger: timeout}
    on_entry: draft_like
    transitions:
      - trigger: timeout
        target: idle
        when: agent.ticks_in_state >= 3
        do: [draft_reply, draft_post]
        oracle: false
        label: bored
"""


def test_a_file_becomes_a_definition_with_its_lines() -> None:
    chart = read_chart(SMALL, "small.yaml")
    idle, scrolling = chart.states.values()
    assert (chart.initial, chart.file.source, chart.file.line("initial")) == ("idle", "small.yaml", 1)
    assert (idle.name, idle.role, chart.file.line(idle.place)) == ("idle", "offline", 3)
    assert (scrolling.description, scrolling.on_entry) == ("Continue browsing", ("draft_like",))
    assert scrolling.after == Delay(trigger="timeout", ticks=3)
    (row,) = scrolling.transitions
    assert (row.trigger, row.target, row.when) == ("timeout", "idle", "agent.ticks_in_state >= 3")
    assert (row.do, row.oracle, row.label) == (("draft_reply", "draft_post"), False, "bored")
    assert chart.file.line(row.place) == 12


def test_keys_may_be_left_blank_and_texts_may_be_blocks_of_lines() -> None:
    chart = read_chart(
        """\
name:
initial: idle
states:
  idle:
    description: >
      Stop browsing,
      wait for next round
    role: " offline "
    effect:
    on_entry:
    transitions:
      - trigger: feed_ready
        target: label
        when: |
          agent.ticks_in_state >= 3
        do: [" draft_reply "]
        label:
        set: {mood: " 1.0 "}
  label:
    transitions:
  role:
""",
        "blank.yaml",
    )
    idle, *others = chart.states.values()
    assert (idle.description, idle.role) == ("Stop browsing, wait for next round", "offline")
    (row,) = idle.transitions
    assert (row.when, row.do, row.label) == ("agent.ticks_in_state >= 3", ("draft_reply",), "")
    assert (row.set, chart.file.line(f"{row.place}.set.mood")) == ({"mood": "1.0"}, 18)
    assert [(each.name, each.transitions) for each in others] == [("label", ()), ("role", ())]


@catalogue(
    ("text", "ticks", "told"),
    [
        ("7", 7, "after 7 ticks"),
        ("statechart.rest_ticks", "statechart.rest_ticks", "after statechart.rest_ticks ticks"),
        ("{uniform: [1, 5]}", {"uniform": [1, 5]}, "after uniform(1, 5) ticks"),
        ("{geometric: 4}", {"geometric": 4}, "after geometric(4) ticks"),
        ("{log_normal: [3, 0.5]}", {"log_normal": [3, 0.5]}, "after log-normal(3, 0.5) ticks"),
    ],
)
def test_a_delay_is_a_number_a_field_or_a_distribution(text: str, ticks: Any, told: str) -> None:
    chart = read_chart(SMALL.replace("ticks: 3,", f"ticks: {text},"), "small.yaml")
    delay = chart.states["scrolling"].after
    assert (delay, str(delay)) == (Delay(trigger="timeout", ticks=ticks), told)


REFUSED = [
    ("initial: idle", "initial: 3", "small.yaml:1: initial: expected a name of lower-case letters"),
    ("initial: idle", "inital: idle", "small.yaml:1: inital: unknown key; did you mean initial?"),
    ("role: offline", "role: [offline]", "small.yaml:4: states.idle.role: expected a text"),
    ("role: offline", "initial: idle", "small.yaml:4: states.idle.initial: is for states with inner states"),
    ("trigger: feed_ready,", "", "small.yaml:6: states.idle.transitions[0].trigger: is missing; expected a name of"),
    ("target: scrolling", "target: ''", "small.yaml:6: states.idle.transitions[0].target: expected the name"),
    (
        "target: scrolling",
        "set: {mood: [1]}",
        "small.yaml:6: states.idle.transitions[0].set.mood: expected an expression, got [1]",
    ),
    (
        "target: scrolling",
        "set: {mood: {when: 'true'}}",
        "small.yaml:6: states.idle.transitions[0].set.mood.to: is missing; expected an expression for the new value",
    ),
    ("target: scrolling", "goto: scrolling", "small.yaml:6: states.idle.transitions[0].goto: unknown key"),
    ("ticks: 3", "ticks: 0", "small.yaml:9: states.scrolling.after.ticks: expected a number of ticks from 1"),
    ("ticks: 3", "ticks: {uniform: [5, 1]}", "small.yaml:9: states.scrolling.after.ticks.uniform: expected whole"),
    ("ticks: 3", "ticks: {uniform: 5}", "small.yaml:9: states.scrolling.after.ticks.uniform: expected 2 numbers"),
    ("ticks: 3", "ticks: {geometric: 0.5}", "small.yaml:9: states.scrolling.after.ticks.geometric: expected a mean"),
    ("ticks: 3, ", "", "small.yaml:9: states.scrolling.after.ticks: is missing; expected a number of ticks, a"),
    ("on_entry: draft_like", "on_entry: {a: b}", "small.yaml:10: states.scrolling.on_entry: expected the name of an"),
    ("oracle: false", "oracle: maybe", "small.yaml:16: states.scrolling.transitions[0].oracle: expected true"),
]


@catalogue(("old", "new", "message"), REFUSED)
def test_what_is_wrong_is_named_with_its_line(old: str, new: str, message: str) -> None:
    assert old in SMALL
    with pytest.raises(ConfigError) as refused:
        read_chart(SMALL.replace(old, new, 1), "small.yaml")
    assert str(refused.value).startswith(message)
    assert "\n" not in str(refused.value)


@catalogue(
    ("text", "message"),
    [
        ("", "c.yaml: initial: is missing; expected a name of lower-case letters, digits and _"),
        ("initial: a", "c.yaml: states: is missing; expected a mapping from names to states"),
        ("initial: a\nstates: []", "c.yaml:2: states: expected a mapping from names to states"),
        ("initial: a\nstates: {}", "c.yaml:2: states: expected a mapping from names to states"),
        ("initial: a\nstates:\n  a:\n    states:\n      a:\n", "c.yaml:5: states.a.states.a: is a state in line"),
        ("initial: a\nstates:\n  a:\n    states:\n      b:\n", "c.yaml:3: states.a.initial: expected one of its inner"),
        (
            "initial: a\nstates:\n  a:\n    initial: b\n    role: browse\n    states:\n      b:\n",
            "c.yaml:5: states.a.role: is for innermost states; give it to b",
        ),
        ("initial: &x a\nstates: *x", "c.yaml:2: *x: YAML aliases are not supported"),
        ("initial: a\nstates:\n  a: !!python/object:os.system x", "c.yaml:3: !!python/object:os.system: YAML tags"),
    ],
)
def test_texts_that_are_no_charts_are_refused(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read_chart(text, "c.yaml")
    assert str(refused.value).startswith(message)


def test_a_chart_has_no_more_states_than_the_metrics_can_show() -> None:
    states = "".join(f"  s{number}:\n" for number in range(201))
    with pytest.raises(ConfigError, match=r"c.yaml:203: states.s200: is one more than the 200 states"):
        read_chart(f"initial: s0\nstates:\n{states}", "c.yaml")


def test_delays_follow_their_laws() -> None:
    draws = [(number + 0.5) / 1000 for number in range(1000)]

    def drawn(law: str, *numbers: float) -> list[int]:
        delay = Delay(trigger="t", ticks={law: list(numbers)})
        return [delay.drawn(draw) for draw in draws]

    uniform = drawn("uniform", 2, 5)
    assert {value: uniform.count(value) for value in set(uniform)} == {2: 250, 3: 250, 4: 250, 5: 250}
    geometric = drawn("geometric", 4)
    assert min(geometric) == 1
    assert abs(sum(geometric) / 1000 - 4.0) < 0.1
    assert abs(geometric.count(1) / 1000 - 0.25) < 0.01
    assert sorted(drawn("log_normal", 10.0, 0.5))[500] in (10, 11)
    assert drawn("log_normal", 1e9, 10.0)[999] == 10**9


SCHEMA = json.loads((ROOT / "prism" / "statechart" / "chart.schema.json").read_text(encoding="utf-8"))


def is_by_the_schema(text: str) -> bool:
    value = read_document(text, "chart").value
    return bool(Draft202012Validator(SCHEMA).is_valid(value))


def test_editors_accept_what_is_a_chart_and_refuse_what_is_none() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    for text in (SMALL, (ROOT / "prism" / "social" / "social.yaml").read_text(encoding="utf-8")):
        assert is_by_the_schema(text)
    for old, new, message in (each for each in REFUSED if "expected whole" not in each[2]):
        assert not is_by_the_schema(SMALL.replace(old, new, 1)), message


def vocabulary(**functions: Any) -> Vocabulary:
    def function(name: str) -> Any:
        if name not in functions:
            raise StatechartError(f"{name}: no such function")
        return functions[name]

    return Vocabulary(
        fields={"agent.mood": Field(name="agent.mood", kind="int", low=0, high=10)},
        readers={"agent.mood": lambda _agent, context: context},
        actions={},
        roles={"resting": "rests"},
        effects={"sing": "sings", "dance": "dances"},
        delays={"statechart.rest_ticks": "a setting"},
        function=function,
    )


def built(text: str, **functions: Any) -> Behaviour[Any]:
    return flatten(read_chart(text, "chart.yaml"), vocabulary(**functions))


class Walker(StatefulAgent[Any]):
    """An agent of a nested chart."""


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
WRONG_WORDS = [
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


@catalogue(("line", "message"), WRONG_WORDS)
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
