"""Rows and charts: what is refused, what is a choice (docs/decisions/001-ambiguity.md), and laws on random charts."""

from collections.abc import Iterable
from datetime import datetime, timedelta, timezone
from functools import partial
from importlib import import_module
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.agents import SocialAgent
from prism.economy.nation import ECONOMY_CHART
from prism.errors import StatechartError
from prism.expressions import Field, compiled, parse
from prism.social.chart import SOCIAL_CHART
from prism.statechart import (
    NEEDS_ORACLE,
    STATE_DESCRIPTIONS,
    AgentState,
    Choice,
    Statechart,
    StateTransition,
    Transition,
    most_passive,
    outcomes,
    question_kinds,
)
from prism.statechart.queries import agents_in_state, state_distribution
from prism.statechart.transitions import Guard
from tests.catalogue import catalogue
from tests.statechart.charts import (
    COMPOSING,
    EVALUATING,
    IDLE,
    LIKE,
    RESTING,
    SCROLLING,
    Person,
    breaks,
    chart_of,
    decides,
    says,
)

MUST = "must be a state such as AgentState.IDLE, got"
HOURS_2 = datetime(2026, 1, 30, 12, tzinfo=timezone(timedelta(hours=2)))


@catalogue(
    ("make", "fields", "problem"),
    [
        (Transition, ("  ", IDLE, SCROLLING), "a transition's trigger must be a non-empty string, got '  '"),
        (Transition, ("t", "idle", SCROLLING), f"idle --t--> scrolling: source {MUST} 'idle'"),
        (Transition, ("t", AgentState, SCROLLING), f"{AgentState} --t--> scrolling: source {MUST} {AgentState!r}"),
        (Transition, ("t", IDLE, "scrolling"), f"idle --t--> scrolling: target {MUST} 'scrolling'"),
        (Transition, ("t", IDLE, 7), f"idle --t--> 7: target {MUST} 7"),
        (
            partial(Transition, oracle=False),
            ("t", IDLE, None),
            "idle --t--> as the oracle decides: a row without a target needs the oracle, so oracle=False cannot hold",
        ),
        (
            StateTransition,
            (IDLE, SCROLLING, "feed_ready", HOURS_2),
            "a state transition's timestamp must be in UTC, got '2026-01-30T12:00:00+02:00'",
        ),
    ],
)
def test_a_row_or_record_that_cannot_be_is_refused_in_words(make: Any, fields: tuple[Any, ...], problem: str) -> None:
    """Other values are refused in `tests/test_hostile_values.py`."""
    with pytest.raises(StatechartError) as caught:
        make(*fields)
    assert str(caught.value) == problem


def test_the_eight_states_of_the_contract_are_described_to_the_oracle_as_it_says() -> None:
    assert {state.name: (state.value, text) for state, text in STATE_DESCRIPTIONS.items()} == {
        "IDLE": ("idle", "Stop browsing, wait for next round"),
        "SCROLLING": ("scrolling", "Continue browsing without engaging"),
        "EVALUATING": ("evaluating", "Look more closely at this post"),
        "COMPOSING": ("composing", "Write a response or original content"),
        "ENGAGING_LIKE": ("engaging_like", "Like this post"),
        "ENGAGING_REPLY": ("engaging_reply", "Reply to this post"),
        "ENGAGING_RESHARE": ("engaging_reshare", "Reshare this post"),
        "RESTING": ("resting", "Take a break from activity"),
    }
    assert list(AgentState) == [*STATE_DESCRIPTIONS]
    assert most_passive(AgentState) is AgentState.SCROLLING
    assert most_passive([AgentState.COMPOSING, AgentState.ENGAGING_LIKE]) is AgentState.ENGAGING_LIKE


def test_the_options_are_those_of_the_rows_for_the_oracle_and_one_alone_is_no_question() -> None:
    four = ("scrolling", "engaging_like", "engaging_reshare", "composing")
    assert question_kinds(SOCIAL_CHART) == {("evaluating", "decides"): four}
    assert question_kinds(ECONOMY_CHART) == {("proposed", "review"): ("rejected", "accepted")}


@pytest.mark.parametrize(
    ("module", "names"),
    [
        ("states", {"AgentState", "STATE_DESCRIPTIONS"}),
        ("transitions", {"Transition", "StateTransition"}),
        ("statechart", {"Statechart"}),
        ("oracle", {"StatechartOracle", "build_oracle_prompt", "parse_oracle_response"}),
        ("queries", {"agents_in_state", "state_distribution"}),
    ],
)
def test_each_module_that_the_plan_of_charts_names_has_its_names(module: str, names: set[str]) -> None:
    assert names <= vars(import_module(f"prism.statechart.{module}")).keys()


@given(st.lists(st.sampled_from(AgentState)))
def test_a_distribution_agrees_with_the_counts_and_loses_nobody(states: list[AgentState]) -> None:
    crowd = [Person(state) for state in states]
    distribution = state_distribution(crowd)
    assert sum(distribution.values()) == len(states)
    assert all(distribution[state] == agents_in_state(state, crowd) for state in AgentState)


YES, NO = says(True), says(False)


def test_an_agent_in_a_state_outside_the_chart_is_an_error_that_names_it() -> None:
    chart = Statechart(states=[AgentState.IDLE], transitions=[], initial=AgentState.IDLE)
    with pytest.raises(ValueError, match=r"in state <AgentState.RESTING: 'resting'>, which is not among .*: idle"):
        chart.fire(SocialAgent(state=AgentState.RESTING), "timeout")


RESTS = "<AgentState.RESTING: 'resting'> is not among the chart's states: idle, scrolling"
ALWAYS = "comes after evaluating --decides--> scrolling, which has no guard and always wins"
DECIDES = "evaluating --decides-->"
NOTHING = "the oracle has nothing to choose from; add rows with a target"
TWO = [IDLE, SCROLLING]


@catalogue(
    ("states", "rows", "initial", "problem"),
    [
        (list(AgentState), [], "idle", "a chart's states must be members of a StrEnum, got 'idle'"),
        (TWO, [], RESTING, f"initial state {RESTS}"),
        (TWO, [Transition("t", RESTING, IDLE)], IDLE, f"resting --t--> idle: {RESTS}"),
        (TWO, [Transition("t", IDLE, RESTING)], IDLE, f"idle --t--> resting: {RESTS}"),
        ([], [], IDLE, "initial state <AgentState.IDLE: 'idle'> is not among the chart's states: none"),
        (AgentState, [decides(SCROLLING), decides(COMPOSING)], IDLE, f"{DECIDES} composing: {ALWAYS}"),
        (AgentState, [decides(SCROLLING), decides(COMPOSING, YES)], IDLE, f"{DECIDES} composing: {ALWAYS}"),
        (AgentState, [decides(None, YES)], IDLE, f"{DECIDES} as the oracle decides: {NOTHING}"),
    ],
)
def test_a_chart_that_cannot_work_is_refused(states: Any, rows: Any, initial: Any, problem: str) -> None:
    with pytest.raises(StatechartError) as caught:
        Statechart(states, rows, initial)
    assert str(caught.value) == problem


def test_the_valid_triggers_and_targets_of_a_state_come_in_row_order_whatever_guards_say() -> None:
    again, ignores = decides(COMPOSING, YES), Transition("ignores", EVALUATING, SCROLLING)
    chart = chart_of(decides(COMPOSING, NO), ignores, decides(SCROLLING, YES), again, decides(None, NO))
    assert (chart.valid_triggers(EVALUATING), chart.valid_triggers(IDLE)) == (["decides", "ignores"], [])
    assert chart.valid_targets(EVALUATING, "decides") == [COMPOSING, SCROLLING]
    assert chart.valid_targets(EVALUATING, "timeout") == chart.valid_targets(IDLE, "decides") == []
    alone = Statechart({IDLE}, [], IDLE)
    assert alone.valid_triggers(RESTING) == alone.valid_targets(RESTING, "timeout") == []


@pytest.mark.parametrize("trigger", ["decides", "timeout", ""])
def test_fire_returns_none_and_changes_nothing_when_no_row_is_enabled(trigger: str) -> None:
    agent = Person(tick=9, ticks_in_state=4)
    assert chart_of(decides(COMPOSING, NO)).fire(agent, trigger) is None
    assert (agent.state, agent.ticks_in_state, agent.state_history) == (EVALUATING, 4, [])


def test_fire_never_asks_and_leaves_the_oracles_rows_alone() -> None:
    agent = Person()
    assert chart_of(decides(None, YES), decides(SCROLLING, YES)).fire(agent, "decides") is None
    assert agent.state is EVALUATING


def test_commit_refuses_an_agent_that_has_left_the_source_and_a_row_without_a_target() -> None:
    ran: list[Any] = []
    row = Transition("decides", EVALUATING, COMPOSING, action=lambda *pair: ran.append(pair))
    agent = Person(SCROLLING, tick=3)
    assert not chart_of(row).commit(agent, row, 5)
    assert (agent.state, agent.tick, ran) == (SCROLLING, 3, [])
    without_target, agent = decides(None, YES), Person()
    assert not chart_of(without_target, decides(SCROLLING)).commit(agent, without_target, 5)
    assert agent.state is EVALUATING


class Visitor:
    def __init__(self, state: AgentState, **facts: Any) -> None:
        self.state = state
        self.__dict__.update(facts)


def test_a_plain_object_with_a_state_is_moved_by_a_row_with_or_without_a_guard() -> None:
    seen: list[object] = []
    chart = chart_of(
        Transition("feed_ready", IDLE, SCROLLING),
        Transition("sees_post", SCROLLING, EVALUATING, YES, lambda agent, post: seen.append((agent, post))),
    )
    visitor = Visitor(IDLE, ticks_in_state=4, running="a field of its own")
    assert chart.fire(visitor, "feed_ready") is SCROLLING
    assert chart.fire(visitor, "feed_ready") is None
    assert chart.fire(visitor, "sees_post", "tea") is EVALUATING
    assert seen == [(visitor, "tea")]
    assert vars(visitor) == {"state": EVALUATING, "ticks_in_state": 0, "running": "a field of its own"}


def test_a_plain_objects_rows_are_selected_and_committed_as_an_agents_are() -> None:
    chart = chart_of(decides(COMPOSING, YES), decides(LIKE, breaks()), decides(RESTING, YES))
    visitor, person = Visitor(EVALUATING), Person(EVALUATING)
    assert chart.candidates(visitor, "decides") == chart.candidates(person, "decides")
    assert outcomes(chart, visitor, "decides") == outcomes(chart, person, "decides")
    choice = chart.select(visitor, "decides")
    assert choice == chart.select(person, "decides")
    assert isinstance(choice, Choice)
    assert chart.commit(visitor, choice.options[1], tick=None)
    assert vars(visitor) == {"state": RESTING}


def test_a_chart_keeps_its_states_rows_and_initial_state() -> None:
    row = Transition("feed_ready", IDLE, SCROLLING)
    chart = Statechart(states={IDLE, SCROLLING}, transitions=[row], initial=IDLE)
    assert (chart.states, chart.transitions, chart.initial) == (frozenset({IDLE, SCROLLING}), (row,), IDLE)


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


Row = Transition[AgentState]
Situation = tuple[Statechart[AgentState], AgentState, str]
"""A chart, the state of somebody in it, and a trigger."""
TRIGGERS = ("decides", "timeout")
GUARDS: list[Guard | None] = [None, says(True), says(False), breaks(), says("needs_oracle")]


def legal(rows: Iterable[Row]) -> list[Row]:
    """The rows without those after an else, and without those that leave the oracle nothing to choose from."""
    kept: list[Row] = []
    closed: set[tuple[AgentState, str]] = set()
    for row in rows:
        key = (row.source, row.trigger)
        if key not in closed:
            kept.append(row)
        if row.guard is None:
            closed.add(key)
    targeted = {(row.source, row.trigger) for row in kept if row.target is not None}
    return [row for row in kept if (row.source, row.trigger) in targeted]


@st.composite
def situations(draw: st.DrawFn, *, askable: bool = True) -> Situation:
    """A random chart over some of the states, the state of somebody in it, and a trigger."""
    states = draw(st.lists(st.sampled_from(AgentState), min_size=1, max_size=4, unique=True))
    targets: list[AgentState | None] = [*states, None] if askable else [*states]
    marks = [None, True, False] if askable else [False]
    row = st.builds(
        lambda trigger, source, target, guard, oracle: (trigger, source, target, guard, None, oracle),
        st.sampled_from(TRIGGERS),
        st.sampled_from(states[:2]),
        st.sampled_from(targets),
        st.sampled_from(GUARDS),
        st.sampled_from(marks),
    ).filter(lambda fields: fields[2] is not None or fields[5] is not False)
    rows = [Transition(*fields) for fields in draw(st.lists(row, max_size=10))]
    return (
        Statechart(states, legal(rows), states[0]),
        draw(st.sampled_from(states[:2])),
        draw(st.sampled_from(TRIGGERS)),
    )


@given(situations())
def test_candidates_are_rows_of_this_state_and_trigger_in_their_order_and_fire_takes_the_first(
    situation: Situation,
) -> None:
    chart, state, trigger = situation
    agent = Person(state)
    candidates = chart.candidates(agent, trigger)
    rows = [row for row in chart.transitions if (row.source, row.trigger) == (state, trigger)]
    places = [next(place for place, row in enumerate(rows) if row is found) for found in candidates]
    assert places == sorted(set(places))
    expected = candidates[0].target if candidates else None
    assert chart.fire(agent, trigger) == expected
    assert agent.state == (state if expected is None else expected)


@given(situations())
def test_the_first_option_is_what_fire_would_do_or_the_most_passive(situation: Situation) -> None:
    """Every option is a candidate, or what one without a target allows."""
    chart, state, trigger = situation
    selected = chart.select(Person(state), trigger)
    if not isinstance(selected, Choice):
        return
    candidates = chart.candidates(Person(state), trigger)
    allowed = list(candidates)
    for row in candidates:
        if row.target is None:
            allowed += [msgspec.structs.replace(row, target=to) for to in chart.valid_targets(state, trigger)]
    assert all(option in allowed for option in selected.options)
    assert None not in [option.target for option in selected.options]
    assert len(set(selected.targets)) == len(selected.options) > 0
    assert (selected.source, selected.trigger) == (state, trigger)
    fired = chart.fire(Person(state), trigger)
    assert selected.targets[0] == (most_passive(selected.targets) if fired is None else fired)


@given(situations(askable=False))
def test_a_chart_without_askable_rows_never_asks(situation: Situation) -> None:
    chart, state, trigger = situation
    assert not isinstance(chart.select(Person(state), trigger), Choice)


@given(situations(), st.integers(0, 1000))
def test_commit_moves_to_exactly_the_target_at_exactly_the_tick(situation: Situation, tick: int) -> None:
    chart, state, trigger = situation
    selected = chart.select(Person(state), trigger)
    for row in selected.options if isinstance(selected, Choice) else [] if selected is None else [selected]:
        agent = Person(state)
        assert chart.commit(agent, row, tick)
        assert (agent.state, agent.entered, agent.ticks_in_state) == (row.target, tick, 0)
