"""PRISM decides: statecharts, worlds, rules. Values and functions, without tasks, clocks, logs, files or sockets."""

from typing import TYPE_CHECKING

from prism.imports import lazy_names

if TYPE_CHECKING:
    from prism.config import (
        ActivityConfig,
        BacktestConfig,
        ChoiceConfig,
        Config,
        EconomyConfig,
        FeedConfig,
        GraphConfig,
        InitialConfig,
        LLMConfig,
        MacroConfig,
        MetricsConfig,
        OracleConfig,
        PopulationConfig,
        RunConfig,
        SimulationConfig,
        StatechartConfig,
        TaylorConfig,
        load_config,
    )
    from prism.errors import ConfigError, InputError, OracleError, OracleUnavailableError, PrismError, SettingError
    from prism.statechart import Oracle

__all__ = [
    "ActivityConfig",
    "BacktestConfig",
    "ChoiceConfig",
    "Config",
    "ConfigError",
    "EconomyConfig",
    "FeedConfig",
    "GraphConfig",
    "InitialConfig",
    "InputError",
    "LLMConfig",
    "MacroConfig",
    "MetricsConfig",
    "Oracle",
    "OracleConfig",
    "OracleError",
    "OracleUnavailableError",
    "PopulationConfig",
    "PrismError",
    "RunConfig",
    "SettingError",
    "SimulationConfig",
    "StatechartConfig",
    "TaylorConfig",
    "load_config",
]

if not TYPE_CHECKING:
    _ERRORS = ("ConfigError", "InputError", "OracleError", "OracleUnavailableError", "PrismError", "SettingError")
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "prism.errors": _ERRORS,
            "prism.statechart": ("Oracle",),
            "prism.config": (name for name in __all__ if name.endswith("Config") or name == "load_config"),
        },
    )
