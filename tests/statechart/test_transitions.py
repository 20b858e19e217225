from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from inspect import CORO_CLOSED, getcoroutinestate
from typing import Any

import pytest

from prism.errors import StatechartError
from prism.statechart import AgentState, Choice, StateTransition, Transition
from prism.statechart.transitions import is_deferred, is_work_left
from tests.catalogue import catalogue

IDLE, SCROLLING, EVALUATING, COMPOSING = (
    AgentState.IDLE,
    AgentState.SCROLLING,
    AgentState.EVALUATING,
    AgentState.COMPOSING,
)
NOON = datetime(2026, 1, 30, 12, tzinfo=UTC)


@catalogue("trigger", ["", "  ", "\n", None, 3])
def test_a_trigger_must_be_a_text_that_is_not_empty(trigger: Any) -> None:
    with pytest.raises(StatechartError) as caught:
        Transition(trigger, IDLE, SCROLLING)
    assert str(caught.value) == f"a transition's trigger must be a non-empty string, got {trigger!r}"


@catalogue("source", ["idle", None, 0, AgentState])
def test_a_source_must_be_a_state(source: Any) -> None:
    with pytest.raises(StatechartError) as caught:
        Transition("t", source, SCROLLING)
    assert str(caught.value) == (
        f"{source} --t--> scrolling: source must be a state such as AgentState.IDLE, got {source!r}"
    )


@catalogue("target", ["scrolling", 7, AgentState])
def test_a_target_must_be_a_state_or_none(target: Any) -> None:
    with pytest.raises(StatechartError) as caught:
        Transition("t", IDLE, target)
    assert str(caught.value) == f"idle --t--> {target}: target must be a state such as AgentState.IDLE, got {target!r}"


def test_a_row_without_a_target_cannot_refuse_the_oracle() -> None:
    with pytest.raises(StatechartError) as caught:
        Transition("t", IDLE, None, oracle=False)
    assert str(caught.value) == (
        "idle --t--> as the oracle decides: a row without a target needs the oracle, so oracle=False cannot hold"
    )


def test_a_row_goes_by_its_label_or_else_by_what_it_does() -> None:
    assert Transition("t", IDLE, SCROLLING, label="wake").name == "wake"
    assert Transition("t", IDLE, SCROLLING).name == "idle --t--> scrolling"
    assert Transition("t", IDLE, None).name == "idle --t--> as the oracle decides"


def test_a_choice_finds_the_option_that_leads_to_a_state() -> None:
    options = (Transition("t", IDLE, COMPOSING), Transition("t", IDLE, SCROLLING))
    choice = Choice("t", IDLE, options)
    assert choice.option("scrolling") is options[1]
    assert choice.option("resting") is None


@catalogue(
    ("timestamp", "shown"),
    [
        (datetime(2026, 1, 30, 12), "'2026-01-30T12:00:00'"),  # naive
        (datetime(2026, 1, 30, 12, tzinfo=timezone(timedelta(hours=2))), "'2026-01-30T12:00:00+02:00'"),
    ],
)
def test_a_record_is_made_in_utc(timestamp: datetime, shown: str) -> None:
    with pytest.raises(StatechartError) as caught:
        StateTransition(IDLE, SCROLLING, "feed_ready", timestamp)
    assert str(caught.value) == f"a state transition's timestamp must be in UTC, got {shown}"


@catalogue("context", [None, {"post_id": "post_123"}])
def test_a_record_is_exported_in_the_format_of_the_contract(context: dict[str, Any] | None) -> None:
    record = StateTransition(SCROLLING, EVALUATING, "sees_post", NOON, context)
    assert json.loads(json.dumps(record.to_json())) == {
        "from_state": "scrolling",
        "to_state": "evaluating",
        "trigger": "sees_post",
        "timestamp": "2026-01-30T12:00:00Z",
        "context": context,
    }


async def waits() -> None:
    """Wait for nothing."""


def counts() -> Iterator[int]:
    yield 1


def test_a_function_that_starts_work_is_told_from_one_that_does_it() -> None:
    assert is_deferred(waits)
    assert is_deferred(counts)
    assert not is_deferred(len)
    assert not is_deferred(dict)


def test_work_that_is_left_is_closed() -> None:
    coroutine, generator = waits(), counts()
    assert is_work_left(coroutine)
    assert is_work_left(generator)
    assert getcoroutinestate(coroutine) == CORO_CLOSED
    assert list(generator) == []
