"""`prism testing`: the server from a shell, its faults, its counts, and how it refuses."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from actors.testing import Fault, FaultPlan, ModelServer
from tests.actors.testing.test_server import CHAT
from tests.catalogue import catalogue
from tests.command import Prism
from tests.patience import HANG_S


class Serving:
    """`prism testing serve` in a process of its own."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        self._process = process
        self.url = process.stdout.readline().removeprefix("listening on ").strip()

    def ask(self, count: int) -> list[int]:
        """The statuses of so many questions, one after the other; 0 where the connection broke."""
        statuses = []
        with httpx.Client(base_url=self.url, trust_env=False, timeout=HANG_S) as client:
            for _ in range(count):
                try:
                    statuses.append(client.post("/api/chat", json=CHAT).status_code)
                except httpx.TransportError:
                    statuses.append(0)
        return statuses

    def end(self, number: signal.Signals) -> str:
        """What it prints once it was told to end."""
        self._process.send_signal(number)
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        out, err = self._process.stdout.read(), self._process.stderr.read()
        assert (self._process.wait(), err) == (0, "")
        return out


@contextmanager
def serving(*options: str) -> Iterator[Serving]:
    command = [sys.executable, "-m", "actors.cli", "testing", "serve", "--port", "0", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield Serving(process)
        finally:
            process.kill()


def test_it_says_where_it_listens_how_to_try_it_and_at_ctrl_c_what_it_was_asked(tmp_path: Path) -> None:
    log = tmp_path / "requests.log"
    with serving("--fault-at", "2=error", "--fault-at", "3=reset", "--log", str(log)) as server:
        assert server.ask(4) == [200, 500, 0, 200]
        said = server.end(signal.SIGINT).splitlines()
    assert said[:5] == [
        "try it from another terminal:",
        "  prism init --example ollama",
        f"  prism run ollama/prism.yaml --set llm.host={server.url}",
        "Ctrl-C ends it and prints what it was asked.",
        "",
    ]
    counts = dict(line.strip().split("  ", 1) for line in said[5:])
    assert counts["calls"].strip().startswith("4 in ")
    found = {name: text.strip() for name, text in counts.items() if name != "calls"}
    assert found == {
        "failed as told": "2",
        "reset": "1",
        "error": "1",
        "given up by the client": "0",
        "requests by status": "200: 2, 500: 1, none: 1",
        "in slots at once": "1 at most",
    }
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(line["call"], line["fault"], line["status"]) for line in lines] == [
        (1, None, 200),
        (2, "error", 500),
        (3, "reset", None),
        (4, None, 200),
    ]
    assert lines[0]["body"] == CHAT


def test_every_option_reaches_the_server(monkeypatch: pytest.MonkeyPatch, prism: Prism) -> None:
    made: list[ModelServer] = []

    def make(*arguments: Any, **options: Any) -> ModelServer:
        made.append(ModelServer(*arguments, **options))
        return made[-1]

    monkeypatch.setattr("actors.cli.testing._wait_for_signal", lambda: None)
    monkeypatch.setattr("actors.cli.testing.ModelServer", make)
    options = (
        "--port 0 --model a --model b --slots 7 --latency 2 --p99 4 --seed 11 --faults 0.08 --fault hang=0.5 "
        "--fault-at 3=cut"
    )
    ended = prism("testing", "serve", *options.split())
    assert ended.code == 0, ended.err
    assert f"--set llm.host={made[0].url} --set llm.model=a" in ended.out
    settings = made[0].settings
    assert (settings.models, settings.slots) == (("a", "b"), 7)
    assert (settings.latency.mean_s, settings.latency.p99_s, settings.latency.seed) == (2, 4, 11)
    even = dict.fromkeys(Fault, 0.01)
    assert settings.faults == FaultPlan(shares={**even, Fault.HANG: 0.5}, at={3: Fault.CUT}, seed=11)


@catalogue(
    ("options", "line"),
    [
        ("--fault hang=0.9 --fault cut=0.2", "shares of faults: must be at least 0 and at most 1 together, not "),
        ("--p99 8", "latency p99_s: needs a mean_s above 0"),
        ("--latency 1 --p99 20", "latency p99_s: must be 1 to 15.0 times mean_s, not 20.0"),
        (
            "--fault fire=0.1",
            "Invalid value for '--fault': 'fire=0.1' is not NAME=SHARE, as in hang=0.1; faults are hang, cut, ",
        ),
        ("--fault hang", "Invalid value for '--fault': 'hang' is not NAME=SHARE, as in hang=0.1"),
        ("--fault-at x=hang", "Invalid value for '--fault-at': 'x=hang' is not N=NAME, as in 3=reset"),
        ("--fault-at 0=hang", "call of a fault: calls are counted from 1, not 0"),
        ("--latency inf", "latency mean_s: must be a finite number from 0 on, not inf"),
        ("--faults 2", "Invalid value for '--faults': 2.0 is not in the range 0<=x<=1"),
        ("--log no/such/dir.log", "--log: no/such/dir.log: cannot be written: No such file or directory"),
    ],
)
def test_wrong_options_are_one_line_and_exit_code_2(options: str, line: str, prism: Prism) -> None:
    ended = prism("testing", "serve", "--port", "0", *options.split())
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.splitlines()[-1].startswith(f"prism: {line}")
