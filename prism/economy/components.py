"""The components of an economy: an agent for each nation, a validator and an engine. Here they ask a language model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from prism.agents.econ_llm_agent import FORM, EconLLMAgent
from prism.clock import DEFAULT_CLOCK, SimulatedClock
from prism.config import Config
from prism.engines.econ_llm_engine import EconLLMEngine
from prism.llm.prompt import SHIPPED, Template, template_of
from prism.llm.reasoning import DecisionClient
from prism.models import Component, GlobalState, SimulationState
from prism.quoting import quoted
from prism.validators.econ_llm_validator import EconLLMValidator


class Components(NamedTuple):
    """The components of one economy. To replace an agent, the validator or the engine, use `_replace`.

    Args:
        agents: by the name of their nation; each has `propose`, as an `LLMAgent`.
        validator: judges whether an action is economic policy, by `validate_action`, as an `LLMValidator`.
        engine: works out the effect of a valid action, by `evaluate`, as an `LLMEngine`. If it also has `updated`, a
            run uses the indicators of the state that this returns; without it, an answer sets the rate alone.
    """

    agents: Mapping[str, Any]
    validator: Any
    engine: Any


def model_components(config: Config, client: Callable[[Component], DecisionClient]) -> Components:
    """Return components that ask a language model.

    Args:
        client: returns the client for one component's questions.
    """
    clock = clock_of(config)
    asks = client("agent")
    agents: dict[str, EconLLMAgent] = {name: EconLLMAgent(name, asks, clock=clock) for name in config.economy.nations}
    if config.llm.prompt not in SHIPPED:
        template = template_of(config.llm.prompt)
        agents = {name: PromptedAgent(name, asks, clock=clock, template=template) for name in agents}
    return Components(
        agents=agents,
        validator=EconLLMValidator(client("validator"), clock=clock),
        engine=EconLLMEngine(config, llm_client=client("engine")),
    )


class PromptedAgent(EconLLMAgent):
    """An adviser whose prompt is a template of the user's, with the placeholders of `PLACEHOLDERS`."""

    def __init__(
        self, name: str, llm_client: DecisionClient, *, clock: SimulatedClock = DEFAULT_CLOCK, template: Template
    ) -> None:
        super().__init__(name, llm_client, clock=clock)
        self._template = template

    def _construct_prompt(self, state: SimulationState) -> str:
        nation, figures = state.agents.get(self.name), state.global_state
        values = {"name": quoted(self.name), "seen": figures.described(), "answer": FORM, "turn": str(state.turn)}
        values |= {f"seen.{name}": f"{round(getattr(figures, name), 2)}" for name in GlobalState.__struct_fields__}
        values["seen.economic_strength"] = "" if nation is None else f"{round(nation.economic_strength, 2)}"
        return "\n\n".join(message.content for message in self._template.fill(values.__getitem__))


PLACEHOLDERS: Final = (
    *("name", "seen", "answer", "turn", "seen.economic_strength"),
    *(f"seen.{name}" for name in GlobalState.__struct_fields__),
)
"""The placeholders of an economy's template."""


def clock_of(config: Config) -> SimulatedClock:
    """Return the clock that gives a run's reasoning its timestamps."""
    return SimulatedClock(config.simulation.epoch, config.simulation.tick_seconds)
