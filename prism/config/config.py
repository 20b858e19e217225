"""The configuration of a whole run, the list and the schema of its settings, and the data that it is calibrated on."""

from __future__ import annotations

from functools import cache
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
from prism.errors import together
from prism.expectations import join, type_text


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
        if isinstance(self.domain, Section):
            msgspec.structs.force_setattr(self, DOMAIN, plain_settings(self.domain))
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


UNCALIBRATED = "; its coefficients are uncalibrated"
"""The end of an oracle's description, which the label of a calibrated configuration replaces."""
