"""A section constructed in Python refuses what a file may not say, and names the setting by its dotted path."""

import math
import pickle
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from prism.config import (
    BacktestConfig,
    ChoiceConfig,
    Config,
    EconomyConfig,
    OracleConfig,
    PopulationConfig,
    SimulationConfig,
    load_config,
)
from prism.config.section import Section
from prism.errors import ConfigError, SettingError
from tests.catalogue import catalogue
from tests.config.refusals import GRAPH

SIZE = "expected int 1 to 10000000"

REFUSED: list[tuple[type[Section], dict[str, Any], str]] = [
    (PopulationConfig, {"size": True}, f"population.size: {SIZE}, got true"),
    (ChoiceConfig, {"like": math.nan}, "oracle.choice.like: expected float -100 to 100, got .nan"),
    (EconomyConfig, {"strengths": (1, "a")}, "economy.strengths[1]: expected float 0.001 to 1e+12, got 'a'"),
    (BacktestConfig, {"periods": {"a"}}, "economy.backtest.periods: expected list of non-empty text, got {'a'}"),
    (PopulationConfig, {"graph": 3}, "population.graph: expected {kind, path, directed, columns, ...}, got 3"),
    (SimulationConfig, {"tics": 3}, "simulation.tics: unknown key; did you mean simulation.ticks?"),
    (Config, {"populaton": {}}, "populaton: unknown key; did you mean population?"),
    (Config, {"population": {"sizes": 3}}, "population.sizes: unknown key; did you mean size?"),
    (Config, {"population": {"graph": {"degree": 0}}}, "population.graph.degree: expected int >= 1 or none, got 0"),
    (Config, {"population": {"graph": {3: 0}}}, f"population.graph.3: unknown key; expected one of {GRAPH}"),
    (
        Config,
        {"oracle": OracleConfig(tape="record")},
        "oracle.tape: oracle.tape=record needs oracle.backend: expected ollama or openai, got choice",
    ),
]


@catalogue(("section", "settings", "message"), REFUSED)
def test_a_setting_is_refused_by_its_path(section: type[Section], settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError) as caught:
        section(**settings)
    assert str(caught.value).partition(": ")[2] == message
    assert isinstance(caught.value, ConfigError | ValueError)


def test_a_changed_configuration_is_checked_as_a_whole() -> None:
    config = Config()
    changed = msgspec.structs.replace(config, population={"size": np.int64(17), "graph": {"path": Path("friends.txt")}})
    assert load_config(msgspec.yaml.encode(changed).decode()) == changed
    with pytest.raises(SettingError, match=r"population\.size: expected int"):
        msgspec.structs.replace(config, population={"size": 0})
    with pytest.raises(SettingError, match=r"^Config: oracle\.tape: oracle\.tape=record needs"):
        msgspec.structs.replace(config, oracle=OracleConfig(tape="record"))


def test_a_configuration_goes_through_json_and_pickle_unchanged_and_is_checked_at_decoding() -> None:
    config = Config(simulation=SimulationConfig(seed=7))
    assert msgspec.json.decode(msgspec.json.encode(config), type=Config) == config
    assert pickle.loads(pickle.dumps(config)) == config
    with pytest.raises(msgspec.ValidationError, match="record needs oracle"):
        msgspec.json.decode(b'{"oracle": {"tape": "record"}}', type=Config)


def test_the_name_of_a_file_is_no_text_and_says_who_reads_files() -> None:
    with pytest.raises(ConfigError, match=r"got a file's name; actors\.read_config\('a/b\.yml'\) reads it$"):
        load_config("a/b.yml")
    assert load_config() == load_config("") == Config()
