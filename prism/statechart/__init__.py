"""Harel statecharts: states, rows, choices, the oracle that decides a choice, and charts as files."""

from prism.statechart.behaviour import Behaviour, Vocabulary, flatten
from prism.statechart.definition import Delay, RowDefinition, read_chart
from prism.statechart.lint import Finding, FindingKind, lint, rendered
from prism.statechart.oracle import (
    ATTEMPT,
    Answer,
    Judgement,
    Oracle,
    StatechartOracle,
    build_oracle_prompt,
    format_context,
    options_schema,
    parse_oracle_response,
)
from prism.statechart.outline import Activity, Outline, mermaid, outline
from prism.statechart.queries import agents_in_state, state_distribution
from prism.statechart.statechart import ENABLED, RowOutcome, Statechart, outcomes, question_kinds
from prism.statechart.states import STATE_DESCRIPTIONS, AgentState, most_passive
from prism.statechart.transitions import NEEDS_ORACLE, Choice, StateTransition, Transition

__all__ = [
    "ATTEMPT",
    "ENABLED",
    "NEEDS_ORACLE",
    "STATE_DESCRIPTIONS",
    "Activity",
    "AgentState",
    "Answer",
    "Behaviour",
    "Choice",
    "Delay",
    "Finding",
    "FindingKind",
    "Judgement",
    "Oracle",
    "Outline",
    "RowDefinition",
    "RowOutcome",
    "StateTransition",
    "Statechart",
    "StatechartOracle",
    "Transition",
    "Vocabulary",
    "agents_in_state",
    "build_oracle_prompt",
    "flatten",
    "format_context",
    "lint",
    "mermaid",
    "most_passive",
    "options_schema",
    "outcomes",
    "outline",
    "parse_oracle_response",
    "question_kinds",
    "read_chart",
    "rendered",
    "state_distribution",
]
