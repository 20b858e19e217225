from typing import Any

import pytest

from prism.agents import SocialAgent
from prism.errors import StatechartError
from prism.statechart import AgentState, Choice, Statechart, Transition, outcomes
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
    """A plain object with a state."""

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
