"""The domain: what PRISM asks of a kind of simulation, made from a configuration."""

from __future__ import annotations

from typing import Any

from junction.chart import CHART
from junction.light import Light, TrafficLight
from junction.oracle import Patience
from junction.settings import Settings
from junction.show import TrafficShow
from junction.world import Crossing
from prism.agents import Question
from prism.config import Config
from prism.llm.port import LanguageModel
from prism.statechart import Oracle, Statechart

SHOW = TrafficShow
"""The parts of a run that reports, tables, explanations and the page show."""


class TrafficDomain:
    """Some traffic lights, their chart and their crossing."""

    context_type: Any = int  # what a trigger carries: the number of waiting cars
    effect_type: Any = int  # what an update carries besides the state: its tick
    checkpoint_every_ticks = 10
    chart: Statechart[Light] = CHART

    def __init__(self, settings: Settings, seed: int) -> None:
        self.settings = settings
        self.size = settings.lights
        self.world = Crossing(settings, seed)

    def agent(self, agent_id: int) -> TrafficLight:
        """Return a light as the world knows it."""
        return TrafficLight(agent_id, self.world.lights[agent_id], tick=self.world.since[agent_id])

    def asker(self, question: Question[int]) -> TrafficLight:
        """Return the light that asks a question."""
        return TrafficLight(question.agent, Light(question.state), tick=question.tick)

    def oracle(self, model: LanguageModel | None = None) -> Oracle[Any]:
        """Return the oracle: without a model the embedded one, and here with a model, too."""
        return Patience(self.settings.patience)

    def in_words(self, rounds: int) -> str:
        """Return the first sentence about a run of so many rounds."""
        return f"In {rounds} rounds {self.world.passed:,} cars passed, and {sum(self.world.cars):,} still wait."


def build(config: Config, settings: Settings) -> TrafficDomain:
    """Return the domain of a configuration."""
    return TrafficDomain(settings, config.simulation.seed)
