"""The economic domain: nations that set one interest rate together, their chart, their world and their oracle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from prism.agents.turn import Question
from prism.config import Config
from prism.domain import HasFutures
from prism.economy.embedded import embedded_components
from prism.economy.macro import Lags
from prism.economy.nation import ECONOMY_CHART, Nation, PolicyState, PolicyStep, Situation, clock_of
from prism.economy.oracle import Components, EconomyModelOracle, EconomyOracle, model_components
from prism.economy.world import EconomyWorld
from prism.errors import ConfigError
from prism.llm.client import DecisionClient
from prism.llm.port import LanguageModel
from prism.models import Component, GlobalState
from prism.statechart import Oracle, Statechart


class EconomyDomain(HasFutures):
    """Nations in one economy. A subclass can replace the components: agents, validator and engine.

    Args:
        start: the indicators before the first quarter.
        chart: the nations' chart; the default one, or another over the same states and triggers.
        lags: the past of the first quarter; None for an economy that was constant at `start` for a year.
        understood: how the file of figures was understood, in lines.

    Raises:
        ConfigError: population.deliberation_minutes is not 0. A user's own domain that returns an economy has the usual
            default, which is above 0.
    """

    context_type: Any = Situation
    effect_type: Any = PolicyStep
    checkpoint_every_ticks = 1

    def __init__(
        self,
        config: Config,
        start: GlobalState,
        chart: Statechart[PolicyState] = ECONOMY_CHART,
        lags: Lags | None = None,
        understood: tuple[str, ...] = (),
    ) -> None:
        if config.deliberation_ticks:
            problem = f"nations decide in their quarter: expected 0, got {config.population.deliberation_minutes:g}"
            raise ConfigError("configuration", problem, key="population.deliberation_minutes")
        self.config = config
        self.understood = understood
        self.chart = chart
        self.world = EconomyWorld(config, start, lags)
        self._beginning = start, lags
        self._clock = clock_of(config)
        depth = config.statechart.max_history_depth
        self._history_depth = 50 if depth is None else depth

    @property
    def size(self) -> int:
        return len(self.config.economy.nations)

    def anew(self, draws: int) -> EconomyDomain:
        """Return these nations before the first quarter."""
        start, lags = self._beginning
        fresh = type(self)(self.config, start, self.chart, lags, self.understood)
        fresh.world.draws = draws
        return fresh

    def withhold(self, post: int) -> None:
        """Do nothing: nations publish no posts."""

    def agent(self, agent_id: int) -> Nation:
        """Return the nation as its last applied update left it. Its history starts empty."""
        return self._nation(agent_id, self.world.stages[agent_id], self.world.entered[agent_id])

    def asker(self, question: Question[Situation]) -> Nation:
        return self._nation(question.agent, PolicyState(question.state), question.tick)

    def oracle(self, model: LanguageModel | None = None) -> Oracle[PolicyState]:
        """Return the oracle whose components ask this model; without a model, the one with the embedded components."""
        if model is None:
            return EconomyOracle(self.embedded_components())
        return EconomyModelOracle(model, self.config.llm, self.model_components)

    def model_components(self, client: Callable[[Component], DecisionClient]) -> Components:
        return model_components(self.config, client)

    def embedded_components(self) -> Components:
        """Return the components of a run without a model."""
        return embedded_components(self.config)

    def _nation(self, agent_id: int, state: PolicyState, tick: int) -> Nation:
        return Nation(
            agent_id,
            self.config.economy.nations[agent_id],
            state,
            tick=tick,
            max_history_depth=self._history_depth,
            clock=self._clock,
        )
