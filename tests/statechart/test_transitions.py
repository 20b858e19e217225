"""The rows of a chart: states, transitions, queries, and the questions that rows are meant for."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.economy.nation import ECONOMY_CHART
from prism.errors import StatechartError
from prism.social.chart import SOCIAL_CHART
from prism.statechart import STATE_DESCRIPTIONS, AgentState, StateTransition, Transition, most_passive, question_kinds
from prism.statechart.transitions import agents_in_state, state_distribution
from tests.catalogue import catalogue
from tests.statechart.charts import IDLE, SCROLLING, Person

NOON = datetime(2026, 1, 30, 12, tzinfo=UTC)


MUST = "must be a state such as AgentState.IDLE, got"


@catalogue(
    ("fields", "problem"),
    [
        *(
            ((each, IDLE, SCROLLING), f"a transition's trigger must be a non-empty string, got {each!r}")
            for each in ("", "  ", "\n", None, 3)
        ),
        *(
            (("t", each, SCROLLING), f"{each} --t--> scrolling: source {MUST} {each!r}")
            for each in ("idle", None, 0, AgentState)
        ),
        *((("t", IDLE, each), f"idle --t--> {each}: target {MUST} {each!r}") for each in ("scrolling", 7, AgentState)),
        (
            ("t", IDLE, None, None, None, False),
            "idle --t--> as the oracle decides: a row without a target needs the oracle, so oracle=False cannot hold",
        ),
    ],
)
def test_a_row_needs_a_trigger_a_source_and_a_target_or_the_oracle(fields: tuple[Any, ...], problem: str) -> None:
    with pytest.raises(StatechartError) as caught:
        Transition(*fields)
    assert str(caught.value) == problem


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


@given(st.lists(st.sampled_from(AgentState)))
def test_a_distribution_agrees_with_the_counts_and_loses_nobody(states: list[AgentState]) -> None:
    crowd = [Person(state) for state in states]
    distribution = state_distribution(crowd)
    assert sum(distribution.values()) == len(states)
    assert all(distribution[state] == agents_in_state(state, crowd) for state in AgentState)
