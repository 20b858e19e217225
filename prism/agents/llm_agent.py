"""Agents of an economy: their interface, and one that asks a language model for its action."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod

from prism.clock import DEFAULT_CLOCK, SimulatedClock
from prism.llm.client import DecisionClient, Reasoner
from prism.models import Action, LLMReasoningChain, PolicyDecision, SimulationState
from prism.quoting import quoted

_log = logging.getLogger(__name__)


class Agent(ABC):
    """An agent that observes the economy and proposes an action. Its name is the key of its nation in a state."""

    def __init__(self, name: str) -> None:
        if not name.strip():
            raise ValueError(f"name: expected a text that is not blank, got {name!r}")
        self.name = name

    @abstractmethod
    async def decide_action(self, state: SimulationState) -> Action:
        """Return the action that the agent proposes, not yet validated."""


class LLMAgent(Agent):
    """An agent whose decisions come from a model. A subclass adds the domain: the prompt and the check of relevance."""

    def __init__(self, name: str, llm_client: DecisionClient, *, clock: SimulatedClock = DEFAULT_CLOCK) -> None:
        super().__init__(name)
        self._reasoner = Reasoner(llm_client, "agent", clock)

    async def decide_action(self, state: SimulationState) -> Action:
        """Return the action that the model proposes. Raises: as `propose`."""
        decision, chain = await self.propose(state)
        return Action.proposed(self.name, decision, chain)

    async def propose(self, state: SimulationState) -> tuple[PolicyDecision, LLMReasoningChain]:
        """Return the decision behind an action, and its reasoning: one call of the model. Raises as `decide_action`."""
        prompt = self._construct_prompt(state)
        decision, chain = await self._reasoner.ask(prompt, PolicyDecision, agent_name=self.name, turn=state.turn)
        # An irrelevant decision is returned: the validator decides whether an action counts, and to ask again until the
        # words fit a list would bias the proposals.
        if not self._validate_decision(decision):
            _log.warning(
                "irrelevant_decision agent=%s turn=%d action=%s", quoted(self.name), state.turn, quoted(decision.action)
            )
        return decision, chain

    @abstractmethod
    def _construct_prompt(self, state: SimulationState) -> str: ...

    @abstractmethod
    def _validate_decision(self, decision: PolicyDecision) -> bool: ...
