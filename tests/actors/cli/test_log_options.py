"""`--log-level` and `--log-format`: what a command that simulates prints on standard error, and what it logs."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.catalogue import catalogue
from tests.command import Ended, Prism

CRASHES = ("--set", "metrics.tls_cert=none.pem", "--set", "metrics.enabled=true")
"""Settings with which a run does not begin."""


@pytest.fixture(autouse=True)
def _nothing_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PRISM_LOG_LEVEL", "PRISM_LOG_FORMAT"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def old(small_run: Path, tmp_path: Path) -> str:
    """A copy of a run, in the directory of the commands."""
    shutil.copytree(small_run, tmp_path / "old")
    return "old"


def events(ended: Ended) -> list[dict[str, Any]]:
    return [json.loads(line) for line in ended.err.splitlines()]


def names(ended: Ended) -> list[str]:
    return [event["event"] for event in events(ended)]


@catalogue(
    "arguments",
    [
        ("run", "small.yaml", "--ticks", "3"),
        ("run", "--ticks", "3"),
        ("resume", "old", "--ticks", "80"),
        ("fork", "old", "--at", "30"),
    ],
)
def test_every_line_is_json_where_that_is_asked_for(arguments: tuple[str, ...], old: str, prism: Prism) -> None:
    del old
    ended = prism(*arguments, "--log-format", "json")
    assert ended.code == 0
    assert set(names(ended)) == {"message"}
    assert {event["level"] for event in events(ended)} == {"info"}
    assert any("agents, " in event["message"] for event in events(ended))


@catalogue(
    ("arguments", "code"),
    [
        (("run", "missing.yaml"), 3),
        (("run", "small.yaml", *CRASHES), 3),
        (("run", "small.yaml", "--ticks", "none"), 2),
        (("run", "--fast"), 2),
        (("resume", "missing"), 2),
        (("replay", "missing"), 2),
        (("fork", "old", "--at", "1000"), 2),
    ],
)
def test_an_error_is_json_too_and_has_the_exit_code(
    arguments: tuple[str, ...], code: int, old: str, prism: Prism
) -> None:
    del old
    ended = prism(*arguments, "--log-format", "json")
    (event,) = events(ended)
    assert (ended.code, event["exit_code"]) == (code, code)
    assert (event["event"], event["level"]) == ("command_failed", "error")
    assert event["error"]


def test_json_can_be_asked_for_by_one_word_and_by_the_environment(
    prism: Prism, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert names(prism("run", "--fast", "--log-format=json")) == ["command_failed"]
    monkeypatch.setenv("PRISM_LOG_FORMAT", "json")
    assert names(prism("run", "--fast")) == ["command_failed"]
    assert names(prism("resume", "missing")) == ["command_failed"]
    assert "\nprism: No such option '--fast'" in prism("run", "--fast", "--log-format", "text").err


@pytest.mark.parametrize("fault", [ZeroDivisionError, EOFError])
def test_a_fault_of_prism_is_json_with_its_traceback(
    fault: type[Exception], prism: Prism, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise fault("a fault")

    monkeypatch.setattr("actors.cli.run.read_config", fail)
    ended = prism("run", "small.yaml", "--log-format", "json")
    (event,) = events(ended)
    assert (ended.code, event["event"]) == (1, "command_crashed")
    assert f"{fault.__name__}: a fault" in event["exception"]


def test_a_level_that_does_not_exist_is_refused_by_its_place(prism: Prism, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRISM_LOG_LEVEL", "loud")
    ended = prism("run", "small.yaml")
    assert ended.code == 2
    assert "(env var: 'PRISM_LOG_LEVEL'): 'loud' is not one of 'debug', 'info', 'warning', 'error'" in ended.err


def test_a_resume_appends_to_the_log_and_sets_it_aside_at_its_limit(old: str, prism: Prism) -> None:
    log = Path(old, "log.jsonl")
    before = log.read_text()
    assert prism("resume", old, "--ticks", "80", "--quiet").code == 0
    assert log.read_text().startswith(before)
    assert "run_resumed" in log.read_text()[len(before) :]
    log.write_text('{"event": "long"}\n' * 1_000)
    assert prism("resume", old, "--ticks", "90", "--quiet", "--set", "run.log_max_mb=0.01").code == 0
    assert Path(old, "log.jsonl.1").read_text() == '{"event": "long"}\n' * 1_000
    assert "run_resumed" in log.read_text()
    assert prism("verify", old).code == 0
