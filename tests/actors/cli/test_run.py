"""`prism run`: which configuration it takes, what it prints, and what it leaves."""

import csv
import io
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from actors.cli import validate
from actors.cli.options import run_name
from actors.display import progress as work
from actors.factory.oracle_backends import fitted_settings
from prism.config import Config, PopulationConfig, load_config
from tests.actors.cli.conftest import SMALL
from tests.catalogue import catalogue
from tests.command import Ended, Prism, short_of_room
from tests.paths import ROOT


def test_a_run_leaves_its_files_and_its_configuration_runs_to_the_same_digest(prism: Prism, tmp_path: Path) -> None:
    ended = prism("run", "small.yaml")
    run = tmp_path / "runs" / "small-001"
    assert ended.code == 0
    assert sorted(path.name for path in run.iterdir()) == [
        "checkpoint-000000000072.bin",
        "config.yaml",
        "journal.prism",
        "log.jsonl",
        "manifest.json",
        "oracle.log",
        "rounds.csv",
        "run.lock",
        "summary.json",
    ]
    assert json.loads((run / "manifest.json").read_text())["seed"] == 5
    summary = json.loads((run / "summary.json").read_text())
    assert sum(summary["agents_by_state"].values()) == summary["agents"] == 60
    assert sum(summary["transitions_by_trigger"].values()) == summary["transitions"]
    assert sum(summary["decisions_by_source"].values()) == summary["transitions"]
    # The series has a row for each round, and ends where the summary does.
    rows = list(csv.DictReader((run / "rounds.csv").read_text().splitlines()))
    assert [(row["round"], row["tick"]) for row in rows] == [("1", "24"), ("2", "48"), ("3", "72")]
    for column in ("activations", "transitions", "posts", "likes", "replies", "reshares"):
        values = [int(row[column]) for row in rows]
        assert values == sorted(values)
        assert values[-1] == summary[column]
    documented = (ROOT / "docs" / "runs.md").read_text()
    for keys in (summary, summary["feed"], summary["feed"]["short"], summary["behaviour"]):
        assert [key for key in keys if f"`{key}`" not in documented] == []
    again = prism("run", str(run / "config.yaml"), "--quiet")
    assert (again.out, again.err) == (summary["digest"] + "\n", "")


def test_the_start_says_what_the_settings_are_calibrated_on_and_what_was_changed_since(prism: Prism) -> None:
    fitted = json.dumps(fitted_settings(load_config(SMALL)))
    calibration = ("--set", "run.calibration.data=panel.csv", "--set", f"run.calibration.settings={fitted}")
    short = ("run", "small.yaml", "--ticks", "9")
    ended = prism(*short, *calibration, "--set", "run.calibration.holdout=0.25")
    assert ended.err.startswith("prism: 60 agents, 9 ticks, seed 5; oracle: embedded multinomial logit, no server; ")
    assert "; calibrated on panel.csv, holdout 0.25" in ended.err.splitlines()[0]
    assert "uncalibrated" not in ended.err
    changed = prism(*short, *calibration, "--set", "feed.size=3")
    assert "feed.size" in changed.err.splitlines()[0].partition("calibrated on panel.csv, but ")[2]
    assert prism(*short, *calibration, "-q").out == prism(*short, "-q").out


def test_the_address_is_printed_and_gone_at_the_end_and_the_password_is_in_no_file(
    prism: Prism, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRISM_METRICS_PASSWORD", "open sesame")
    watched = [word for each in ("enabled=true", "port=0", "username=ann") for word in ("--set", f"metrics.{each}")]
    ended = prism("run", "small.yaml", "--ticks", "9", "--out", "o", *watched)
    assert ended.code == 0
    assert re.search(r"^prism: metrics at http://127\.0\.0\.1:\d+/metrics$", ended.err, flags=re.MULTILINE)
    assert not Path("o/metrics.json").exists()
    assert [path.name for path in Path("o").iterdir() if b"open sesame" in path.read_bytes()] == []
    assert "open sesame" not in ended.out + ended.err


def test_a_full_disk_is_one_line_and_leaves_nothing_half_written(tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(SMALL)
    ended = short_of_room(500, "run", "small.yaml", "-q", "--out", "out", cwd=tmp_path)
    assert ended.returncode == 1
    problem = "out/config.yaml: cannot be written: File too large"
    assert ended.stderr == f"prism: {problem}; raise ulimit -f, then run the same command again\n"
    assert not (tmp_path / "out").exists()


def test_a_run_without_a_configuration_takes_the_one_of_its_directory_or_the_shipped_one(
    prism: Prism, tmp_path: Path
) -> None:
    ended = prism("run", "--ticks", "1", "--set", "population.size=200")
    assert ended.err.splitlines()[0] == (
        "prism: no CONFIG given: running the shipped default configuration (default.yaml: 2,000 made-up people on a "
        "social network, 50 rounds, an interest feed)"
    )
    assert Path("runs/default-001/journal.prism").exists()
    Path("small.yaml").rename("prism.yaml")
    ended = prism("run", "--ticks", "2")
    assert ended.err.splitlines()[0] == "prism: no CONFIG given: running prism.yaml"
    assert Path(f"runs/{tmp_path.name}-001").is_dir()


@catalogue(
    ("path", "name"),
    [
        ("small.yaml", "small"),
        ("my-study/prism.yaml", "my-study"),
        ("my-study/other.yaml", "other"),
        ("feed/experiment.yaml", "feed"),
        ("fit/calibrate.yaml", "fit"),
        ("my-study/../my-study/prism.yaml", "my-study"),
        ("/prism.yaml", "prism"),
        ("noextension", "noextension"),
    ],
)
def test_a_run_is_called_after_its_configuration_or_the_directory_of_it(path: str, name: str) -> None:
    assert run_name(Path(path)) == name


def test_a_terminal_shows_the_step_in_which_a_world_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    monkeypatch.setattr(work, "SafeConsole", lambda **_: Console(file=screen, force_terminal=True, width=80))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(work, "SHOWN_AFTER_S", 0.0)
    validate.build_with_progress(Config(population=PopulationConfig(size=20)))
    assert "prism: preparing the world, 0 s" in screen.getvalue()


JSON = ("--log-format", "json")


@pytest.fixture
def old(small_run: Path, tmp_path: Path) -> str:
    """A copy of a run, in the directory of the commands."""
    shutil.copytree(small_run, tmp_path / "old")
    return "old"


def events(ended: Ended) -> list[dict[str, Any]]:
    return [json.loads(line) for line in ended.err.splitlines()]


@pytest.mark.usefixtures("old")
def test_every_line_is_json_where_that_is_asked_for(prism: Prism) -> None:
    for arguments in (("run", "small.yaml", "--ticks", "3"), ("fork", "old", "--at", "72", "--ticks", "74")):
        ended = prism(*arguments, *JSON)
        assert (ended.code, {(event["event"], event["level"]) for event in events(ended)}) == (0, {("message", "info")})
        assert any("agents, " in event["message"] for event in events(ended))


@catalogue(
    ("arguments", "code"),
    [
        (("run", "missing.yaml"), 3),
        (("run", "small.yaml", "--set", "metrics.tls_cert=none.pem", "--set", "metrics.enabled=true"), 3),
        (("run", "small.yaml", "--ticks", "none"), 2),
        (("replay", "missing"), 2),
        (("fork", "old", "--at", "1000"), 2),
    ],
)
@pytest.mark.usefixtures("old")
def test_an_error_is_json_too_and_has_the_exit_code(arguments: tuple[str, ...], code: int, prism: Prism) -> None:
    ended = prism(*arguments, *JSON)
    (event,) = events(ended)
    assert (ended.code, event["exit_code"], bool(event["error"])) == (code, code, True)
    assert (event["event"], event["level"]) == ("command_failed", "error")


def test_json_can_be_asked_for_by_one_word_and_by_the_environment(
    prism: Prism, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert events(prism("run", "--fast", "--log-format=json"))
    monkeypatch.setenv("PRISM_LOG_FORMAT", "json")
    assert events(prism("run", "--fast"))
    assert "\nprism: No such option '--fast'" in prism("run", "--fast", "--log-format", "text").err
    monkeypatch.setenv("PRISM_LOG_LEVEL", "loud")
    ended = prism("run", "small.yaml", "--log-format", "text")
    assert ended.code == 2
    assert "(env var: 'PRISM_LOG_LEVEL'): 'loud' is not one of 'debug', 'info', 'warning', 'error'" in ended.err


@pytest.mark.parametrize("fault", [ZeroDivisionError, EOFError])
def test_a_fault_of_prism_is_json_with_its_traceback(
    fault: type[Exception], prism: Prism, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise fault("a fault")

    monkeypatch.setattr("actors.cli.run.read_config", fail)
    ended = prism("run", "small.yaml", *JSON)
    (event,) = events(ended)
    assert (ended.code, event["event"]) == (1, "command_crashed")
    assert f"{fault.__name__}: a fault" in event["exception"]


def test_a_resume_appends_to_the_log_and_sets_it_aside_at_its_limit(old: str, prism: Prism) -> None:
    log = Path(old, "log.jsonl")
    before = log.read_text()
    assert prism("resume", old, "--ticks", "73", "--quiet").code == 0
    assert log.read_text().startswith(before)
    assert '"from_tick": ' in log.read_text()[len(before) :]
    log.write_text('{"event": "long"}\n' * 1_000)
    assert prism("resume", old, "--ticks", "74", "--quiet", "--set", "run.log_max_mb=0.01").code == 0
    assert Path(old, "log.jsonl.1").read_text() == '{"event": "long"}\n' * 1_000
    assert "run_started" in log.read_text()
    assert prism("verify", old, "--quick").code == 0
