"""Settings as data: schema for editors, label of a calibration, and deliberation in ticks."""

import json
from datetime import datetime
from typing import Any

from jsonschema import Draft7Validator
from msgspec.structs import replace

from actors.factory.oracle_backends import calibration_label, fitted_settings
from actors.factory.shipped import examples
from prism.clock import whole_ticks
from prism.config import CalibrationConfig, Config, PopulationConfig, Setting, SimulationConfig, load_config, settings
from prism.config.yaml_text import read_document
from tests.catalogue import catalogue
from tests.docs.refresh import SCHEMA


def errors_in(text: str) -> list[str]:
    """Return the places in a text that an editor with the schema underlines."""
    plain = json.loads(json.dumps(read_document(text, "c.yaml").value, default=datetime.isoformat))
    validator = Draft7Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))
    return [".".join(map(str, error.absolute_path)) for error in validator.iter_errors(plain)]


@catalogue("example", examples().values())
def test_shipped_files_and_empty_sections_fit_it(example: Any) -> None:
    assert errors_in(example.text()) == []
    assert errors_in("population:\nfeed: {size: 3}\n") == []


@catalogue("setting", settings())
def test_a_default_is_yaml_that_load_config_takes(setting: Setting) -> None:
    override = f"{setting.path}={setting.default}"
    assert load_config(None, "c.yaml", environment={}, overrides=[override]) == Config()


def calibrated(**sections: Any) -> Config:
    config = Config(**sections)
    calibration = CalibrationConfig(data="panel.csv", fit=0.5, holdout=0.6129, settings=fitted_settings(config))
    return replace(config, run=replace(config.run, calibration=calibration))


def test_settings_that_were_changed_since_are_named() -> None:
    config = calibrated(feed={"size": 7}, population={"intentions": {"base": {"like": 1.0}}})
    assert calibration_label(config) == "calibrated on panel.csv, holdout 0.613"
    other = replace(config, feed=replace(config.feed, size=8))
    assert calibration_label(other) == "calibrated on panel.csv, holdout 0.613, but feed.size was changed"
    more = replace(config, feed=type(config.feed)(), population=replace(config.population, ambiguity=0.3))
    assert str(calibration_label(more)).endswith("but population.ambiguity, feed.size were changed")


@catalogue(
    ("minutes", "tick_seconds", "ticks"),
    [
        (4.0, 60.0, 4),
        (0.0, 60.0, 0),
        (4.0, 300.0, 1),
        (5.1, 300.0, 2),
        (1.1, 6.0, 11),  # 1.1 * 60 / 6 is 11.000000000000002 in binary numbers
        (1e-12, 60.0, 1),
    ],
)
def test_minutes_are_whole_ticks_rounded_up(minutes: float, tick_seconds: float, ticks: int) -> None:
    assert whole_ticks(minutes, tick_seconds) == ticks
    config = Config(
        simulation=SimulationConfig(tick_seconds=tick_seconds),
        population=PopulationConfig(deliberation_minutes=minutes),
    )
    assert config.deliberation_ticks == ticks
