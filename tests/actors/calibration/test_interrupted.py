"""A calibration whose process is killed: it is run again, and has the same files."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from actors.calibration.files import CONFIGURATION, PAGE, RESULT
from tests.actors.calibration.files import write_calibration

pytest.importorskip("sklearn")
pytest.importorskip("optuna")
pytestmark = [pytest.mark.slow, pytest.mark.process, pytest.mark.network]


def begun(directory: Path, out: str, jobs: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "actors.cli", "calibrate", "c.yaml", "--out", out, "--jobs", str(jobs), "--quiet"]
    return subprocess.Popen(command, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def ended(process: subprocess.Popen[bytes]) -> None:
    _, errors = process.communicate(timeout=240)
    assert process.returncode == 0, errors.decode()


def files(directory: Path) -> dict[str, bytes]:
    return {name: (directory / name).read_bytes() for name in (CONFIGURATION, RESULT, PAGE)}


def test_a_killed_calibration_goes_on_and_has_the_same_files_with_any_number_of_processes(tmp_path: Path) -> None:
    write_calibration(tmp_path)
    ended(begun(tmp_path, "whole", 1))
    chance, kills = random.Random(5), 0
    for _ in range(2):
        process = begun(tmp_path, "killed", 2)
        time.sleep(chance.uniform(3.0, 5.0))
        if process.poll() is None:
            kills += 1
            process.kill()
        process.communicate()
    assert kills
    ended(begun(tmp_path, "killed", 2))
    assert files(tmp_path / "killed") == files(tmp_path / "whole")
    started = subprocess.run(
        [sys.executable, "-m", "actors.cli", "run", "killed/calibrated.yaml", "--set", "feed.size=3"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "calibrated on 2 targets, holdout 0." in started.stderr
    assert "but feed.size was changed" in started.stderr
