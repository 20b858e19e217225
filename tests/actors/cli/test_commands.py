"""`prism init`, `validate`, `doctor` and `--help`."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from actors.cli.app import cli
from tests.command import Prism

DOCS = Path(__file__).parents[3]


def test_init_writes_a_configuration_that_runs_as_it_is(prism: Prism) -> None:
    ended = prism("init", "study")
    assert (ended.code, ended.out) == (0, "wrote study/prism.yaml\nnext: prism run study/prism.yaml\n")
    assert prism("validate", "study/prism.yaml").code == 0


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


@pytest.mark.parametrize("name", sorted(cli.commands))
def test_every_command_and_option_has_help_and_stands_in_the_documentation(name: str) -> None:
    command = cli.commands[name]
    documented = (DOCS / "docs" / "cli.md").read_text()
    assert command.help
    assert f"## prism {name}" in documented
    section = documented.split(f"## prism {name}")[1].split("\n## ")[0]
    for parameter in command.params:
        if isinstance(parameter, click.Option) and parameter.name != "help":
            assert parameter.help, f"prism {name} {parameter.name} has no help"
            for option in parameter.opts:
                assert f"`{option}" in section, f"docs/cli.md does not mention {option} of prism {name}"
