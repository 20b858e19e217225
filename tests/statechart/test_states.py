from __future__ import annotations

import json
from enum import StrEnum, auto

import pytest

from prism.statechart import PASSIVITY, STATE_DESCRIPTIONS, AgentState, most_passive


class Light(StrEnum):
    RED = auto()
    AMBER = auto()
    GREEN = auto()


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


@pytest.mark.parametrize("state", AgentState)
def test_a_state_is_its_lowercase_text(state: AgentState) -> None:
    assert isinstance(state, str)
    assert state == state.value == str(state) == state.name.lower()


@pytest.mark.parametrize("state", AgentState)
def test_a_state_survives_json(state: AgentState) -> None:
    assert AgentState(json.loads(json.dumps(state))) is state


@pytest.mark.parametrize("value", ["sleeping", "IDLE", "", " idle"])
def test_a_text_that_is_no_state_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match=r"is not a valid AgentState$") as caught:
        AgentState(value)
    assert str(caught.value) == f"{value!r} is not a valid AgentState"


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


def test_every_state_has_one_place_in_the_order_of_consequence() -> None:
    assert sorted(PASSIVITY) == sorted(AgentState)


def test_scrolling_on_is_the_most_passive_of_all_states() -> None:
    assert most_passive(AgentState) is AgentState.SCROLLING


def test_a_like_is_more_passive_than_words() -> None:
    assert most_passive([AgentState.COMPOSING, AgentState.ENGAGING_LIKE]) is AgentState.ENGAGING_LIKE


def test_the_first_declared_state_of_another_enum_is_its_most_passive() -> None:
    assert most_passive([Light.GREEN, Light.AMBER]) is Light.AMBER


def test_no_options_have_no_most_passive_one() -> None:
    with pytest.raises(ValueError, match=r"empty"):
        most_passive([])
