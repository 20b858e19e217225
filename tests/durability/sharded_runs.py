"""Runs in shards as commands, and what their logs say."""

import json
import subprocess
from pathlib import Path
from typing import Any

from actors.store.manifest import read_summary
from tests.command import begin
from tests.patience import wait_until
from tests.plain import plain_text

STARTS_S = 240.0
"""Only a hang takes this long: on a busy machine Ray starts in a minute or two."""
CONFIG = plain_text("""
simulation: {rounds: 12, ticks_per_round: 24, seed: 5}
population: {size: 300, activity: {mean: 0.9, sigma: 0.1}}
run: {checkpoint_every_ticks: 24, activation: compiled, tick_s: 0.02}
""")


def events(run: Path, name: str) -> list[dict[str, Any]]:
    """Return the events with a name in a run's log."""
    log = run / "log.jsonl"
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    return [each for line in lines if line.endswith("}") and (each := json.loads(line))["event"] == name]


def wait_for(run: Path, name: str, process: subprocess.Popen[str], count: int = 1) -> list[dict[str, Any]]:
    """Return the events with a name, once there are so many."""
    wait_until(lambda: len(events(run, name)) >= count, process, within_s=STARTS_S)
    return events(run, name)


def begun(*words: str | Path, place: Path, cluster: str = "") -> subprocess.Popen[str]:
    """Begin a command in a directory, with the address of its cluster."""
    environment = {"PRISM_JIT": "0", "RAY_USAGE_STATS_ENABLED": "0", "RAY_ADDRESS": cluster}
    return begin(*words, cwd=place, env=environment, stderr=subprocess.STDOUT)


def ended(process: subprocess.Popen[str]) -> None:
    """Wait for a process that ends well."""
    out, _ = process.communicate(timeout=STARTS_S)
    assert process.returncode == 0, out


def assert_same(run: Path, whole: Path) -> None:
    assert read_summary(run)["digest"] == read_summary(whole)["digest"]
    for name in ("journal.prism", "rounds.csv"):
        assert (run / name).read_bytes() == (whole / name).read_bytes()
