"""Whole simulations of small economies, with a components to order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import anyio
from msgspec.structs import replace

from actors.runtime.simulation import Simulation
from prism.config import Config, load_config
from prism.economy import Action, GlobalState, SimulationState
from prism.economy.components import Components
from prism.economy.domain import EconomyDomain
from prism.economy.embedded import embedded_components
from prism.economy.nation import Nation
from prism.economy.world import EconomyWorld
from prism.models import LLMReasoningChain, PolicyDecision, StateUpdateDecision, ValidationResult
from prism.rng import uniform

START = GlobalState(interest_rate=4.0, inflation=5.0, unemployment=6.0)
THREE = """
simulation: {domain: economy, rounds: 4, ticks_per_round: 1, seed: 3, tick_seconds: 7889400}
economy: {nations: [Ada, Bo, Cy], strengths: [3, 2, 1], macro: {gap_shock: 0.8, inflation_shock: 1.0}}
oracle: {lookahead_ticks: 0}
"""
"""Three nations for four quarters."""

Chain = LLMReasoningChain
Policies = Mapping[tuple[str, int], str]
"""`{(nation, turn): what it proposes}`, in place of what it would."""


def config(*overrides: str) -> Config:
    """The configuration of `THREE`, with these settings over its own."""
    return load_config(THREE, "three.yaml", environment={}, overrides=overrides)


class Slowly:
    """A components that thinks for a random virtual time about each question, and keeps what it was asked.

    Args:
        components: who knows.
        policies: proposals to order.
        fails: `(component, nation, turn)` -> whether there is no answer.
        pace: how many times as long everybody thinks; at 2 and more, every answer takes a second attempt.
    """

    def __init__(
        self,
        components: Components,
        policies: Policies | None = None,
        fails: Callable[[str, str, int], bool] = lambda *_: False,
        pace: float = 1.0,
    ) -> None:
        self._components = components
        self._policies = policies or {}
        self._fails = fails
        self._pace = pace
        self.asked: list[tuple[str, str, int, float]] = []
        """`(component, nation, turn, interest rate seen)`, in the order of the questions."""

    async def _think(self, component: str, name: str, turn: int, rate: float) -> Callable[[Chain], Chain]:
        """Think, and return what writes down how long that took."""
        self.asked.append((component, name, turn, rate))
        thought_s = self._pace * uniform(len(name), ord(name[0]), turn, len(component))
        await anyio.sleep(thought_s)
        if self._fails(component, name, turn):
            raise TimeoutError
        return partial(replace, duration_ms=round(1000 * thought_s), retry_count=int(self._pace >= 2.0))

    async def propose_for(self, name: str, state: SimulationState) -> tuple[PolicyDecision, LLMReasoningChain]:
        timed = await self._think("agent", name, state.turn, state.global_state.interest_rate)
        decision, chain = await self._components.agents[name].propose(state)
        text = self._policies.get((name, state.turn), decision.action)
        return replace(decision, action=text), timed(chain)

    async def validate_action(self, action: Action, *, turn: int = 0) -> tuple[ValidationResult, LLMReasoningChain]:
        timed = await self._think("validator", action.agent_name, turn, 0.0)
        result, chain = await self._components.validator.validate_action(action, turn=turn)
        return result, timed(chain)

    async def evaluate(
        self, action: Action, global_state: GlobalState, *, turn: int | None = None
    ) -> tuple[StateUpdateDecision, LLMReasoningChain]:
        timed = await self._think("engine", action.agent_name, turn or 0, global_state.interest_rate)
        update, chain = await self._components.engine.evaluate(action, global_state, turn=turn)
        return update, timed(chain)


class _Member:
    """One nation's agent among those that think slowly."""

    def __init__(self, name: str, mind: Slowly) -> None:
        self._name = name
        self._mind = mind

    async def propose(self, state: SimulationState) -> tuple[PolicyDecision, LLMReasoningChain]:
        return await self._mind.propose_for(self._name, state)


class Economy(EconomyDomain):
    """An economy whose components thinks slowly, and whose nations may crash.

    Args:
        crashes: `(nation's number, trigger, turn)` -> whether its code raises.
    """

    def __init__(
        self,
        chosen: Config,
        policies: Policies | None = None,
        fails: Callable[[str, str, int], bool] = lambda *_: False,
        crashes: Callable[[int, str, int], bool] = lambda *_: False,
        pace: float = 1.0,
    ) -> None:
        super().__init__(chosen, START)
        self.mind = Slowly(embedded_components(chosen), policies, fails, pace)
        self._crashes = crashes

    def embedded_components(self) -> Components:
        return Components({name: _Member(name, self.mind) for name in self.world.names}, self.mind, self.mind)

    def agent(self, agent_id: int) -> Nation:
        nation = super().agent(agent_id)
        return Clumsy(nation, self._crashes)


class Clumsy(Nation):
    """A nation whose code raises when told to."""

    def __init__(self, nation: Nation, crashes: Callable[[int, str, int], bool]) -> None:
        super().__init__(nation.agent_id, nation.name, nation.state, tick=nation.tick)
        self._crashes = crashes

    def answered(self, trigger: str, content: str) -> None:
        if self._crashes(self.agent_id, trigger, self.tick):
            raise RuntimeError(f"{self.name} has a bug")
        super().answered(trigger, content)


class EconomyRun:
    """A simulation of an economy, and what became of it. Settings over those of `THREE`, the rest as for `Economy`."""

    def __init__(
        self,
        *overrides: str,
        policies: Policies | None = None,
        fails: Callable[[str, str, int], bool] = lambda *_: False,
        crashes: Callable[[int, str, int], bool] = lambda *_: False,
        pace: float = 1.0,
    ) -> None:
        self.config = config(*overrides)
        self.domain = Economy(self.config, policies, fails, crashes, pace)
        self.world: EconomyWorld = self.domain.world
        self.simulation = Simulation(self.config, self.domain)

    async def run(self) -> EconomyRun:
        await self.simulation.run()
        return self

    @property
    def digest(self) -> str:
        return self.simulation.engine.digest.hexdigest()

    def asked(self, component: str, turn: int) -> list[tuple[str, float]]:
        """`(nation, interest rate it saw)` of a component's questions in a turn, in their order."""
        return [(name, rate) for part, name, when, rate in self.domain.mind.asked if (part, when) == (component, turn)]
