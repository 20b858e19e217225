"""Validators: the interface, and one that asks a language model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import msgspec

from prism.clock import DEFAULT_CLOCK, SimulatedClock
from prism.llm.client import DecisionClient, Reasoner
from prism.models import Action, LLMReasoningChain, ValidationResult


class Validator(ABC):
    """A validator marks actions as valid or not."""

    @abstractmethod
    async def validate_actions(self, actions: Sequence[Action], *, turn: int = 0) -> list[Action]: ...


class LLMValidator(Validator):
    """A validator whose judgements come from a model. A subclass adds the domain."""

    def __init__(self, llm_client: DecisionClient, *, clock: SimulatedClock = DEFAULT_CLOCK) -> None:
        self._reasoner = Reasoner(llm_client, "validator", clock)

    async def validate_actions(self, actions: Sequence[Action], *, turn: int = 0) -> list[Action]:
        """Return all the actions in their order, each marked with its result.

        Raises:
            LLMFailureException: no usable answer to one of them; then none is marked.
        """
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
