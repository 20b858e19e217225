"""`prism shadow` over a socket: the run stays as it is, and no answer is paid twice."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

from tests.command import Ended, Prism, run_prism
from tests.paths import ROOT
from tests.patience import HANG_S
from tests.standin import Latency, ModelServer, ServerSettings

SECTIONS: dict[str, Any] = {
    "simulation": {"rounds": 2},
    "population": {"size": 150},
    "llm": {"systemone": "off"},
    "run": {"checkpoint_every_ticks": 0},
}
CHECKS = 5
"""More calls than the check of the server at the start makes."""

Command = Callable[..., Ended]


@pytest.fixture
def command(prism: Prism, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Return a function that runs any command where `prism` has run."""
    return lambda *arguments: run_prism(monkeypatch, capsys, *arguments)


def figures(run: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((Path(run) / "shadow.json").read_text())
    return {name: loaded[name] for name in ("questions", "outcomes", "divergence")}


def test_the_oracle_of_the_run_is_asked_and_each_answer_is_paid_once(prism: Prism, command: Command) -> None:
    with ModelServer() as server:
        assert prism(server.url, **SECTIONS).code == 0
        before = {path.name: path.read_bytes() for path in Path("run").iterdir() if path.is_file()}
        calls = len(server.calls)
        assert command("shadow", "run", "--share", "0.3").code == 0
        asked, found = len(server.calls) - calls, figures("run")
        assert found["questions"] > 20
        assert found["outcomes"] == {"answered": found["questions"]}
        assert found["divergence"][0]["against"].keys() == {"rule", "embedded"}
        assert found["questions"] <= asked < found["questions"] + CHECKS
        after = {path.name: path.read_bytes() for path in Path("run").iterdir() if path.is_file()}
        assert after.keys() - before.keys() == {"shadow.json", "shadow.sqlite"}
        assert {name: after[name] for name in before} == before
        calls = len(server.calls)
        assert command("shadow", "run", "--share", "0.3").code == 0
        assert len(server.calls) - calls < CHECKS
        assert figures("run") == found
        calls = len(server.calls)
        assert command("shadow", "run", "--share", "0.6").code == 0
        more = figures("run")["questions"] - found["questions"]
        assert 0 < more <= len(server.calls) - calls < more + CHECKS
    assert command("replay", "run", "--quiet").code == 0
    assert command("verify", "run").code == 0


def test_an_embedded_run_can_be_put_to_a_model(prism: Prism, command: Command) -> None:
    with ModelServer() as server:
        assert prism(server.url, **SECTIONS, oracle={"backend": "choice"}).code == 0
        assert command("shadow", "run", "--share", "0.3").code == 0
        embedded = figures("run")
        assert not server.calls
        assert command("shadow", "run", "--share", "0.3", "--set", "oracle.backend=ollama").code == 0
        model = figures("run")
        assert len(server.calls) >= model["questions"]
    assert model["questions"] == embedded["questions"]
    ruled = [each["divergence"][0]["choices"]["rule"] for each in (embedded, model)]
    assert ruled[0] == ruled[1]
    oracles = [each["divergence"][0]["choices"]["oracle"] for each in (embedded, model)]
    assert oracles[0] != oracles[1]


def test_a_server_that_is_not_there_is_named_before_anything_is_asked(prism: Prism, command: Command) -> None:
    with ModelServer() as server:
        assert prism(server.url, **SECTIONS).code == 0
    ended = command("shadow", "run")
    assert ended.code == 5
    assert server.url in ended.err
    assert not Path("run/shadow.json").exists()


@pytest.mark.slow
@pytest.mark.parametrize("kind", [signal.SIGINT, pytest.param(signal.SIGKILL, marks=pytest.mark.slow)])
def test_an_interrupted_command_goes_on_with_the_answers_that_it_has(
    kind: signal.Signals, prism: Prism, command: Command, tmp_path: Path
) -> None:
    with ModelServer() as server:
        assert prism(server.url, **SECTIONS).code == 0
        shutil.copytree("run", "undisturbed")
        assert command("shadow", "undisturbed", "--share", "0.5").code == 0
        server.settings = ServerSettings(latency=Latency(mean_s=0.2))
        calls = len(server.calls)
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "actors.cli",
                "shadow",
                "run",
                "--share",
                "0.5",
                "--set",
                "oracle.max_concurrency=2",
            ],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"},
        )
        try:
            give_up = monotonic() + HANG_S
            while len(server.calls) - calls < 20:
                assert process.poll() is None, process.communicate()
                assert monotonic() < give_up
                sleep(0.02)
            process.send_signal(kind)
            _, err = process.communicate(timeout=HANG_S)
        finally:
            process.kill()
        assert process.returncode == (130 if kind == signal.SIGINT else -signal.SIGKILL)
        assert "Traceback" not in err
        assert not Path("run/shadow.json").exists()
        server.settings = ServerSettings()
        calls = len(server.calls)
        assert command("shadow", "run", "--share", "0.5").code == 0
        found = figures("run")
        assert found == figures("undisturbed")
        # About twenty were answered; two may have been under way.
        assert len(server.calls) - calls <= found["questions"] - 20 + 4 + CHECKS
