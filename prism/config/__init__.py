"""The configuration of a run: what can be set, and how settings from several places become one checked value."""

from prism.config.attributes import AttributeConfig
from prism.config.calibrated import calibration_label, fitted_settings
from prism.config.config import Config
from prism.config.describe import Setting, settings
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
    SharingConfig,
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
    "SharingConfig",
    "SimulationConfig",
    "StatechartConfig",
    "TaylorConfig",
    "calibration_label",
    "fitted_settings",
    "load_config",
    "setting",
    "settings",
]
