"""The oracle of an economy: it passes each question to the component that it is for.

There is no fallback for a missing answer, because no nation has a policy by default. So `falls_back` is false, and a
failure ends the run at its last whole quarter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import msgspec

from prism.config.model import LLMConfig
from prism.economy.components import Components
from prism.economy.nation import Applied, Nation, PolicyState, PolicyStep, Proposed, Reviewed, Situation
from prism.errors import OracleError
from prism.llm.client import LLMClient
from prism.llm.oracle import ModelOracle
from prism.llm.port import LanguageModel
from prism.llm.reasoning import DecisionClient, asked_by
from prism.models import Component
from prism.statechart import Answer, Oracle

Assemble = Callable[[Callable[[Component], DecisionClient]], Components]
"""A function that returns components, from one that returns each component's client."""

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
        """Return the next state of the proposal, and the reasons.

        Raises:
            OracleError: the question is not about a proposal. Errors of the components pass through.
        """
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
            after = engine.updated(state, update) if hasattr(engine, "updated") else state.updated(update)
            is_usual = after.global_state == state.updated(update).global_state
            indicators = None if is_usual else after.global_state
            outcome = Applied(decision=update, chain=chain, indicators=indicators)
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
