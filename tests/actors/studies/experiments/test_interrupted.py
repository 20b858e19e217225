"""An experiment whose processes are killed: it is run again, and has the same table."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.actors.studies.experiments.files import EXPERIMENT, write_experiment

pytestmark = pytest.mark.slow

TEXT = EXPERIMENT.replace("seeds: 3", "seeds: 6")
BASE = """
simulation: {rounds: 12, ticks_per_round: 24}
population: {size: 60, activity: {mean: 0.9, sigma: 0.1}}
"""


def begun(directory: Path, out: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "actors.cli", "experiment", "e.yaml", "--out", out, "--jobs", "2", "--quiet"]
    return subprocess.Popen(command, cwd=directory, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def ended(process: subprocess.Popen[bytes]) -> bytes:
    _, errors = process.communicate(timeout=240)
    assert process.returncode == 0, errors.decode()
    return errors


def workers(driver: int) -> list[int]:
    """Return the processes that work for a driver: those that the server of its pool has forked."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            children.setdefault(parent, []).append(int(entry.name))
    return [worker for server in children.get(driver, []) for worker in children.get(server, [])]


def test_killed_drivers_and_workers_change_nothing_in_the_table(tmp_path: Path) -> None:
    write_experiment(tmp_path, TEXT, BASE)
    ended(begun(tmp_path, "whole"))
    table = (tmp_path / "whole" / "results.csv").read_bytes()
    chance, kills = random.Random(11), 0
    for _ in range(5):
        driver = begun(tmp_path, "killed")
        time.sleep(chance.uniform(1.2, 3.0))
        if driver.poll() is None:
            kills += 1
            driver.kill()
        driver.communicate()
    assert kills >= 3
    driver = begun(tmp_path, "killed")
    ended(driver)
    assert (tmp_path / "killed" / "results.csv").read_bytes() == table

    driver, struck = begun(tmp_path, "struck"), 0
    until = time.monotonic() + 60
    while driver.poll() is None and struck < 2 and time.monotonic() < until:
        found = workers(driver.pid)
        if found and any((tmp_path / "struck" / "cells").glob("*/journal.prism")):
            os.kill(found[0], signal.SIGKILL)
            struck += 1
            time.sleep(1.0)
        time.sleep(0.05)
    ended(driver)
    assert struck, "a worker was killed"
    assert (tmp_path / "struck" / "results.csv").read_bytes() == table
