"""Small charts and guards that several tests share."""

from __future__ import annotations

from typing import Any

from prism.agents import StatefulAgent
from prism.statechart import AgentState, Statechart, Transition
from prism.statechart.transitions import Guard

IDLE = AgentState.IDLE
SCROLLING = AgentState.SCROLLING
EVALUATING = AgentState.EVALUATING
COMPOSING = AgentState.COMPOSING
LIKE = AgentState.ENGAGING_LIKE
RESTING = AgentState.RESTING


class Person(StatefulAgent[AgentState]):
    """An agent that starts where a test wants it."""

    def __init__(self, state: AgentState = EVALUATING, **settings: Any) -> None:
        super().__init__(7, state, **settings)


def says(verdict: object) -> Guard:
    """A guard with that verdict."""
    return lambda _agent, _context: verdict


def breaks(message: str = "no such post") -> Guard:
    """A guard that raises."""

    def guard(_agent: Any, _context: Any) -> object:
        raise LookupError(message)

    return guard


def decides(
    target: AgentState | None, guard: Guard | None = None, *, oracle: bool | None = None, label: str = ""
) -> Transition[AgentState]:
    """A row of `decides` in evaluating."""
    return Transition("decides", EVALUATING, target, guard, oracle=oracle, label=label)


def chart_of(*rows: Transition[AgentState]) -> Statechart[AgentState]:
    """A chart of those rows over all states."""
    return Statechart(AgentState, rows, IDLE)
