"""The configuration of a whole run, the list and the schema of its settings, and the data that it is calibrated on."""

from __future__ import annotations

from functools import cache
from pathlib import PurePath
from typing import Any

import msgspec
import yaml
from msgspec import inspect

from prism.clock import whole_ticks
from prism.config.checks import find_conflicts
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
from prism.config.section import DOMAIN, Section, is_section, meaning_of, plain_settings, sections_of, setting
from prism.config.yaml_text import flat
from prism.errors import together
from prism.expectations import join, type_text
from prism.quoting import printable


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


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """One setting.

    Args:
        path: the dotted path, as in `--set`.
        type: the type and range in words: `int >= 1`, `one of: a, b`, `text or none`.
        default: the default as YAML on one line.
        description: the meaning of the setting.
    """

    path: str
    type: str
    default: str
    description: str


@cache
def settings() -> tuple[Setting, ...]:
    """Return every setting: a section's own settings first, then those of the sections inside it."""
    found = []
    for path, section in sections_of(Config).items():
        for field in msgspec.structs.fields(section):
            # Skipped: sections, and fields at the top: a list, and settings that only a user's own domain can describe.
            if not path or is_section(field.type):
                continue
            value = field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()
            plain = list(value) if isinstance(value, tuple) else value
            text = yaml.safe_dump(plain, default_flow_style=True, width=float("inf"), allow_unicode=True)
            default, about = text.removesuffix("...\n").strip(), meaning_of(field.type)
            kind = type_text(inspect.type_info(field.type))
            found.append(Setting(path=join(path, field.name), type=kind, default=default, description=about))
    return tuple(found)


def schema() -> dict[str, Any]:
    """Return the JSON schema of a configuration's file, with which an editor completes and checks it."""
    whole = msgspec.json.schema(Config)
    for definition in whole["$defs"].values():
        definition["description"] = definition["description"].partition("\n")[0]
        for name, kind in definition["properties"].items():
            if "$ref" in kind:  # an empty section keeps its defaults
                definition["properties"][name] = {"anyOf": [{"$ref": kind["$ref"]}, {"type": "null"}]}
    return {"$schema": "http://json-schema.org/draft-07/schema#", **whole}


NOT_COMPARED = ("metrics.", "run.", "simulation.seed", "simulation.domain_path")
"""The beginnings of settings that do not make another configuration: they change results by chance, or not at all."""
NAMES_SHOWN = 3
UNCALIBRATED = "; its coefficients are uncalibrated"
"""The end of an oracle's description, which the label of a calibrated configuration replaces."""


def calibration_label(config: Config) -> str | None:
    """Return what the settings are calibrated on, and what was changed since, in words; None if they are not."""
    calibration = config.run.calibration
    if calibration.data is None:
        return None
    holdout = "" if calibration.holdout is None else f", holdout {calibration.holdout:.3g}"
    if calibration.doubts:
        holdout += f" (doubtful: {printable(calibration.doubts)})"
    data = printable(calibration.data)
    changed = changed_settings(config)
    if not changed:
        return f"calibrated on {data}{holdout}"
    more = f" and {len(changed) - NAMES_SHOWN} more" if len(changed) > NAMES_SHOWN else ""
    were = "was" if len(changed) == 1 else "were"
    return f"calibrated on {data}{holdout}, but {', '.join(changed[:NAMES_SHOWN])}{more} {were} changed"


def fitted_settings(config: Config) -> dict[str, Any]:
    """Return `{setting: value}` of non-default settings that a fit may depend on; None for a key that is gone."""
    default, found = _fitted(Config()), _fitted(config)
    return {name: found.get(name) for name in {**default, **found} if default.get(name) != found.get(name)}


def changed_settings(config: Config) -> list[str]:
    """Return the settings that are not those of the fit. A file counts by its name, wherever it is."""
    fitted, found = _fitted(Config()) | config.run.calibration.settings, _fitted(config)
    return [name for name in {**fitted, **found} if _named(fitted.get(name)) != _named(found.get(name))]


def _named(value: Any) -> Any:
    return PurePath(value).name if isinstance(value, str) else value


def _fitted(config: Config) -> dict[str, Any]:
    """Return `{setting: value}` of the settings that a fit may depend on."""
    return {key: value for key, value in flat(msgspec.to_builtins(config)) if not key.startswith(NOT_COMPARED)}
