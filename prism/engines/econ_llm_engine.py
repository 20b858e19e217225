"""An engine that asks a language model for the interest rate."""

from __future__ import annotations

from typing import Final

from prism.clock import DEFAULT_CLOCK, SimulatedClock
from prism.config import Config
from prism.engines.llm_engine import LLMEngine
from prism.llm.client import DecisionClient
from prism.models import Action, GlobalState, SimulationState, StateUpdateDecision
from prism.quoting import DATA, quoted

_RULES: Final = f"""You are an economic simulation engine.
Given a validated policy action, determine the new interest rate based on economic theory.

Consider:
- Current economic indicators
- Policy action effects
- Monetary policy principles

Respond with JSON only:
{{
  "new_interest_rate": <percent, as a number>,
  "reasoning": "<step-by-step explanation of how you calculated the new rate, 10 to 2000 characters>",
  "confidence": <0.0 to 1.0>
}}

{DATA}
"""
_QUESTIONS: Final = """Think step-by-step:
1. How does this action affect monetary policy?
2. What interest rate adjustment is appropriate?
3. What is the new interest rate?
"""


class EconLLMEngine(LLMEngine):
    """An engine of the interest rate in the simulated time of a configuration; every other indicator stays as it is."""

    def __init__(
        self, config: Config | None = None, *, llm_client: DecisionClient, current_state: SimulationState | None = None
    ) -> None:
        clock = DEFAULT_CLOCK
        if config is not None:
            clock = SimulatedClock(config.simulation.epoch, config.simulation.tick_seconds)
        super().__init__(llm_client, current_state=current_state, clock=clock)

    def _construct_state_update_prompt(self, action: Action, current_state: GlobalState) -> str:
        reasons = ""
        if action.policy_decision is not None:
            reasons = f"\nAgent reasoning: {quoted(action.policy_decision.reasoning)}"
        return f"""{_RULES}
Current state:
{current_state.described()}
- Total Economic Value: {round(current_state.total_economic_value, 2)}

Validated action: {quoted(action.action_string)}{reasons}

{_QUESTIONS}
Calculate the new interest rate.
"""

    def _apply_state_update(self, decision: StateUpdateDecision, current_state: SimulationState) -> SimulationState:
        return current_state.updated(decision)
