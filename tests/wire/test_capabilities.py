"""The way in which a server is asked, as a user sees it: at the start of a run, in its manifest, in the doctor."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.command import Ended, Prism, run_prism
from tests.standin import ModelServer, ServerSettings
from tests.wire.test_doctor import rows

SECTIONS = {
    "simulation": {"rounds": 2, "ticks_per_round": 12},
    "population": {"size": 20, "activity": {"mean": 0.9}, "ambiguity": 0.3},
    "oracle": {"backend": "openai", "tape": "record"},
}
SECRET = "a-very-secret-word"


@pytest.fixture
def prism(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Prism:
    """Any command, in an empty directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("MY_GATE", SECRET)

    def run(*arguments: str) -> Ended:
        return run_prism(monkeypatch, capsys, *arguments)

    return run


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., str]:
    """Write a configuration that asks a server, and return its name."""

    def write(host: str, **llm: object) -> str:
        settings = {"host": host, "request": {"headers": {"X-Token": "$MY_GATE"}}, **llm}
        (tmp_path / "model.yaml").write_text(yaml.safe_dump({**SECTIONS, "llm": settings}))
        return "model.yaml"

    return write


def test_a_run_shows_how_it_asks_replays_so_without_a_server_and_says_when_a_resume_asks_otherwise(
    prism: Prism, write: Callable[..., str], tmp_path: Path
) -> None:
    with ModelServer(ServerSettings(quirks=("no_schema",))) as server:
        config = write(server.url)
        ended = prism("run", config, "--out", "run", "--ticks", "12")
        assert ended.code == 0, ended.err
        assert server.statistics().statuses[400] == 1, "what was refused once is not sent again"
        assert "json_object, recorded; answers are kept to JSON" in ended.err.splitlines()[0]
        assert json.loads((tmp_path / "run" / "manifest.json").read_text())["dialect"] == "json_object"
        assert rows(prism("doctor", config).out)["answers by"] == "json_object"
        replay = ("--set", "oracle.tape=replay", "--set", "oracle.tape_path=run/tape.sqlite", "--ticks", "12")
        again = prism("run", config, "--out", "again", *replay)
        assert again.code == 0, again.err
        assert rows(prism("doctor", config, *replay[:4]).out)["answered by"] == "json_object"
        digests = [json.loads((tmp_path / run / "summary.json").read_text())["digest"] for run in ("run", "again")]
        assert digests[0] == digests[1]
        server.settings = ServerSettings()
        otherwise = prism("resume", "run", "--ticks", "18")
        as_before = prism("resume", "run", "--ticks", "24")
    assert "asked otherwise than before the resume: json_schema, was json_object" in otherwise.err
    assert "otherwise" not in as_before.err
    for file in (path for run in ("run", "again") for path in (tmp_path / run).rglob("*.*")):
        assert SECRET.encode() not in file.read_bytes(), file
    assert SECRET not in ended.out + ended.err


def test_a_variable_that_is_not_set_is_one_line_before_anything_is_asked(
    prism: Prism, write: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MY_GATE")
    config = write("http://127.0.0.1:9")
    line = (
        "prism: llm.request.headers.X-Token: the environment variable MY_GATE is not set; set it, or leave "
        "llm.request.headers.X-Token out\n"
    )
    for command in (("validate", config), ("run", config, "--out", "run"), ("doctor", config)):
        ended = prism(*command)
        assert (ended.code, ended.err) == (5, line)
