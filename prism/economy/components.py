"""The components of an economy: an agent for each nation, a validator and an engine. Here they ask a language model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol, runtime_checkable

from prism.agents.econ_llm_agent import EconLLMAgent
from prism.clock import SimulatedClock
from prism.config import Config
from prism.engines.econ_llm_engine import EconLLMEngine
from prism.llm.reasoning import DecisionClient
from prism.models import (
    Action,
    Component,
    GlobalState,
    LLMReasoningChain,
    PolicyDecision,
    SimulationState,
    StateUpdateDecision,
    ValidationResult,
)
from prism.validators.econ_llm_validator import EconLLMValidator


class Proposes(Protocol):
    """An agent, as a run needs it: an `LLMAgent` is one."""

    async def propose(self, state: SimulationState) -> tuple[PolicyDecision, LLMReasoningChain]:
        """Return the policy that the agent decides on, and the reasoning."""


class Validates(Protocol):
    """A validator, as a run needs it: an `LLMValidator` is one."""

    async def validate_action(self, action: Action, *, turn: int = 0) -> tuple[ValidationResult, LLMReasoningChain]:
        """Return the judgement on an action, and the reasoning."""


class Evaluates(Protocol):
    """An engine, as a run needs it: an `LLMEngine` is one."""

    async def evaluate(
        self, action: Action, global_state: GlobalState, *, turn: int | None = None
    ) -> tuple[StateUpdateDecision, LLMReasoningChain]:
        """Return the effect of an action under these indicators, and the reasoning."""


@runtime_checkable
class Updates(Protocol):
    """An engine that applies its answers itself: an `LLMEngine` does. The answers of others set the rate alone."""

    def updated(self, state: SimulationState, decision: StateUpdateDecision) -> SimulationState:
        """Return the state after an update. A run uses only the indicators of this state."""


class Components(NamedTuple):
    """The components of one economy. To replace an agent, the validator or the engine, use `_replace`.

    Args:
        agents: by the name of their nation.
        validator: judges whether an action is economic policy.
        engine: works out the effect of a valid action.
    """

    agents: Mapping[str, Proposes]
    validator: Validates
    engine: Evaluates


def model_components(config: Config, client: Callable[[Component], DecisionClient]) -> Components:
    """Return components that ask a language model.

    Args:
        client: returns the client for one component's questions.
    """
    clock = clock_of(config)
    asks = client("agent")
    return Components(
        agents={name: EconLLMAgent(name, asks, clock=clock) for name in config.economy.nations},
        validator=EconLLMValidator(client("validator"), clock=clock),
        engine=EconLLMEngine(config, llm_client=client("engine")),
    )


def clock_of(config: Config) -> SimulatedClock:
    """Return the clock that gives a run's reasoning its timestamps."""
    return SimulatedClock(config.simulation.epoch, config.simulation.tick_seconds)
