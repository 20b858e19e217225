"""The configuration of a whole run: its sections, checked together."""

from __future__ import annotations

from typing import Any

from prism.clock import whole_ticks
from prism.config.checks import find_conflicts
from prism.config.domain_settings import DOMAIN, plain_settings
from prism.config.interventions import InterventionConfig
from prism.config.model import (
    EconomyConfig,
    FeedConfig,
    LLMConfig,
    MetricsConfig,
    OracleConfig,
    PopulationConfig,
    RunConfig,
    SimulationConfig,
    StatechartConfig,
)
from prism.config.section import Section, setting
from prism.errors import together


class Config(Section):
    """A whole run. `Config()` is the default; a section may be given as a mapping, and every value is checked.

    A file is read by `actors.read_config(path)`, and a text by `prism.load_config(text)`.

    Raises:
        SettingError: a value cannot be held, or settings cannot hold together.
    """

    simulation: SimulationConfig = SimulationConfig()
    population: PopulationConfig = PopulationConfig()
    feed: FeedConfig = FeedConfig()
    statechart: StatechartConfig = StatechartConfig()
    oracle: OracleConfig = OracleConfig()
    llm: LLMConfig = LLMConfig()
    economy: EconomyConfig = EconomyConfig()
    domain: dict[str, Any] = setting({}, "the settings of a domain of your own, as the domain declares them")
    interventions: tuple[InterventionConfig, ...] = setting(
        (), "what is done to the run while it goes on: docs/behaviour.md"
    )
    run: RunConfig = RunConfig()
    metrics: MetricsConfig = MetricsConfig()

    def __post_init__(self) -> None:
        super().__post_init__()
        if conflicts := find_conflicts(self):
            raise together(conflicts)

    @property
    def deliberates(self) -> bool:
        """False for an economy, which settles a quarter in its own tick."""
        return self.simulation.domain != "economy"

    @property
    def deliberation_ticks(self) -> int:
        """The ticks between a question and its effect: `population.deliberation_minutes`, rounded up.

        0 where nobody deliberates.
        """
        if not self.deliberates:
            return 0
        return whole_ticks(self.population.deliberation_minutes, self.simulation.tick_seconds)

    @classmethod
    def taken(cls, name: str, value: object) -> Any:
        return super().taken(name, plain_settings(value) if name == DOMAIN and isinstance(value, Section) else value)
