"""An adviser of a nation that asks a language model."""

from __future__ import annotations

from typing import Final

from prism.agents.llm_agent import LLMAgent
from prism.models import PolicyDecision, SimulationState, is_economic
from prism.quoting import DATA, quoted

# First the text that is the same for all nations and turns, then the text that is the same for all nations: servers
# that cache the beginnings of prompts read both once.
FORM: Final = """Respond with JSON only:
{
  "action": "<specific policy action, on one line of at most 500 characters>",
  "reasoning": "<step-by-step explanation of why this action is appropriate, 10 to 2000 characters>",
  "confidence": <0.0 to 1.0>
}"""
"""The part of a prompt about the form of the answer."""
_RULES: Final = f"""You are an economic policy advisor for a nation.
Analyze the current economic state and propose ONE specific policy action.
Think step-by-step about the economic situation and the reasoning behind your recommendation.

{FORM}

{DATA}
"""
_QUESTIONS: Final = """Think step-by-step:
1. What is the most pressing economic issue?
2. What policy action would address this issue?
3. What are the expected effects?
"""


class EconLLMAgent(LLMAgent):
    def _construct_prompt(self, state: SimulationState) -> str:
        nation = state.agents.get(self.name)
        strength = "" if nation is None else f" Its economic strength is {round(nation.economic_strength, 2)}."
        return f"""{_RULES}
Current economic state:
{state.global_state.described()}

{_QUESTIONS}
You advise the nation {quoted(self.name)}.{strength}

Propose ONE specific economic policy action.
"""

    def _validate_decision(self, decision: PolicyDecision) -> bool:
        # The reasoning does not count: it can make any action sound economic.
        return is_economic(decision.action)
