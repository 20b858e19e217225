"""`prism init`, `validate`, `doctor` and `--help`."""

from __future__ import annotations

import re
from itertools import pairwise
from operator import attrgetter
from pathlib import Path

import click
import pytest
import yaml

from actors.cli.app import COMMANDS, cli
from actors.factory.domains import DOMAINS
from prism.config import Config, load_config, settings, starter_yaml
from prism.config.describe import STARTER_WIDTH
from tests.command import Prism
from tests.paths import ROOT

DOCS = ROOT


@pytest.mark.parametrize("domain", DOMAINS)
def test_init_writes_a_configuration_of_each_domain_that_runs_as_it_is(domain: str, prism: Prism) -> None:
    ended = prism("init", "study", "--domain", domain)
    assert (ended.code, ended.out) == (0, "wrote study/prism.yaml\nnext: prism run study/prism.yaml\n")
    assert prism("validate", "study/prism.yaml").code == 0
    assert prism("run", "study/prism.yaml", "--ticks", "4", "--quiet", "--out", "run").code == 0
    assert f"domain: {domain}\n" in Path("run/config.yaml").read_text()


def read(path: str, config: Config) -> object:
    return attrgetter(path)(config)


def test_init_without_a_domain_is_about_people(prism: Prism) -> None:
    prism("init", "study")
    assert Path("study/prism.yaml").read_text() == starter_yaml()


def test_init_of_an_economy_has_its_settings_alone_and_says_which_are_not_at_their_default(prism: Prism) -> None:
    prism("init", "study", "--domain", "economy")
    text = Path("study/prism.yaml").read_text()
    assert list(yaml.safe_load(text)) == ["simulation", "oracle", "llm", "economy", "run", "metrics"]
    assert list(yaml.safe_load(text)["oracle"])[-1] == "queue_size", "the coefficients of people's choices are left out"
    assert max(map(len, text.splitlines())) <= STARTER_WIDTH
    chosen, default = load_config(text, "prism.yaml", environment={}, overrides=()), Config()
    changed = {setting.path for setting in settings() if read(setting.path, chosen) != read(setting.path, default)}
    noted = [
        after.split(":")[0].strip() for line, after in pairwise(text.splitlines()) if "# not the default, " in line
    ]
    assert sorted(noted) == sorted(path.rpartition(".")[2] for path in changed)
    assert {path: read(path, chosen) for path in changed} == {
        "simulation.domain": "economy",
        "simulation.rounds": 40,
        "simulation.ticks_per_round": 1,
        "simulation.tick_seconds": 7_889_400.0,
        "oracle.lookahead_ticks": 0,
        "oracle.deadline_s": 600.0,
        "oracle.when_spent": "stop",
        "llm.num_ctx": 4096,
        "economy.macro.gap_shock": 0.82,
        "economy.macro.inflation_shock": 1.01,
    }


def test_init_leaves_an_existing_file_alone(prism: Prism, tmp_path: Path) -> None:
    (tmp_path / "prism.yaml").write_text("mine")
    ended = prism("init", ".")
    assert (ended.code, ended.err) == (2, "prism: prism.yaml: exists already and was left as it is\n")
    assert (tmp_path / "prism.yaml").read_text() == "mine"


def test_validate_says_what_would_be_run_and_names_each_input(prism: Prism, tmp_path: Path) -> None:
    (tmp_path / "ties.txt").write_text("1 2\n2 3\n")
    ended = prism("validate", "small.yaml", "--set", "population.graph.path=ties.txt")
    first, second = ended.out.splitlines()
    assert first == "small.yaml: ok: 3 agents, 3 rounds of 24 ticks (72 ticks), seed 5, oracle choice"
    assert re.fullmatch(r"ties\.txt: ok: sha256 [0-9a-f]{64}", second)


def test_doctor_shows_versions_and_asks_the_oracle(prism: Prism) -> None:
    ended = prism("doctor")
    assert ended.code == 0
    assert re.search(r"python +3\.", ended.out)
    assert re.search(r"oracle choice +embedded, no server; answered '\w+' in \d+ us", ended.out)


def test_wrong_usage_is_exit_code_2(prism: Prism) -> None:
    ended = prism("run", "small.yaml", "--fast")
    assert ended.code == 2
    assert "No such option" in ended.err


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_option_has_help_and_stands_in_the_documentation(name: str) -> None:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    documented = (DOCS / "docs" / "cli.md").read_text()
    assert command.help
    assert f"## prism {name}" in documented
    section = documented.split(f"## prism {name}")[1].split("\n## ")[0]
    for parameter in command.params:
        if isinstance(parameter, click.Option) and parameter.name != "help":
            assert parameter.help, f"prism {name} {parameter.name} has no help"
            for option in parameter.opts:
                assert f"`{option}" in section, f"docs/cli.md does not mention {option} of prism {name}"
