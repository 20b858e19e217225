"""Runs in shards as commands, and what their logs say."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from actors.store.manifest import read_summary
from tests.plain import plain_text

STARTS_S = 240.0
"""Only a hang takes this long: on a busy machine Ray starts in a minute or two."""
CONFIG = plain_text("""
simulation: {rounds: 12, ticks_per_round: 24, seed: 5}
population: {size: 300, activity: {mean: 0.9, sigma: 0.1}}
run: {checkpoint_every_ticks: 24, activation: compiled, tick_s: 0.02}
""")


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


def begun(*words: str | Path, place: Path, cluster: str = "") -> subprocess.Popen[str]:
    """Begin a command in a directory, with the address of its cluster."""
    environment = os.environ | {"PRISM_JIT": "0", "RAY_USAGE_STATS_ENABLED": "0", "RAY_ADDRESS": cluster}
    return subprocess.Popen(
        command(*words), cwd=place, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment
    )


def ended(process: subprocess.Popen[str]) -> None:
    """Wait for a process that ends well."""
    out, _ = process.communicate(timeout=STARTS_S)
    assert process.returncode == 0, out


def assert_same(run: Path, whole: Path) -> None:
    assert read_summary(run)["digest"] == read_summary(whole)["digest"]
    for name in ("journal.prism", "rounds.csv"):
        assert (run / name).read_bytes() == (whole / name).read_bytes()
