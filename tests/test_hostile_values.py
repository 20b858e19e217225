"""Values that no chart, agent or decision can hold: each is refused at construction, in one line that names it."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from functools import partial
from typing import Any

import pytest

from prism.agents import SocialAgent, StatefulAgent
from prism.clock import SimulatedClock
from prism.domain import Measure
from prism.economy.nation import Nation
from prism.llm import Completion
from prism.models import (
    Action,
    GlobalState,
    LLMReasoningChain,
    NationState,
    PolicyDecision,
    SimulationState,
    StateUpdateDecision,
    ValidationResult,
)
from prism.social.people.persona import Persona
from prism.statechart import AgentState, Statechart, StateTransition, Transition
from tests.catalogue import catalogue

IDLE, SCROLLING, RESTING = AgentState.IDLE, AgentState.SCROLLING, AgentState.RESTING
NOON = datetime(2026, 1, 30, 12, tzinfo=UTC)
NAN, INFINITY = float("nan"), float("inf")
REASONS = "because it is so"


async def waits(*_: Any) -> bool:
    return True


class Unshowable:
    def __repr__(self) -> str:
        raise RuntimeError


class Poem:
    def __repr__(self) -> str:
        return "roses\nare red\nand so on " * 40


Make = Callable[..., Any]
row: Make = partial(Transition, "t", IDLE, SCROLLING)
record: Make = partial(StateTransition, from_state=IDLE, to_state=SCROLLING, trigger="t", timestamp=NOON)
chart: Make = Statechart
person: Make = SocialAgent
agent: Make = StatefulAgent
decision: Make = partial(PolicyDecision, action="Cut rates", reasoning=REASONS, confidence=0.5)
result: Make = partial(ValidationResult, is_valid=True, reasoning=REASONS, confidence=0.5)
update: Make = partial(StateUpdateDecision, new_interest_rate=2.0, reasoning=REASONS, confidence=0.5)
link: Make = partial(
    LLMReasoningChain,
    component="agent",
    agent_name="Ada",
    prompt="?",
    response="!",
    reasoning=REASONS,
    timestamp=NOON,
    duration_ms=0,
    model="",
    retry_count=0,
)
persona: Make = partial(Persona, name="Ada", interests=(), personality="")


def cases(make: Make, field: str, *values: Any) -> list[tuple[Make, dict[str, Any], str]]:
    return [(make, {field: value}, field) for value in values]


REFUSED: list[tuple[Make, dict[str, Any], str]] = [
    # Rows.
    *cases(partial(Transition, source=IDLE, target=SCROLLING), "trigger", "", " \n", None, 3, b"t", ["t"]),
    *cases(partial(Transition, "t", target=IDLE), "source", "idle", None, 0, AgentState, Poem(), Unshowable()),
    *cases(partial(Transition, "t", IDLE), "target", "idle", 2, AgentState),
    *(
        (row, {field: value}, field)
        for field in ("guard", "action")
        for value in (True, "x > 1", 3, waits, partial(waits), Poem())
    ),
    *cases(row, "oracle", 0, 1, "yes", "no", Unshowable()),
    *cases(row, "label", None, 3, b"name"),
    (partial(Transition, "t", IDLE), {"target": None, "oracle": False}, "oracle"),
    # Charts.
    *(
        (chart, {"states": value, "transitions": [], "initial": IDLE}, "states")
        for value in (5, None, ["idle"], "idle", [IDLE, None])
    ),
    *(
        (chart, {"states": [IDLE], "transitions": [], "initial": value}, "state")
        for value in ("idle", None, SCROLLING, [IDLE])
    ),
    *(
        (chart, {"states": [IDLE], "transitions": value, "initial": IDLE}, "rows")
        for value in (5, None, ["t"], [("t", IDLE, IDLE)], [None])
    ),
    (chart, {"states": [IDLE], "transitions": [row()], "initial": IDLE}, "scrolling"),
    (chart, {"states": [IDLE, SCROLLING], "transitions": [row(), row()], "initial": IDLE}, "always wins"),
    # Records of the history.
    *cases(record, "timestamp", datetime(2026, 1, 30), NOON.astimezone(timezone(timedelta(hours=2))), "noon", 0),
    *cases(record, "context", [], "post 12", 12),
    (record, {"from_state": "idle"}, "from_state"),
    (record, {"to_state": None}, "to_state"),
    (record, {"trigger": ""}, "trigger"),
    # Agents.
    *cases(person, "state", "idle", None, 0, AgentState, Poem()),
    *(case for name in ("agent_id", "tick", "ticks_in_state") for case in cases(person, name, -1, True, "3", 1.5)),
    *cases(person, "max_history_depth", -1, True, None, 50.0),
    *cases(person, "timeout_threshold", 0, True, None, 5.0, NAN),
    *cases(person, "engagement_threshold", -0.1, 1.1, True, NAN, "0.5"),
    *cases(person, "seed", True, "0", 0.5, None),
    *cases(person, "persona", None, "Ada", {"name": "Ada"}),
    *cases(person, "pending_action", 3, True, ["like"]),
    *cases(partial(agent, 0, IDLE), "clock", None, 60.0, NOON),
    (Nation, {"agent_id": 0, "name": "Ada", "state": IDLE}, "state"),
    # Personas.
    *cases(persona, "activity", -0.1, 1.1, True, NAN),
    *cases(persona, "name", "  ", None),
    *cases(persona, "interests", "rail", {"rail"}, [3]),
    (persona, {"low_threshold": 0.9}, "low_threshold"),
    (persona, {"high_threshold": 0.1}, "high_threshold"),
    # The answers of a model.
    *(
        (make, {"confidence": value}, "confidence")
        for make in (decision, result, update)
        for value in (-0.1, 1.1, True, NAN)
    ),
    *(
        (make, {"reasoning": value}, "reasoning")
        for make in (decision, result, update)
        for value in ("too short", "x" * 2001, None)
    ),
    *cases(decision, "action", "", " ", "two\nlines", "x" * 501, None, 3, b"Cut rates"),
    *cases(result, "is_valid", None, 1, 0, "true"),
    *cases(update, "new_interest_rate", -100.5, 1000.5, True, NAN, -INFINITY, "2", None),
    *cases(link, "component", "oracle", "", None),
    *cases(link, "duration_ms", -1, True, 1.5, NAN, None),
    *cases(link, "retry_count", -1, True, "0"),
    *cases(link, "timestamp", datetime(2026, 1, 30), None, 0),
    # The economy's state.
    *cases(partial(NationState, name="Ada"), "economic_strength", -1.0, True, NAN, "1"),
    *cases(GlobalState, "unemployment", -0.1, 100.1, True, NAN),
    *cases(GlobalState, "interest_rate", True, INFINITY, "4%"),
    *cases(partial(Measure, name="n", help="h", value=1.0), "kind", "histogram"),
    *cases(partial(Completion, model="m", prompt_tokens=0, completion_tokens=0, latency_s=0), "text", None, 3),
    *cases(SimulatedClock, "tick_seconds", 0.0, NAN),
    *cases(SimulatedClock, "epoch", datetime(2026, 1, 1)),
    (partial(SimulationState, agents={}, global_state=GlobalState()), {"turn": -1}, "turn"),
    (Action, {"agent_name": "Ada", "action_string": 3}, "action_string"),
    (Action, {"agent_name": "Ada", "action_string": "Cut rates", "validated": 1}, "validated"),
]


@catalogue(("make", "values", "named"), REFUSED)
def test_a_hostile_value_is_refused_in_one_line_that_names_it(make: Make, values: dict[str, Any], named: str) -> None:
    with pytest.raises((ValueError, TypeError)) as caught:
        make(**values)
    message = str(caught.value)
    assert "\n" not in message
    assert 20 <= len(message) <= 500
    assert named in message
    assert re.search(r"got|is not among|wins|expected|cannot hold", message), message
