from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from prism.statechart import AgentState, agents_in_state, state_distribution
from tests.statechart.charts import Person

STATES = st.lists(st.sampled_from(AgentState))


def people(*states: AgentState) -> list[Person]:
    return [Person(state) for state in states]


@given(STATES)
def test_a_distribution_agrees_with_the_counts_and_loses_nobody(states: list[AgentState]) -> None:
    crowd = people(*states)
    distribution = state_distribution(crowd)
    assert sum(distribution.values()) == len(states)
    assert all(distribution[state] == agents_in_state(state, crowd) for state in AgentState)
