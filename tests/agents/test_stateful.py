from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise
from threading import Lock
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.agents import StatefulAgent
from prism.clock import SimulatedClock
from prism.statechart import AgentState, StateTransition
from tests.catalogue import catalogue

IDLE, SCROLLING, RESTING = AgentState.IDLE, AgentState.SCROLLING, AgentState.RESTING
MOVES = st.lists(st.tuples(st.sampled_from(AgentState), st.integers(0, 3)), max_size=30)


def agent(**settings: Any) -> StatefulAgent[AgentState]:
    return StatefulAgent(3, IDLE, **settings)


def test_entering_a_state_restarts_the_count_and_is_remembered() -> None:
    east = timezone(timedelta(hours=2))
    moving = agent(tick=2, ticks_in_state=2, clock=SimulatedClock(datetime(2026, 1, 30, 12, tzinfo=east), 90.0))
    assert (moving.ticks_in_state, moving.entered) == (2, 0)
    moving.enter(SCROLLING, "feed_ready", 5, "no dictionary")
    assert (moving.state, moving.tick, moving.ticks_in_state) == (SCROLLING, 5, 0)
    (record,) = moving.state_history
    assert (record.from_state, record.to_state, record.trigger, record.context) == (IDLE, SCROLLING, "feed_ready", None)
    assert (record.timestamp, record.timestamp.tzinfo) == (datetime(2026, 1, 30, 10, 7, 30, tzinfo=UTC), UTC)


def test_the_history_is_a_list_that_the_agent_owns_and_bounds() -> None:
    moving = agent(max_history_depth=3)
    moving.enter(SCROLLING, "feed_ready", 1)
    history = moving.state_history
    moving.enter(RESTING, "timeout", 2)
    assert history is moving.state_history
    assert [record.trigger for record in history] == ["feed_ready", "timeout"]
    history.append(StateTransition(RESTING, IDLE, "by hand", moving.clock.at(3)))
    assert [record.trigger for record in moving.state_history] == ["feed_ready", "timeout", "by hand"]
    moving.enter(SCROLLING, "feed_ready", 4)
    assert [record.trigger for record in history] == ["timeout", "by hand", "feed_ready"]
    history.extend(history[:2])
    assert [record.trigger for record in moving.state_history] == ["feed_ready", "timeout", "by hand"]
    moving.state_history.clear()
    assert (history, moving.to_json()["state_history"]) == ([], [])
    assert agent().state_history is not agent().state_history


@given(MOVES, st.integers(0, 5))
def test_a_history_is_a_bounded_chain_of_changes_in_time(moves: list[tuple[AgentState, int]], depth: int) -> None:
    moving, tick = agent(max_history_depth=depth), 0
    for state, wait in moves:
        tick += wait
        moving.enter(state, "t", tick)
        assert moving.ticks_in_state == 0
    history = moving.state_history
    assert len(history) <= depth
    assert all(record.from_state != record.to_state for record in history)
    assert all(before.to_state == after.from_state for before, after in pairwise(history))
    assert [record.timestamp for record in history] == sorted(record.timestamp for record in history)
    assert not history or history[-1].to_state is moving.state


NOT_COUNTS = [-1, True, False, 1.0, 1.5, float("nan"), float("inf"), "3", None, [], 1 + 0j]
COUNTS = ["tick", "ticks_in_state", "max_history_depth"]


@catalogue("field", COUNTS)
@catalogue("value", NOT_COUNTS)
def test_a_count_is_an_int_of_0_or_more_from_the_first_to_the_last(field: str, value: Any) -> None:
    with pytest.raises(ValueError, match=rf"^{field} must be (an int|0 or more), got [^\n]+$"):
        agent(**{field: value})
    waiting = agent(tick=8, ticks_in_state=2)
    with pytest.raises(ValueError, match=rf"^{field} must be (an int|0 or more), got [^\n]+$"):
        setattr(waiting, field, value)
    assert (waiting.tick, waiting.ticks_in_state, waiting.max_history_depth) == (8, 2, 50)


@catalogue("field", COUNTS)
def test_a_count_of_another_class_of_ints_becomes_a_plain_one(field: str) -> None:
    waiting = agent(**{field: numpy.int64(3)})
    assert type(getattr(waiting, field)) is int
    setattr(waiting, field, numpy.int32(4))
    assert type(getattr(waiting, field)) is int
    assert getattr(waiting, field) == 4


def test_time_does_not_go_back_to_before_the_state_was_entered() -> None:
    waiting = agent(tick=8, ticks_in_state=2)
    waiting.tick = 6
    with pytest.raises(ValueError, match=r"^tick must be 6 or more, in which the state was entered, got 5$"):
        waiting.tick = 5
    assert (waiting.tick, waiting.ticks_in_state) == (6, 0)


@catalogue("state", ["idle", None, 0, AgentState])
def test_only_a_state_is_entered(state: Any) -> None:
    staying = agent(tick=2)
    with pytest.raises(TypeError, match=r"^state must be one of StrEnum, got "):
        staying.enter(state, "t", 5)
    assert (staying.state, staying.tick, staying.state_history) == (IDLE, 2, [])


@catalogue("tick", [value for value in NOT_COUNTS if value is not None])
def test_a_state_is_entered_in_a_tick_of_0_or_more(tick: Any) -> None:
    staying = agent(tick=2)
    with pytest.raises(ValueError, match=r"^tick must be "):
        staying.enter(SCROLLING, "t", tick)
    assert (staying.state, staying.tick, staying.state_history) == (IDLE, 2, [])


def test_a_smaller_depth_forgets_the_oldest() -> None:
    moving = agent()
    for tick, state in enumerate((SCROLLING, RESTING, IDLE), start=1):
        moving.enter(state, f"t{tick}", tick)
    moving.max_history_depth = 2
    assert [record.trigger for record in moving.state_history] == ["t2", "t3"]
    moving.max_history_depth = 0
    assert moving.state_history == []


def test_what_happens_to_a_context_later_does_not_change_the_history() -> None:
    inner: dict[str, Any] = {"tags": ["a"], "seen": {1}, "pair": ([1], 2)}
    inner["itself"] = inner
    context = {"post": inner}
    moving = agent()
    moving.enter(SCROLLING, "sees_post", 1, context)
    inner["tags"].append("b")
    inner["pair"][0].append(2)
    inner["seen"].clear()
    context.clear()
    (record,) = moving.state_history
    assert record.context is not None
    kept = record.context["post"]
    assert (kept["tags"], kept["seen"], kept["pair"], kept["itself"] is kept) == (["a"], {1}, ([1], 2), True)


def test_a_context_may_hold_what_cannot_be_copied() -> None:
    moving, held = agent(), {"lock": Lock(), "seen": [1]}
    moving.enter(SCROLLING, "feed_ready", 5, held)
    (record,) = moving.state_history
    assert record.context == held
    assert record.context["lock"] is held["lock"]
    assert record.context["seen"] is not held["seen"]
