from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from prism.statechart import AgentState, agents_in_state, state_distribution
from tests.statechart.charts import COMPOSING, IDLE, SCROLLING, Person

STATES = st.lists(st.sampled_from(AgentState))


def people(*states: AgentState) -> list[Person]:
    return [Person(state) for state in states]


def test_agents_in_a_state_are_counted() -> None:
    crowd = people(IDLE, SCROLLING, IDLE)
    assert agents_in_state(IDLE, crowd) == 2
    assert agents_in_state(COMPOSING, crowd) == 0


def test_nobody_is_in_no_state() -> None:
    assert agents_in_state(IDLE, []) == 0
    assert set(state_distribution([]).values()) == {0}


def test_a_distribution_has_every_state_in_the_order_of_the_enum() -> None:
    distribution = state_distribution(people(SCROLLING, IDLE, SCROLLING))
    assert list(distribution) == list(AgentState)
    assert distribution[SCROLLING] == 2
    assert distribution[COMPOSING] == 0


def test_a_distribution_is_json() -> None:
    assert json.loads(json.dumps(state_distribution(people(IDLE))))["idle"] == 1


def test_agents_may_come_from_anything_that_can_be_iterated() -> None:
    assert agents_in_state(IDLE, iter(people(IDLE))) == 1
    assert state_distribution(iter(people(IDLE)))[IDLE] == 1


@given(STATES)
def test_a_distribution_agrees_with_the_counts_and_loses_nobody(states: list[AgentState]) -> None:
    crowd = people(*states)
    distribution = state_distribution(crowd)
    assert sum(distribution.values()) == len(states)
    assert all(distribution[state] == agents_in_state(state, crowd) for state in AgentState)
