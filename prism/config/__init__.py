"""The configuration of a run: what can be set, and how settings from several places become one checked value."""

from prism.config.model import (
    ActivityConfig,
    ChoiceConfig,
    Config,
    FeedConfig,
    GraphConfig,
    OracleConfig,
    PopulationConfig,
    RunConfig,
    SimulationConfig,
    StatechartConfig,
)

__all__ = [
    "ActivityConfig",
    "ChoiceConfig",
    "Config",
    "FeedConfig",
    "GraphConfig",
    "OracleConfig",
    "PopulationConfig",
    "RunConfig",
    "SimulationConfig",
    "StatechartConfig",
]
