"""The contracts' own examples, run from end to end with a person."""

import json
from datetime import UTC, datetime

from prism.agents import SocialAgent
from prism.clock import SimulatedClock
from prism.statechart import AgentState, Statechart, StatechartOracle, Transition
from tests.catalogue import catalogue
from tests.social.people import person, relevant, view
from tests.statechart.charts import ScriptedClient

CHART = Statechart(
    states=set(AgentState),
    transitions=[
        Transition("feed_ready", AgentState.IDLE, AgentState.SCROLLING),
        Transition("sees_post", AgentState.SCROLLING, AgentState.EVALUATING),
        Transition("ignores", AgentState.EVALUATING, AgentState.SCROLLING),
        Transition("decides", AgentState.EVALUATING, AgentState.COMPOSING, guard=lambda a, p: a.should_engage(p)),
        Transition("decides", AgentState.EVALUATING, AgentState.SCROLLING),
        Transition(
            "compose_done",
            AgentState.COMPOSING,
            AgentState.ENGAGING_REPLY,
            guard=lambda a, _: a.pending_action == "reply",
        ),
        Transition("action_done", AgentState.ENGAGING_REPLY, AgentState.RESTING),
        Transition(
            "timeout",
            AgentState.SCROLLING,
            AgentState.RESTING,
            guard=lambda a, _: a.ticks_in_state >= a.timeout_threshold,
        ),
        Transition("timeout", AgentState.RESTING, AgentState.IDLE),
    ],
    initial=AgentState.IDLE,
)
AMBIGUOUS = Statechart(
    AgentState,
    [
        Transition("decides", AgentState.EVALUATING, AgentState.COMPOSING, lambda a, p: a.relevance(p) > 0.4),
        Transition("decides", AgentState.EVALUATING, AgentState.SCROLLING, lambda a, p: a.relevance(p) < 0.6),
    ],
    AgentState.IDLE,
)
CLOCK = SimulatedClock(datetime(2026, 1, 30, 10, tzinfo=UTC), tick_seconds=1.0)


def test_a_person_goes_through_a_whole_session_of_the_contracts_chart() -> None:
    ada = person(CHART.initial, pending_action="reply")
    post = relevant(0.9)
    visited = [
        CHART.fire(ada, trigger, post)
        for trigger in ("feed_ready", "sees_post", "decides", "compose_done", "action_done", "timeout")
    ]
    assert visited == ["scrolling", "evaluating", "composing", "engaging_reply", "resting", "idle"]


@catalogue(("ticks", "target"), [(4, None), (5, AgentState.RESTING), (6, AgentState.RESTING)])
def test_a_scroller_rests_once_the_timeout_threshold_is_reached(ticks: int, target: AgentState | None) -> None:
    ada = person(AgentState.SCROLLING, tick=10, ticks_in_state=ticks, timeout_threshold=5)
    assert CHART.fire(ada, "timeout") is target


def test_a_persons_history_is_exported_exactly_as_the_contract_shows() -> None:
    ada = SocialAgent(1, clock=CLOCK)
    CHART.fire(ada, "feed_ready", tick=0)
    CHART.fire(ada, "sees_post", view(id=123), tick=1)
    ada.tick = 3
    assert json.loads(json.dumps(ada.to_json())) == {
        "agent_id": "agent_001",
        "current_state": "evaluating",
        "ticks_in_state": 2,
        "state_history": [
            {
                "from_state": "idle",
                "to_state": "scrolling",
                "trigger": "feed_ready",
                "timestamp": "2026-01-30T10:00:00Z",
                "context": None,
            },
            {
                "from_state": "scrolling",
                "to_state": "evaluating",
                "trigger": "sees_post",
                "timestamp": "2026-01-30T10:00:01Z",
                "context": {"post_id": 123},
            },
        ],
    }


async def test_the_contracts_own_loop_over_the_valid_targets_works() -> None:
    ada, post = person(), relevant(0.5)
    oracle = StatechartOracle(client=ScriptedClient('{"next_state": "scrolling"}'))
    targets = AMBIGUOUS.valid_targets(ada.state, "decides")
    assert targets == [AgentState.COMPOSING, AgentState.SCROLLING]
    ada.state = await oracle.decide(ada, ada.state, "decides", targets, post)
    assert ada.state is AgentState.SCROLLING


def test_a_chart_is_shared_and_no_person_moves_another() -> None:
    crowd = [person(AgentState.IDLE, agent_id=number) for number in range(5)]
    CHART.fire(crowd[2], "feed_ready")
    assert [each.state for each in crowd] == [AgentState.IDLE] * 2 + [AgentState.SCROLLING] + [AgentState.IDLE] * 2
