"""Shards in processes of Ray: one is killed, then the whole run, and it goes on in another number of shards."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from actors.record.manifest import read_summary

pytestmark = [
    pytest.mark.slow,
    pytest.mark.process,
    pytest.mark.network,
    pytest.mark.skipif(find_spec("ray") is None, reason="needs ray"),
]

STARTS_S = 240.0
"""Only a hang takes this long: on a busy machine Ray starts in a minute or two."""
CONFIG = """
simulation: {rounds: 12, ticks_per_round: 24, seed: 5}
population: {size: 300, activity: {mean: 0.9, sigma: 0.1}}
run: {checkpoint_every_ticks: 24, activation: compiled, tick_s: 0.02}
"""


def command(*words: str | Path) -> list[str]:
    return [sys.executable, "-m", "actors.cli", *map(str, words)]


def events(run: Path, name: str) -> list[dict[str, Any]]:
    """Return the events with a name in a run's log."""
    log = run / "log.jsonl"
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    return [each for line in lines if line.endswith("}") and (each := json.loads(line))["event"] == name]


def wait_for(run: Path, name: str, process: subprocess.Popen[str], count: int = 1) -> list[dict[str, Any]]:
    """Return the events with a name, once there are so many."""
    until = time.monotonic() + STARTS_S
    while len(found := events(run, name)) < count:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until, f"no {name} in {run}"
        time.sleep(0.02)
    return found


def begun(*words: str | Path, place: Path) -> subprocess.Popen[str]:
    environment = os.environ | {"PRISM_JIT": "0", "RAY_USAGE_STATS_ENABLED": "0"}
    return subprocess.Popen(
        command(*words), cwd=place, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment
    )


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run in one process; beside it is its configuration."""
    place = tmp_path_factory.mktemp("whole")
    (place / "config.yaml").write_text(CONFIG, encoding="utf-8")
    ended(begun("run", "config.yaml", "--out", "run", "-q", place=place))
    return place / "run"


def ended(process: subprocess.Popen[str]) -> None:
    """Wait for a process that ends well."""
    out, _ = process.communicate(timeout=STARTS_S)
    assert process.returncode == 0, out


def in_two_shards(whole: Path, run: Path) -> subprocess.Popen[str]:
    """Return a process with the same run in two shards, once it has some checkpoints."""
    config = whole.parent / "config.yaml"
    process = begun("run", config, "--out", run, "-q", "--set", "run.shards=2", place=run.parent)
    wait_for(run, "checkpoint_written", process, 2)
    return process


def assert_same(run: Path, whole: Path) -> None:
    assert read_summary(run)["digest"] == read_summary(whole)["digest"]
    for name in ("journal.prism", "rounds.csv"):
        assert (run / name).read_bytes() == (whole / name).read_bytes()


def test_a_run_loses_a_shard_and_goes_on_by_itself(tmp_path: Path, whole: Path) -> None:
    run = tmp_path / "run"
    process = in_two_shards(whole, run)
    places = events(run, "shards_ready")[0]["places"]
    os.kill(int(places[0].rpartition(":")[2]), signal.SIGKILL)
    assert wait_for(run, "shard_lost", process)[0]["shard"] == 1
    ended(process)
    assert read_summary(run)["resumes"] == 1
    assert_same(run, whole)


def test_a_run_loses_its_engine_and_is_resumed_in_three_shards(tmp_path: Path, whole: Path) -> None:
    run = tmp_path / "run"
    process = in_two_shards(whole, run)
    process.kill()
    process.communicate()
    ended(begun("resume", run, "-q", "--set", "run.shards=3", place=tmp_path))
    assert_same(run, whole)
