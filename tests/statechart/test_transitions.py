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

IDLE, SCROLLING, EVALUATING, COMPOSING = (
    AgentState.IDLE,
    AgentState.SCROLLING,
    AgentState.EVALUATING,
    AgentState.COMPOSING,
)
NOON = datetime(2026, 1, 30, 12, tzinfo=UTC)


def test_a_row_needs_only_a_trigger_a_source_and_a_target() -> None:
    row = Transition("feed_ready", IDLE, SCROLLING)
    assert (row.trigger, row.source, row.target) == ("feed_ready", IDLE, SCROLLING)
    assert (row.guard, row.action, row.oracle, row.label) == (None, None, None, "")


def test_guard_and_action_follow_the_target_in_that_order() -> None:
    seen: list[tuple[Any, Any]] = []
    row = Transition("t", IDLE, SCROLLING, lambda agent, context: agent is context, lambda *pair: seen.append(pair))
    assert row.guard is not None
    assert row.action is not None
    assert row.guard(1, 1)
    row.action("agent", "context")
    assert seen == [("agent", "context")]


@pytest.mark.parametrize("field", ["trigger", "source", "target", "guard", "action", "oracle", "label"])
def test_a_row_never_changes(field: str) -> None:
    with pytest.raises(AttributeError, match=r"^immutable type: 'Transition'$"):
        setattr(Transition("t", IDLE, SCROLLING), field, None)


@pytest.mark.parametrize("trigger", ["", "  ", "\n", None, 3])
def test_a_trigger_must_be_a_text_that_is_not_empty(trigger: Any) -> None:
    with pytest.raises(StatechartError) as caught:
        Transition(trigger, IDLE, SCROLLING)
    assert str(caught.value) == f"a transition's trigger must be a non-empty string, got {trigger!r}"


@pytest.mark.parametrize("source", ["idle", None, 0, AgentState])
def test_a_source_must_be_a_state(source: Any) -> None:
    with pytest.raises(StatechartError) as caught:
        Transition("t", source, SCROLLING)
    assert str(caught.value) == (
        f"{source} --t--> scrolling: source must be a state such as AgentState.IDLE, got {source!r}"
    )


@pytest.mark.parametrize("target", ["scrolling", 7, AgentState])
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


def test_what_a_row_refuses_is_a_value_error() -> None:
    with pytest.raises(ValueError, match=r"non-empty string, got ''$"):
        Transition("", IDLE, SCROLLING)


def test_a_row_goes_by_its_label_or_else_by_what_it_does() -> None:
    assert Transition("t", IDLE, SCROLLING, label="wake").name == "wake"
    assert Transition("t", IDLE, SCROLLING).name == "idle --t--> scrolling"
    assert Transition("t", IDLE, None).name == "idle --t--> as the oracle decides"


def test_a_choice_lists_its_targets_in_the_order_of_its_options() -> None:
    options = (Transition("t", IDLE, COMPOSING), Transition("t", IDLE, SCROLLING))
    assert Choice("t", IDLE, options).targets == (COMPOSING, SCROLLING)


def test_a_choice_finds_the_option_that_leads_to_a_state() -> None:
    options = (Transition("t", IDLE, COMPOSING), Transition("t", IDLE, SCROLLING))
    choice = Choice("t", IDLE, options)
    assert choice.option("scrolling") is options[1]
    assert choice.option("resting") is None


def test_a_record_needs_no_context() -> None:
    record = StateTransition(IDLE, SCROLLING, "feed_ready", NOON)
    assert (record.from_state, record.to_state, record.trigger, record.timestamp) == (
        IDLE,
        SCROLLING,
        "feed_ready",
        NOON,
    )
    assert record.context is None


def test_a_record_never_changes() -> None:
    with pytest.raises(AttributeError, match=r"^immutable type: 'StateTransition'$"):
        setattr(StateTransition(IDLE, SCROLLING, "feed_ready", NOON), "trigger", "other")  # noqa: B010  # mypy knows


@pytest.mark.parametrize(
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


@pytest.mark.parametrize("context", [None, {"post_id": "post_123"}])
def test_a_record_is_exported_in_the_format_of_the_contract(context: dict[str, Any] | None) -> None:
    record = StateTransition(SCROLLING, EVALUATING, "sees_post", NOON, context)
    assert json.loads(json.dumps(record.to_json())) == {
        "from_state": "scrolling",
        "to_state": "evaluating",
        "trigger": "sees_post",
        "timestamp": "2026-01-30T12:00:00Z",
        "context": context,
    }


def test_any_zone_without_an_offset_is_utc() -> None:
    record = StateTransition(IDLE, SCROLLING, "t", datetime(2026, 1, 30, 12, tzinfo=timezone(timedelta(0), "WET")))
    assert record.to_json()["timestamp"] == "2026-01-30T12:00:00Z"


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


def test_a_plain_result_is_no_work() -> None:
    assert not any(is_work_left(result) for result in (None, True, "needs_oracle", [1], iter([1])))
