"""Whole simulations of traffic lights, with scripted faults."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from actors.runtime.simulation import Simulation
from prism.agents import Update
from prism.config import Config, PopulationConfig, RunConfig, SimulationConfig
from prism.statechart import Oracle
from tests.domains import Crossing, TrafficDomain, TrafficLight, traffic_chart

Faults = Callable[[TrafficLight], bool]


class FaultError(Exception):
    """A scripted fault."""


def faulty(faults: Faults) -> Callable[[TrafficLight, Any], bool]:
    """Return a guard or action that raises for these lights and ticks."""

    def act(light: TrafficLight, context: Any) -> bool:
        if faults(light):
            raise FaultError(f"light {light.agent_id} in tick {light.tick}")
        return True

    return act


def config(ticks: int = 12, lookahead: int = 2, **run: float) -> Config:
    return Config(
        simulation=SimulationConfig(rounds=1, ticks_per_round=ticks),
        population=PopulationConfig(deliberation_minutes=float(lookahead)),
        run=msgspec.convert(run, RunConfig),
    )


class CrossingRun:
    """A simulation of some traffic lights, and the story of each."""

    def __init__(
        self, settings: Config | None = None, domain: TrafficDomain | None = None, oracle: Oracle[Any] | None = None
    ) -> None:
        self.domain = domain or TrafficDomain()
        self.world: Crossing = self.domain.world
        self.simulation = Simulation(settings or config(), self.domain, oracle)

    async def run(self) -> CrossingRun:
        await self.simulation.run()
        return self

    @property
    def digest(self) -> str:
        return self.simulation.engine.digest.hexdigest()

    def updates(self, agent: int) -> list[Update[int]]:
        return [update for update in self.world.updates if update.agent == agent]

    def story(self, agent: int) -> list[tuple[int, str, str]]:
        """Return `(tick, state, source)` after each of a light's turns."""
        return [(update.tick, str(update.to_state), update.source) for update in self.updates(agent)]


def with_faulty_action(faults: Faults, size: int = 3) -> TrafficDomain:
    return TrafficDomain(size, traffic_chart(action=faulty(faults)))
