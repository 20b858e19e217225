from __future__ import annotations

from prism.statechart import STATE_DESCRIPTIONS, AgentState, most_passive


def test_there_are_the_eight_states_of_the_contract_in_its_order() -> None:
    assert {state.name: state.value for state in AgentState} == {
        "IDLE": "idle",
        "SCROLLING": "scrolling",
        "EVALUATING": "evaluating",
        "COMPOSING": "composing",
        "ENGAGING_LIKE": "engaging_like",
        "ENGAGING_REPLY": "engaging_reply",
        "ENGAGING_RESHARE": "engaging_reshare",
        "RESTING": "resting",
    }
    assert list(AgentState) == [AgentState(value) for value in STATE_DESCRIPTIONS]


def test_every_state_is_described_to_the_oracle_as_the_contract_says() -> None:
    assert STATE_DESCRIPTIONS == {
        AgentState.IDLE: "Stop browsing, wait for next round",
        AgentState.SCROLLING: "Continue browsing without engaging",
        AgentState.EVALUATING: "Look more closely at this post",
        AgentState.COMPOSING: "Write a response or original content",
        AgentState.ENGAGING_LIKE: "Like this post",
        AgentState.ENGAGING_REPLY: "Reply to this post",
        AgentState.ENGAGING_RESHARE: "Reshare this post",
        AgentState.RESTING: "Take a break from activity",
    }


def test_scrolling_on_is_the_most_passive_of_all_states() -> None:
    assert most_passive(AgentState) is AgentState.SCROLLING


def test_a_like_is_more_passive_than_words() -> None:
    assert most_passive([AgentState.COMPOSING, AgentState.ENGAGING_LIKE]) is AgentState.ENGAGING_LIKE
