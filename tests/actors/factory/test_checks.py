"""What is checked without building, against what the build refuses."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.factory.checks import check_domain
from actors.factory.domains import build_domain
from actors.factory.input_files import SMALL_BYTES_MAX
from prism.config import (
    Config,
    GraphConfig,
    PopulationConfig,
)
from prism.config.graph_fit import find_misfit
from prism.errors import ConfigError, InputError, SettingError
from prism.social.ties.graph import generate
from tests.catalogue import catalogue

GRAPHS = st.builds(
    GraphConfig,
    kind=st.sampled_from(("barabasi_albert", "power_law", "stochastic_block", "watts_strogatz")),
    degree=st.integers(1, 14),
    blocks=st.integers(1, 14),
    mixing=st.sampled_from((0.0, 0.1, 0.5, 0.9, 1.0)),
)
FOLLOWS = "user_id,name,following_agentid_list,user_char\n0,Ada,[1],calm\n1,Bo,[],calm\n"
NOBODY = FOLLOWS.replace("[1]", "[]")


def built(config: Config) -> object:
    try:
        found = build_domain(config)
    except ConfigError as error:
        return str(error)
    return found.domain.size, found.inputs


def checked(config: Config) -> object:
    try:
        found = check_domain(config)
    except ConfigError as error:
        return str(error)
    return found.size, found.inputs


@given(size=st.integers(1, 14), graph=GRAPHS)
def test_settings_are_refused_of_which_no_graph_can_be_made_and_no_others(size: int, graph: GraphConfig) -> None:
    population = PopulationConfig(size=size, graph=graph)
    misfit = find_misfit(graph, size)
    if misfit is None:
        config = Config(population=population)
        assert checked(config) == built(config) == (size, {})
        return
    with pytest.raises(SettingError, match=re.escape(misfit.problem)):
        Config(population=population)
    with pytest.raises(ConfigError, match=re.escape(misfit.problem)):
        generate(graph, size, 1)


@catalogue(
    ("files", "population"),
    [
        ({}, PopulationConfig(graph=GraphConfig(path="t.txt"))),
        ({}, PopulationConfig(profiles="p.json")),
        ({"t.txt": "1 2\n2 3\n"}, PopulationConfig(graph=GraphConfig(path="t.txt"))),
        ({"t.txt": "1 1\n"}, PopulationConfig(graph=GraphConfig(path="t.txt"))),
        ({"t.gml": "1 2\n"}, PopulationConfig(graph=GraphConfig(path="t.gml"))),
        ({"t.txt.gz": "1 2\n"}, PopulationConfig(graph=GraphConfig(path="t.txt.gz"))),
        ({"p.yaml": "[]"}, PopulationConfig(profiles="p.yaml")),
        ({"p.json": "[]"}, PopulationConfig(profiles="p.json")),
        ({"p.json": '[{"realname": "Ada"}]'}, PopulationConfig(profiles="p.json", size=20)),
        ({"p.csv": FOLLOWS}, PopulationConfig(profiles="p.csv", graph=GraphConfig(kind="profiles"))),
        ({"p.csv": NOBODY}, PopulationConfig(profiles="p.csv", graph=GraphConfig(kind="profiles"))),
        ({"p.csv": FOLLOWS, "t.csv": "a,b\n"}, PopulationConfig(profiles="p.csv", graph=GraphConfig(path="t.csv"))),
    ],
)
def test_files_are_judged_as_the_build_judges_them(
    files: dict[str, str], population: PopulationConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in files.items():
        Path(name).write_text(text)
    config = Config(population=population)
    assert checked(config) == built(config)


def test_a_large_file_is_opened_and_its_name_is_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("t.txt", "p.json", "p.yaml"):
        Path(name).write_bytes(b"\xff" * (SMALL_BYTES_MAX + 1))
    found = check_domain(Config(population=PopulationConfig(profiles="p.json", graph=GraphConfig(path="t.txt"))))
    assert (found.size, found.inputs) == (None, {"p.json": None, "t.txt": None})
    assert found.not_built
    with pytest.raises(InputError, match="expected profiles in"):
        check_domain(Config(population=PopulationConfig(profiles="p.yaml")))


def test_a_small_file_that_unpacks_to_a_large_one_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.txt.gz").write_bytes(gzip.compress(b"#" * (SMALL_BYTES_MAX + 1)))
    found = check_domain(Config(population=PopulationConfig(graph=GraphConfig(path="t.txt.gz"))))
    assert found.inputs == {"t.txt.gz": None}
