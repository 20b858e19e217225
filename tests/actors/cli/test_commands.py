"""`prism --help`, for people and for programs, and `prism doctor`. The help imports no command."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest

from actors.cli.app import SECTIONS, cli
from actors.cli.command import EXIT_CODES, Command
from actors.store.journal import JOURNAL
from actors.store.lock import PHASE, locked
from actors.store.manifest import SUMMARY
from tests.actors.cli.conftest import Made
from tests.catalogue import catalogue
from tests.command import Prism
from tests.paths import ROOT
from tests.patience import HANG_S
from tests.standin import ModelServer

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


TITLES = ["run", "domain", "state", "resumable", "ticks", "of", "agents", "digest", "note"]


@pytest.fixture
def five(made: Made, small_run: Path, tmp_path: Path) -> Path:
    """A run in each state, but the running one is only about to be."""
    for name in ("crashed", "damaged", "done", "running"):
        shutil.copytree(small_run, tmp_path / "runs" / name)
    stop = ("--set", "oracle.max_calls=3", "--set", "oracle.when_spent=stop")
    shutil.copytree(made(*stop, code=4), tmp_path / "runs" / "stopped")
    (tmp_path / "runs" / "crashed" / SUMMARY).unlink()
    (tmp_path / "runs" / "damaged" / JOURNAL).write_bytes(b"PRISMJ")
    return tmp_path / "runs"


def rows(out: str) -> dict[str, list[str]]:
    """`{run: its cells from the state on}`; the domain of a damaged run is empty."""
    found = [line.split() for line in out.splitlines()[1:]]
    return {cells[0]: cells[1 if cells[1] == "damaged" else 2 :] for cells in found}


def test_each_state_is_told(five: Path, prism: Prism) -> None:
    with locked(five / "running"):
        ended = prism("runs")
    assert ended.code == 0
    assert ended.out.splitlines()[0].split() == TITLES
    told = rows(ended.out)
    assert {run: cells[:2] for run, cells in told.items()} == {
        "runs/crashed": ["crashed", "yes"],
        "runs/damaged": ["damaged", "no"],
        "runs/done": ["done", "--ticks"],
        "runs/running": ["starting", "no"],
        "runs/stopped": ["stopped", "yes"],
    }
    assert told["runs/done"][2:5] == ["72", "72", "60"]
    assert told["runs/running"][6:8] == ["process", str(os.getpid())]
    assert int(told["runs/stopped"][2]) < 72
    assert "by spend_cap" in ended.out


ECONOMY = """
simulation: {{domain: economy, rounds: 3, ticks_per_round: 1, seed: 5, tick_seconds: 7889400}}
oracle: {{backend: ollama, when_spent: stop}}
llm: {{host: "{host}", num_ctx: 4096, timeout_s: 120.0}}
"""


def test_an_economy_that_its_spend_cap_has_ended_is_stopped_until_it_goes_on(prism: Prism, tmp_path: Path) -> None:
    with ModelServer() as server:
        (tmp_path / "economy.yaml").write_text(ECONOMY.format(host=server.url))
        assert prism("run", "economy.yaml", "-q", "--set", "oracle.max_calls=20", "--out", "runs/economy").code == 4
        state, resumable, ticks, *note = rows(prism("runs").out)["runs/economy"]
        assert (state, resumable, note[-2:]) == ("stopped", "yes", ["by", "spend_cap"])
        assert 0 < int(ticks) < 3
        assert prism("verify", "runs/economy").code == 0
        more = ("--accept-settings", "--set", "oracle.max_calls=1000")
        assert prism("resume", "runs/economy", "-q", *more).code == 0
    assert rows(prism("runs").out)["runs/economy"][:3] == ["done", "--ticks", "3"]


def test_a_run_at_work_shows_its_phase_how_long_it_lasts_and_why_and_a_directory_has_its_name(
    five: Path, prism: Prism
) -> None:
    with locked((five / "running").rename(five / "a[red]:smile:")):
        (five / "a[red]:smile:" / PHASE).write_text(
            json.dumps({"phase": "waiting_for_oracle", "since": time.time() + HANG_S, "reason": "timeout"})
        )
        told = prism("runs", "runs/a[red]:smile:").out
    assert rows(told)["runs/a[red]:smile:"][:2] == ["waiting_for_oracle", "no"]
    assert "  for 0 s (timeout), process " in told
