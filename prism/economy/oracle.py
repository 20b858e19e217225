"""The oracle of an economy: it passes each question to the component that it is for, which may ask a language model.

There is no fallback for a missing answer, because no nation has a policy by default. So `falls_back` is false, and a
failure ends the run at its last whole quarter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import msgspec

from prism.agents.econ_llm_agent import FORM, EconLLMAgent
from prism.clock import DEFAULT_CLOCK, SimulatedClock
from prism.config import Config, LLMConfig
from prism.economy.nation import Applied, Nation, PolicyState, PolicyStep, Proposed, Reviewed, Situation, clock_of
from prism.engines.econ_llm_engine import EconLLMEngine
from prism.errors import OracleError
from prism.llm.client import DecisionClient, LLMClient, asked_by
from prism.llm.oracle import ModelOracle
from prism.llm.port import LanguageModel
from prism.llm.prompt import SHIPPED, Template, template_of
from prism.models import Component, GlobalState, SimulationState
from prism.quoting import quoted
from prism.statechart import Answer, Oracle
from prism.validators import EconLLMValidator


class Components(NamedTuple):
    """The components of one economy. To replace an agent, the validator or the engine, use `_replace`."""

    agents: Mapping[str, Any]  # by the name of their nation; each has `propose`, as an `LLMAgent`
    validator: Any  # judges whether an action is economic policy, by `validate_action`, as an `LLMValidator`
    # works out the effect of a valid action, by `evaluate`, as an `LLMEngine`. If it also has `updated`, a run uses the
    # indicators of the state that this returns; without it, an answer sets the rate alone.
    engine: Any


Assemble = Callable[[Callable[[Component], DecisionClient]], Components]
"""A function that returns components, from one that returns each component's client."""


def model_components(config: Config, client: Callable[[Component], DecisionClient]) -> Components:
    """Return components that ask a language model, each with the client for its questions."""
    clock, asks = clock_of(config), client("agent")
    make: Callable[..., EconLLMAgent] = EconLLMAgent
    if config.llm.prompt not in SHIPPED:
        make = partial(PromptedAgent, template=template_of(config.llm.prompt))
    return Components(
        agents={name: make(name, asks, clock=clock) for name in config.economy.nations},
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


_ASKED: Final[dict[str, Component]] = {"turn_begins": "agent", "review": "validator", "apply": "engine"}
"""`{trigger: the component that is asked}`."""


class ComponentOracle(Oracle[PolicyState]):
    """An oracle that asks its components."""

    falls_back = False
    _components: Components

    async def ask(
        self,
        agent: Nation,
        current_state: PolicyState,
        trigger: str,
        options: Sequence[PolicyState],
        context: Any = None,
    ) -> PolicyState:
        """Return the next state of the proposal, without the reasons. It raises as `answer`."""
        return PolicyState((await self.answer(agent, current_state, trigger, options, context)).state)

    async def answer(
        self,
        agent: Nation,
        current_state: PolicyState,  # noqa: ARG002  # the interface's
        trigger: str,
        options: Sequence[PolicyState],
        context: Situation | None = None,
    ) -> Answer:
        """Return the next state of the proposal, and the reasons; an OracleError if the question is about none."""
        name, found = agent.name, options[0]
        if context is None:
            raise OracleError(f"{trigger!r} of {name!r} says nothing of the situation")
        state, action = context.state, context.action
        if trigger != "turn_begins" and action is None:
            raise OracleError(f"{name!r} has no proposal, so there is nothing to {trigger}")
        agents, validator, engine = self._components
        if trigger == "turn_begins":
            policy, chain = await agents[name].propose(state)
            outcome: PolicyStep = Proposed(decision=policy, chain=chain)
        elif trigger == "review":
            verdict, chain = await validator.validate_action(action, turn=state.turn)
            found = PolicyState.ACCEPTED if verdict.is_valid else PolicyState.REJECTED
            outcome = Reviewed(decision=verdict, chain=chain)
        else:
            update, chain = await engine.evaluate(action, state.global_state, turn=state.turn)
            usual = state.updated(update).global_state
            after = engine.updated(state, update).global_state if hasattr(engine, "updated") else usual
            outcome = Applied(decision=update, chain=chain, indicators=None if after == usual else after)
        return Answer(found, msgspec.json.encode(outcome).decode())


class EconomyOracle(ComponentOracle):
    """An oracle that computes its answers: with the embedded components, or your own that ask no server."""

    waits = False
    description = "embedded Taylor rule, validator and engine, no server; see docs/economy.md"

    def __init__(self, components: Components) -> None:
        self._components = components


class EconomyModelOracle(ComponentOracle, ModelOracle[PolicyState]):
    """An oracle whose components ask a language model."""

    def __init__(self, model: LanguageModel, config: LLMConfig, assemble: Assemble) -> None:
        super().__init__(model)
        make = partial(LLMClient, model, seed=config.seed)
        # The oracle actor asks again, and counts each call. A tape may have first attempts that failed, from a client
        # that asked twice; the wait before the second one spared a server, and a replay has none.
        make = partial(make, sleep=_without_wait) if self.replays else partial(make, retries=False)
        self._components = assemble(lambda component: make(component=component))

    def asker_name(self, agent: Nation, trigger: str, context: Situation | None) -> str:
        """Return the name of the component that the question goes to."""
        return "" if context is None else asked_by(_ASKED[trigger], agent.name, context.state.turn)


async def _without_wait(_: float) -> None:
    """Return without a wait."""
