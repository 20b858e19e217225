"""Validators: they judge whether an action belongs to the domain; one asks a language model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import msgspec

from prism.clock import DEFAULT_CLOCK, SimulatedClock
from prism.llm.client import DecisionClient, Reasoner
from prism.models import Action, LLMReasoningChain, ValidationResult
from prism.quoting import DATA, quoted


class Validator(ABC):
    """A validator marks actions as valid or not."""

    @abstractmethod
    async def validate_actions(self, actions: Sequence[Action], *, turn: int = 0) -> list[Action]: ...


class LLMValidator(Validator):
    def __init__(self, llm_client: DecisionClient, *, clock: SimulatedClock = DEFAULT_CLOCK) -> None:
        self._reasoner = Reasoner(llm_client, "validator", clock)

    async def validate_actions(self, actions: Sequence[Action], *, turn: int = 0) -> list[Action]:
        """Return all the actions in their order, each marked with its result; a failure marks none."""
        marked = []
        for action in actions:
            result, _ = await self.validate_action(action, turn=turn)
            marked.append(action.marked(result))
        return marked

    async def validate_action(self, action: Action, *, turn: int = 0) -> tuple[ValidationResult, LLMReasoningChain]:
        """Return the judgement on one action, and its reasoning: one call of the model.

        Raises:
            LLMFailureException: no usable answer, after a second attempt where one could help.
        """
        prompt = self._construct_validation_prompt(action)
        result, chain = await self._reasoner.ask(prompt, ValidationResult, agent_name=action.agent_name, turn=turn)
        return msgspec.structs.replace(result, action_evaluated=action.action_string), chain

    @abstractmethod
    def _construct_validation_prompt(self, action: Action) -> str: ...

    @abstractmethod
    def _get_domain_description(self) -> str: ...


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
