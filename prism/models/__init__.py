"""The words between a nation, a validator and an engine: answers of a model, actions, and the state of an economy."""

from prism.models.action import Action, is_economic
from prism.models.answers import (
    RATE_PERCENT,
    Component,
    LLMReasoningChain,
    PolicyDecision,
    StateUpdateDecision,
    ValidationResult,
)
from prism.models.state import GlobalState, NationState, SimulationState

__all__ = [
    "RATE_PERCENT",
    "Action",
    "Component",
    "GlobalState",
    "LLMReasoningChain",
    "NationState",
    "PolicyDecision",
    "SimulationState",
    "StateUpdateDecision",
    "ValidationResult",
    "is_economic",
]
