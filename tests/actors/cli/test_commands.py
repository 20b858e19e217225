"""`prism doctor` and `--help`."""

from __future__ import annotations

import re

import click
import pytest

from actors.cli.app import SECTIONS, cli
from tests.catalogue import catalogue
from tests.command import Prism


def test_doctor_shows_versions_and_asks_the_oracle(prism: Prism) -> None:
    ended = prism("doctor")
    assert ended.code == 0
    assert re.search(r"python +3\.", ended.out)
    assert re.search(r"oracle choice +embedded, no server; answered '\w+' in \d+ us", ended.out)


def test_each_command_is_in_one_section() -> None:
    names = [name for commands in SECTIONS.values() for name in commands]
    assert len(names) == len(set(names))
    assert names == cli.list_commands(click.Context(cli))


@catalogue("name", cli.list_commands(click.Context(cli)))
def test_every_command_and_option_has_help(name: str) -> None:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    for each in [command, *(command.commands.values() if isinstance(command, click.Group) else ())]:
        assert each.help, f"prism {name} {each.name} has no help"
        options = [one for one in each.params if isinstance(one, click.Option) and not one.hidden]
        assert [one.name for one in options if one.name != "help" and not one.help] == []


def test_an_error_of_the_system_that_names_no_file_has_its_kind_in_front(
    prism: Prism, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(**_: object) -> None:
        raise OSError("AF_UNIX path too long")

    monkeypatch.setattr(cli, "main", fails)
    ended = prism("doctor")
    assert (ended.code, ended.err) == (1, "prism: OSError: AF_UNIX path too long\n")
