"""`prism --help`, for people and for programs, and `prism doctor`. The help imports no command."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from actors.cli.app import SECTIONS, cli
from actors.cli.command import EXIT_CODES, Command
from tests.catalogue import catalogue
from tests.command import Prism
from tests.paths import ROOT

UNUSED_BY_A_RUN_OF_PEOPLE = {"altair", "httpx", "ollama", "prism.economy.domain", "prometheus_client"}
HEAVY = {*UNUSED_BY_A_RUN_OF_PEOPLE, "anyio", "igraph", "msgspec", "numpy", "rich", "vl_convert", "yaml"}
COMMANDS = {name: line for commands in SECTIONS.values() for name, line in commands.items()}


def modules_after(*arguments: str) -> set[str]:
    """Return the modules that a process of its own has imported when the command has ended."""
    script = """
import sys
from actors.cli.app import cli
try:
    cli.main(sys.argv[1:], standalone_mode=False)
finally:
    print("\\nIMPORTED", *sys.modules)
"""
    ended = subprocess.run(
        [sys.executable, "-c", script, *arguments], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return set(ended.stdout.rpartition("IMPORTED")[2].split())


@catalogue("name", COMMANDS)
def test_every_command_has_help_for_itself_and_its_options_and_is_listed_by_its_first_line(name: str) -> None:
    found = cli.get_command(click.Context(cli), name)
    assert found is not None
    assert (found.name, found.get_short_help_str(limit=1000)) == (name, COMMANDS[name])
    for each in found.commands.values() if isinstance(found, click.Group) else [found]:
        assert isinstance(each, Command)
        assert each.help, f"prism {name} {each.name} has no help"
        options = [one for one in each.params if isinstance(one, click.Option)]
        assert [one.name for one in options if one.name != "help" and not one.help] == []


def test_the_help_lists_every_command_in_its_section(prism: Prism) -> None:
    shown = " ".join(prism("--help").out.split())
    for title, commands in SECTIONS.items():
        assert f" {title}: {' '.join(f'{name} {line}' for name, line in commands.items())} " in shown


@pytest.mark.everyday(1)
@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_import_nothing_that_only_a_command_needs(option: str) -> None:
    assert modules_after(option) & HEAVY == set()


@pytest.mark.slow
def test_a_run_of_people_imports_no_client_no_metrics_and_no_plotting(tmp_path: Path) -> None:
    imported = modules_after("run", "configs/friends.yaml", "--ticks", "1", "--quiet", "--out", str(tmp_path / "out"))
    assert "prism.social.domain" in imported
    assert imported & UNUSED_BY_A_RUN_OF_PEOPLE == set()


def test_doctor_shows_versions_and_asks_the_oracle(prism: Prism) -> None:
    ended = prism("doctor")
    assert ended.code == 0
    assert re.search(r"python +3\.", ended.out)
    assert re.search(r"oracle choice +embedded, no server\n", ended.out)


def test_the_help_for_programs_has_every_command_option_and_exit_code(prism: Prism) -> None:
    told = json.loads(prism("--help", "--json").out)
    assert told["exit_codes"] == EXIT_CODES
    assert list(told["commands"]) == list(COMMANDS)
    options = {tuple(each.get("option", ())): each for each in told["commands"]["cause"]["parameters"]}
    assert options["--budget",].items() >= {"type": "integer range", "min": 1, "default": 500}.items()
    assert json.loads(prism("experiment", "plan", "--help", "--json").out)["command"] == "prism experiment plan"
    assert told["commands"]["experiment"]["commands"]["plan"]["parameters"][0]["argument"] == "FILE"


def test_every_result_is_one_json_document_where_that_is_asked_for(prism: Prism, small_run: Path) -> None:
    run = str(small_run)
    for arguments in (
        ("validate", "small.yaml"),
        ("doctor", "small.yaml"),
        ("chart", "--lint"),
        ("init", "--settings", "seed"),
        ("init", "study"),
        ("runs", run),
        ("verify", run, "--quick"),
        ("replay", run, "--ticks", "5"),
        ("export", run, "--sql", "SELECT count(*) AS n FROM posts"),
        ("pack", run, "--out", "one.prism"),
        ("unpack", "one.prism", "--out", "again"),
        ("resume", "again"),
        ("run", "small.yaml", "--ticks", "3"),
    ):
        ended = prism(*arguments, "--json")
        assert (ended.code, ended.err) == (0, ""), arguments
        assert json.loads(ended.out), arguments


@pytest.mark.slow
def test_another_order_of_hashes_prints_the_same(few_run: Path, tmp_path: Path) -> None:
    (tmp_path / "asked.yaml").write_text("questions: [{id: one, text: Well, scale: [0, 9], answer: 9 * draw.uniform}]")
    for number, command in enumerate(
        (
            ("cause", "run", "--of", "likes", "--budget", "8", "--draws", "1", "--top", "2"),
            ("ask", "run", "--questions", "asked.yaml"),
        )
    ):
        told = set()
        for seed in ("1", "2"):
            place = tmp_path / f"{number}-{seed}"
            place.mkdir()
            subprocess.run(["cp", "-r", few_run, tmp_path / "asked.yaml", place], check=True)
            words = [sys.executable, "-m", "actors.cli", *command, "--json"]
            environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
            told.add(subprocess.run(words, cwd=place, env=environment, capture_output=True, check=True).stdout)
        assert len(told) == 1, command


def test_an_error_of_the_system_that_names_no_file_has_its_kind_in_front(
    prism: Prism, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(**_: object) -> None:
        raise OSError("AF_UNIX path too long")

    monkeypatch.setattr(cli, "main", fails)
    ended = prism("doctor")
    assert (ended.code, ended.err) == (1, "prism: OSError: AF_UNIX path too long\n")
