"""Queries over many agents at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from prism.statechart.states import AgentState


def agents_in_state(state: AgentState, agents: Iterable[Any]) -> int:
    return sum(agent.state == state for agent in agents)


def state_distribution(agents: Iterable[Any]) -> dict[AgentState, int]:
    """Return the number of agents in each state: every state, also the empty ones, in the order of `AgentState`."""
    counts = Counter(agent.state for agent in agents)
    return {state: counts[state] for state in AgentState}
