"""Whole simulations of small economies, with scripted components."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import anyio
from msgspec.structs import replace

from actors.runtime.simulation import Simulation
from prism.config import Config, load_config
from prism.economy import Action, GlobalState, SimulationState
from prism.economy.domain import EconomyDomain
from prism.economy.embedded import embedded_components
from prism.economy.nation import Nation
from prism.economy.oracle import Components
from prism.economy.world import EconomyWorld
from prism.models import LLMReasoningChain, PolicyDecision, StateUpdateDecision, ValidationResult
from prism.rng import uniform

START = GlobalState(interest_rate=4.0, inflation=5.0, unemployment=6.0)
THREE = """
simulation: {domain: economy, rounds: 4, ticks_per_round: 1, seed: 3, tick_seconds: 7889400}
economy: {nations: [Ada, Bo, Cy], strengths: [3, 2, 1], macro: {gap_shock: 0.8, inflation_shock: 1.0}}
"""
"""Three nations for four quarters."""

Chain = LLMReasoningChain
Policies = Mapping[tuple[str, int], str]
"""`{(nation, turn): its proposal}`, in place of the embedded adviser's."""


def config(*overrides: str) -> Config:
    """Return the configuration of `THREE`, with these settings over its own."""
    return load_config(THREE, "three.yaml", environment={}, overrides=overrides)


class SlowComponents:
    """Components that take a random virtual time for each answer, and keep the questions.

    Args:
        components: the components that answer.
        policies: proposals in place of theirs.
        fails: `(component, nation, turn)` -> whether there is no answer.
        pace: a factor on the time of each answer; from 2 on, every answer takes a second attempt.
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

    async def _wait(self, component: str, name: str, turn: int, rate: float) -> Callable[[Chain], Chain]:
        """Wait for the time of an answer, and return a function that writes that time into a chain."""
        self.asked.append((component, name, turn, rate))
        thought_s = self._pace * uniform(len(name), ord(name[0]), turn, len(component))
        await anyio.sleep(thought_s)
        if self._fails(component, name, turn):
            raise TimeoutError
        return partial(replace, duration_ms=round(1000 * thought_s), retry_count=int(self._pace >= 2.0))

    async def propose_for(self, name: str, state: SimulationState) -> tuple[PolicyDecision, LLMReasoningChain]:
        timed = await self._wait("agent", name, state.turn, state.global_state.interest_rate)
        decision, chain = await self._components.agents[name].propose(state)
        text = self._policies.get((name, state.turn), decision.action)
        return replace(decision, action=text), timed(chain)

    async def validate_action(self, action: Action, *, turn: int = 0) -> tuple[ValidationResult, LLMReasoningChain]:
        timed = await self._wait("validator", action.agent_name, turn, 0.0)
        result, chain = await self._components.validator.validate_action(action, turn=turn)
        return result, timed(chain)

    async def evaluate(
        self, action: Action, global_state: GlobalState, *, turn: int | None = None
    ) -> tuple[StateUpdateDecision, LLMReasoningChain]:
        timed = await self._wait("engine", action.agent_name, turn or 0, global_state.interest_rate)
        update, chain = await self._components.engine.evaluate(action, global_state, turn=turn)
        return update, timed(chain)


class _SlowAgent:
    """The agent of one nation in slow components."""

    def __init__(self, name: str, slow: SlowComponents) -> None:
        self._name = name
        self._mind = slow

    async def propose(self, state: SimulationState) -> tuple[PolicyDecision, LLMReasoningChain]:
        return await self._mind.propose_for(self._name, state)


class Economy(EconomyDomain):
    """An economy whose components are slow, and whose nations may crash.

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
        self.slow = SlowComponents(embedded_components(chosen), policies, fails, pace)
        self._crashes = crashes

    def embedded_components(self) -> Components:
        return Components({name: _SlowAgent(name, self.slow) for name in self.world.names}, self.slow, self.slow)

    def agent(self, agent_id: int) -> Nation:
        nation = super().agent(agent_id)
        return CrashingNation(nation, self._crashes)


class CrashingNation(Nation):
    """A nation whose code raises when told to."""

    def __init__(self, nation: Nation, crashes: Callable[[int, str, int], bool]) -> None:
        super().__init__(nation.agent_id, nation.name, nation.state, tick=nation.tick)
        self._crashes = crashes

    def answered(self, trigger: str, content: str) -> None:
        if self._crashes(self.agent_id, trigger, self.tick):
            raise RuntimeError(f"{self.name} has a bug")
        super().answered(trigger, content)


class EconomyRun:
    """A simulation of an economy, and its results. Settings are over those of `THREE`; the rest as for `Economy`."""

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
        """Return `(nation, interest rate it saw)` of a component's questions in a turn, in their order."""
        return [(name, rate) for part, name, when, rate in self.domain.slow.asked if (part, when) == (component, turn)]
