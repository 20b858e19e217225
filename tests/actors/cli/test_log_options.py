"""`--log-level` and `--log-format`: what a command that simulates prints on standard error, and what it logs."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.catalogue import catalogue
from tests.command import Ended, Prism

JSON = ("--log-format", "json")


@pytest.fixture(autouse=True)
def old(small_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A copy of a run, in the directory of the commands; nothing is chosen by variables."""
    for name in ("PRISM_LOG_LEVEL", "PRISM_LOG_FORMAT"):
        monkeypatch.delenv(name, raising=False)
    shutil.copytree(small_run, tmp_path / "old")
    return "old"


def events(ended: Ended) -> list[dict[str, Any]]:
    return [json.loads(line) for line in ended.err.splitlines()]


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
