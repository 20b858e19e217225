"""A validator of economic actions that asks a language model."""

from __future__ import annotations

from prism.models import Action
from prism.quoting import DATA, quoted
from prism.validators.llm_validator import LLMValidator


class EconLLMValidator(LLMValidator):
    """A validator of economic policy. It is permissive: an action that is economic in part is valid."""

    def _construct_validation_prompt(self, action: Action) -> str:
        return f"""You are a validator in an economic simulation.
Decide whether a proposed action belongs to the economic domain: {self._get_domain_description()}.

Be permissive. An action that is economic only in part, or has an economic effect, is valid; when in doubt, it is valid.
It is invalid only if nothing in it is economic. Whether it is wise is not the question.

Respond with JSON only:
{{
  "is_valid": <true or false>,
  "reasoning": "<step-by-step explanation of the judgement, 10 to 2000 characters>",
  "confidence": <0.0 to 1.0>
}}

{DATA}

Proposed action: {quoted(action.action_string)}

Think step-by-step:
1. What does this action do?
2. Which part or effect of it is economic?
3. Does it belong to the economic domain?

Judge the action.
"""

    def _get_domain_description(self) -> str:
        return (
            "interest rates and monetary policy, taxes and public spending, trade and sanctions, regulation of markets "
            "and banks, employment and wages, prices, investment, industry and production"
        )
