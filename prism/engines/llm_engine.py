"""Engines of an economy: the interface, and one that asks a language model."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Sequence

import msgspec

from prism.clock import DEFAULT_CLOCK, SimulatedClock
from prism.llm.client import DecisionClient, Reasoner
from prism.models import Action, GlobalState, LLMReasoningChain, SimulationState, StateUpdateDecision

_log = logging.getLogger(__name__)


class Engine(ABC):
    """An engine that turns actions into the next state. The caller sets the state that each turn starts from.

    Without one, it is an economy at rest, without nations.
    """

    def __init__(self, current_state: SimulationState | None = None) -> None:
        self.current_state = current_state or SimulationState(turn=0, agents={}, global_state=GlobalState())

    @abstractmethod
    async def run_turn(self, validated_actions: Sequence[Action]) -> SimulationState:
        """Return the state after `current_state`. The caller stores it, so a turn that fails changes nothing."""


class LLMEngine(Engine):
    """An engine whose updates come from a model. A subclass adds the domain: the prompt and the effect of an update."""

    def __init__(
        self,
        llm_client: DecisionClient,
        *,
        current_state: SimulationState | None = None,
        clock: SimulatedClock = DEFAULT_CLOCK,
    ) -> None:
        super().__init__(current_state)
        self._reasoner = Reasoner(llm_client, "engine", clock)

    async def run_turn(self, validated_actions: Sequence[Action]) -> SimulationState:
        """Return the state one turn later: the valid actions are applied in order, each to the result of the last one.

        An action that is not validated is skipped with a log line at INFO. The new state holds this turn's chains of
        reasoning; those of earlier turns are in the states before it.

        Raises:
            LLMFailureException: no usable answer for an action; `current_state` does not change.
        """
        state = self.current_state
        chains: list[LLMReasoningChain] = []
        for action in validated_actions:
            if not action.validated:
                _log.info("SKIPPED Agent [%s] due to unvalidated Action", " ".join(action.agent_name.splitlines()))
                continue
            decision, chain = await self.evaluate(action, state.global_state)
            state = self.updated(state, decision)
            chains.append(chain)
        return msgspec.structs.replace(state, turn=self.current_state.turn + 1, reasoning_chains=tuple(chains))

    async def evaluate(
        self, action: Action, global_state: GlobalState, *, turn: int | None = None
    ) -> tuple[StateUpdateDecision, LLMReasoningChain]:
        """Return the effect of one action, and its reasoning: one call of the model, by default in the state's turn.

        Raises:
            LLMFailureException: no usable answer, after a second attempt where one could help.
        """
        prompt = self._construct_state_update_prompt(action, global_state)
        decision, chain = await self._reasoner.ask(
            prompt,
            StateUpdateDecision,
            agent_name=action.agent_name,
            turn=self.current_state.turn if turn is None else turn,
        )
        return msgspec.structs.replace(decision, action_applied=action.action_string), chain

    def updated(self, state: SimulationState, decision: StateUpdateDecision) -> SimulationState:
        """Return the state after an update, as the domain applies it. `run_turn` calls this, and so does a run."""
        return self._apply_state_update(decision, state)

    @abstractmethod
    def _construct_state_update_prompt(self, action: Action, current_state: GlobalState) -> str: ...

    @abstractmethod
    def _apply_state_update(self, decision: StateUpdateDecision, current_state: SimulationState) -> SimulationState: ...
