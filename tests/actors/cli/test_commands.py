"""`prism doctor` and `--help`."""

from __future__ import annotations

import re

import click
import pytest

from actors.cli.app import COMMANDS, cli
from tests.command import Prism
from tests.paths import ROOT

DOCS = ROOT


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
        if isinstance(parameter, click.Option) and parameter.name != "help" and not parameter.hidden:
            assert parameter.help, f"prism {name} {parameter.name} has no help"
            for option in parameter.opts:
                assert f"`{option}" in section, f"docs/cli.md does not mention {option} of prism {name}"
