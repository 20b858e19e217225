"""The configuration of a run: what can be set, and how settings from several places become one checked value."""

from prism.config.attributes import AttributeConfig
from prism.config.config import Config, Setting, settings
from prism.config.interventions import InterventionConfig, PublishConfig
from prism.config.load import load_config
from prism.config.model import (
    ActivityConfig,
    BacktestConfig,
    CalibrationConfig,
    ChoiceConfig,
    EconomyConfig,
    FeedConfig,
    GraphConfig,
    InitialConfig,
    IntentionsConfig,
    LLMConfig,
    MacroConfig,
    MetricsConfig,
    ModelsConfig,
    OracleConfig,
    PopulationConfig,
    PricesConfig,
    RelevanceConfig,
    RequestConfig,
    RunConfig,
    SimulationConfig,
    StatechartConfig,
    TaylorConfig,
)
from prism.config.section import Section, setting
from prism.config.yaml_text import LENGTH_MAX

__all__ = [
    "LENGTH_MAX",
    "ActivityConfig",
    "AttributeConfig",
    "BacktestConfig",
    "CalibrationConfig",
    "ChoiceConfig",
    "Config",
    "EconomyConfig",
    "FeedConfig",
    "GraphConfig",
    "InitialConfig",
    "IntentionsConfig",
    "InterventionConfig",
    "LLMConfig",
    "MacroConfig",
    "MetricsConfig",
    "ModelsConfig",
    "OracleConfig",
    "PopulationConfig",
    "PricesConfig",
    "PublishConfig",
    "RelevanceConfig",
    "RequestConfig",
    "RunConfig",
    "Section",
    "Setting",
    "SimulationConfig",
    "StatechartConfig",
    "TaylorConfig",
    "load_config",
    "setting",
    "settings",
]
