"""Real signals to a real run whose server is away: it ends in seconds, with whole ticks, and goes on from there."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest
import yaml

from actors.store.oracle_log import ANSWERS
from tests.command import Prism, run_prism
from tests.durability.process_runs import whole_ticks
from tests.paths import ROOT
from tests.patience import HANG_S
from tests.standin import Fault, FaultPlan, ModelServer, ModelServerProcess, ServerSettings
from tests.wire.support import settings

SOON_S = 20.0
"""Far less than the patience of a run, a probe's deadline or a call's time, and more than a busy machine takes."""

SECTIONS: dict[str, Any] = {
    "oracle": {"deadline_s": 600.0, "outage_patience_s": 3600.0},
    "population": {"deliberation_minutes": 0.0},
    "llm": {"systemone": "off", "timeout_s": HANG_S},
    "run": {"tick_s": 0.05, "checkpoint_every_ticks": 5},
}


def begin(host: str, directory: Path, **sections: dict[str, Any]) -> subprocess.Popen[str]:
    (directory / "wire.yaml").write_text(yaml.safe_dump(settings(host, **{**SECTIONS, **sections})))
    command = [sys.executable, "-m", "actors.cli", "run", "wire.yaml", "--out", "run", "--quiet"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
    return subprocess.Popen(
        command, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )


def wait_until(process: subprocess.Popen[str], file: Path, holds: bytes = b"", *, size: int = 0) -> None:
    """Wait until a file of the run has this content and this size."""
    give_up = monotonic() + HANG_S
    while not (file.exists() and file.stat().st_size >= size and holds in file.read_bytes()):
        assert process.poll() is None, process.communicate()
        assert monotonic() < give_up
        sleep(0.02)


def wait_until_it_stands(process: subprocess.Popen[str], answers: Path) -> None:
    """Wait until no answer has come for a second."""
    size = -1
    while answers.stat().st_size != size:
        size = answers.stat().st_size
        sleep(1.0)
    assert process.poll() is None, process.communicate()


def stop(process: subprocess.Popen[str], kind: signal.Signals) -> str:
    """Send the signal; return the last line of the run, which has ended soon."""
    begun = monotonic()
    process.send_signal(kind)
    _, err = process.communicate(timeout=HANG_S)
    assert monotonic() - begun < SOON_S
    assert process.returncode == 128 + kind
    return err.splitlines()[-1]


@pytest.mark.slow
@pytest.mark.parametrize("kind", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_a_signal_while_a_killed_server_is_away_ends_the_run_at_a_whole_tick_and_it_goes_on_from_there(
    kind: signal.Signals,
    prism: Prism,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = tmp_path / "run"
    with ModelServerProcess() as server:
        undisturbed = prism(server.url, out="undisturbed", **{**SECTIONS, "run": {}}).out
        process = begin(server.url, tmp_path)
        try:
            wait_until(process, run / ANSWERS, size=4000)
            server.stop()
            wait_until(process, run / "log.jsonl", b"oracle_away")
            line = stop(process, kind)
        finally:
            process.kill()
        ticks, damage = whole_ticks(run)
        assert damage is None
        assert ticks >= 5
        assert line.startswith(
            f"prism: stopped by {kind.name} after {ticks:,} whole ticks, while the oracle was away ("
        )
        assert list(run.glob("checkpoint-*.bin"))
        stopped = json.loads((run / "manifest.json").read_text())["stopped"]
        assert (stopped["tick"], stopped["reason"]) == (ticks, kind.name)
        (row,) = run_prism(monkeypatch, capsys, "runs", "run").out.splitlines()[1:]
        assert row.split()[2:4] == ["stopped", "yes"]
        assert f"by {kind.name} (connection_error)" in row
        server.start()
        assert run_prism(monkeypatch, capsys, "resume", "run", "--quiet") == (0, undisturbed, "")


@pytest.mark.slow
@pytest.mark.parametrize("timeout_s", [2.0, 12.0])
def test_a_signal_while_a_server_hangs_ends_the_run_soon_and_does_not_wait_for_a_probe(
    timeout_s: float, tmp_path: Path
) -> None:
    hangs = ServerSettings(faults=FaultPlan(at=dict.fromkeys(range(60, 100_000), Fault.HANG)))
    with ModelServer(hangs) as server:
        process = begin(server.url, tmp_path, llm={"systemone": "off", "timeout_s": timeout_s})
        try:
            wait_until(process, tmp_path / "run" / ANSWERS, size=3000)
            if timeout_s < 10.0:
                wait_until(process, tmp_path / "run" / "log.jsonl", b"oracle_away")
            wait_until_it_stands(process, tmp_path / "run" / ANSWERS)
            line = stop(process, signal.SIGINT)
        finally:
            process.kill()
    ticks, damage = whole_ticks(tmp_path / "run")
    assert (damage, f"after {ticks:,} whole ticks, while the oracle was away (" in line) == (None, True)
