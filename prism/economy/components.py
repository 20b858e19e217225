"""Who thinks in an economy: an agent for each nation, a validator and an engine, played by a model or by formulas."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

import msgspec

from prism.agents.econ_llm_agent import EconLLMAgent
from prism.clock import SimulatedClock
from prism.config import Config
from prism.economy.action import Action
from prism.economy.embedded import EmbeddedAdviser, EmbeddedEngine, EmbeddedValidator
from prism.economy.state import GlobalState, SimulationState
from prism.engines.econ_llm_engine import EconLLMEngine
from prism.llm.reasoning import DecisionClient
from prism.models import Component, LLMReasoningChain, PolicyDecision, StateUpdateDecision, ValidationResult
from prism.validators.econ_llm_validator import EconLLMValidator

EMBEDDED = "embedded"
"""Who reasons where no model does."""


class Proposes(Protocol):
    """An agent, as a run needs it: an `LLMAgent` is one."""

    async def propose(self, state: SimulationState) -> tuple[PolicyDecision, LLMReasoningChain]:
        """The policy it decides on, and how it came to."""


class Validates(Protocol):
    """A validator, as a run needs it: an `LLMValidator` is one."""

    async def validate_action(self, action: Action, *, turn: int = 0) -> tuple[ValidationResult, LLMReasoningChain]:
        """The judgement on an action, and how it came about."""


class Evaluates(Protocol):
    """An engine, as a run needs it: an `LLMEngine` is one."""

    async def evaluate(
        self, action: Action, global_state: GlobalState, *, turn: int | None = None
    ) -> tuple[StateUpdateDecision, LLMReasoningChain]:
        """What an action does under these indicators, and how that came about."""


class Council(NamedTuple):
    """All who think. Another agent, validator or engine takes one's place with `_replace`.

    Args:
        agents: by the name of their nation.
    """

    agents: Mapping[str, Proposes]
    validator: Validates
    engine: Evaluates


def model_council(config: Config, client: Callable[[Component], DecisionClient]) -> Council:
    """Everybody played by a language model.

    Args:
        client: the client for one component's questions.
    """
    clock = clock_of(config)
    asks = client("agent")
    return Council(
        agents={name: EconLLMAgent(name, asks, clock=clock) for name in config.economy.nations},
        validator=EconLLMValidator(client("validator"), clock=clock),
        engine=EconLLMEngine(config, llm_client=client("engine")),
    )


def embedded_council(config: Config) -> Council:
    """Everybody played by the formulas of `prism.economy.embedded`."""
    clock = clock_of(config)
    adviser = EmbeddedAdviser(config.economy, config.simulation.seed)
    return Council(
        agents={name: _Adviser(name, adviser, clock) for name in config.economy.nations},
        validator=_Validator(EmbeddedValidator(), clock),
        engine=_Engine(EmbeddedEngine(config.economy), clock),
    )


def clock_of(config: Config) -> SimulatedClock:
    """The clock that a run's reasoning bears the time of."""
    return SimulatedClock(config.simulation.epoch, config.simulation.tick_seconds)


class _Adviser:
    """The embedded adviser in the service of one nation."""

    def __init__(self, name: str, adviser: EmbeddedAdviser, clock: SimulatedClock) -> None:
        self._name = name
        self._adviser = adviser
        self._clock = clock

    async def propose(self, state: SimulationState) -> tuple[PolicyDecision, LLMReasoningChain]:
        decision = self._adviser.propose(self._name, state.global_state)
        return decision, _chain("agent", self._name, decision, self._clock, state.turn)


class _Validator:
    """The embedded validator."""

    def __init__(self, validator: EmbeddedValidator, clock: SimulatedClock) -> None:
        self._validator = validator
        self._clock = clock

    async def validate_action(self, action: Action, *, turn: int = 0) -> tuple[ValidationResult, LLMReasoningChain]:
        result = self._validator.validate(action)
        return result, _chain("validator", action.agent_name, result, self._clock, turn)


class _Engine:
    """The embedded engine."""

    def __init__(self, engine: EmbeddedEngine, clock: SimulatedClock) -> None:
        self._engine = engine
        self._clock = clock

    async def evaluate(
        self, action: Action, global_state: GlobalState, *, turn: int | None = None
    ) -> tuple[StateUpdateDecision, LLMReasoningChain]:
        decision = self._engine.evaluate(action, global_state)
        return decision, _chain("engine", action.agent_name, decision, self._clock, turn or 0)


def _chain(
    component: Component,
    agent_name: str,
    decision: PolicyDecision | ValidationResult | StateUpdateDecision,
    clock: SimulatedClock,
    turn: int,
) -> LLMReasoningChain:
    """The record of a decision that nobody was asked for: no prompt, and no time that anybody measured."""
    return LLMReasoningChain(
        component=component,
        agent_name=agent_name,
        prompt="",
        response=msgspec.json.encode(decision).decode(),
        reasoning=decision.reasoning,
        timestamp=clock.at(turn),
        duration_ms=0,
        model=EMBEDDED,
        retry_count=0,
    )
