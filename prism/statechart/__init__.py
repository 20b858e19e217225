"""Flat Harel statecharts: states, rows, choices, and the oracle that decides a choice."""

from prism.statechart.lint import Finding, FindingKind, lint, rendered
from prism.statechart.oracle import (
    ATTEMPT,
    Answer,
    Asker,
    ChatClient,
    Oracle,
    StatechartOracle,
    build_oracle_prompt,
    format_context,
    options_schema,
    parse_oracle_response,
)
from prism.statechart.queries import agents_in_state, state_distribution
from prism.statechart.statechart import GuardErrors, Statechart, Stateful
from prism.statechart.states import PASSIVITY, STATE_DESCRIPTIONS, AgentState, most_passive
from prism.statechart.transitions import NEEDS_ORACLE, Action, Choice, Guard, StateTransition, Transition

__all__ = [
    "ATTEMPT",
    "NEEDS_ORACLE",
    "PASSIVITY",
    "STATE_DESCRIPTIONS",
    "Action",
    "AgentState",
    "Answer",
    "Asker",
    "ChatClient",
    "Choice",
    "Finding",
    "FindingKind",
    "Guard",
    "GuardErrors",
    "Oracle",
    "StateTransition",
    "Statechart",
    "StatechartOracle",
    "Stateful",
    "Transition",
    "agents_in_state",
    "build_oracle_prompt",
    "format_context",
    "lint",
    "most_passive",
    "options_schema",
    "parse_oracle_response",
    "rendered",
    "state_distribution",
]
