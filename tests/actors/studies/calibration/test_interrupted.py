"""A calibration whose process is killed: it is run again, and has the same files."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from time import monotonic, sleep

import pytest

from actors.studies.calibration.files import CONFIGURATION, PAGE, RESULT
from tests.actors.studies.calibration.files import write_calibration
from tests.patience import HANG_S

pytest.importorskip("sklearn")
pytestmark = pytest.mark.slow


def begun(directory: Path, out: str, jobs: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "actors.cli", "calibrate", "c.yaml", "--out", out, "--jobs", str(jobs), "--quiet"]
    return subprocess.Popen(command, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def ended(process: subprocess.Popen[bytes]) -> None:
    _, errors = process.communicate(timeout=240)
    assert process.returncode == 0, errors.decode()


def killed_after(cells: int, directory: Path, out: str) -> None:
    """Kill a calibration once so many of its cells have ended."""
    process, give_up = begun(directory, out, 2), monotonic() + HANG_S
    while len([*(directory / out / "cells").glob("*/summary.json")]) < cells:
        assert process.poll() is None, process.communicate()
        assert monotonic() < give_up
        sleep(0.01)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL, "it had cells left"


def files(directory: Path) -> dict[str, bytes]:
    return {name: (directory / name).read_bytes() for name in (CONFIGURATION, RESULT, PAGE)}


def test_a_killed_calibration_goes_on_and_has_the_same_files_with_any_number_of_processes(tmp_path: Path) -> None:
    write_calibration(tmp_path)
    ended(begun(tmp_path, "whole", 1))
    for cells in (4, 52):  # in the design, and after it
        killed_after(cells, tmp_path, "killed")
    ended(begun(tmp_path, "killed", 2))
    assert files(tmp_path / "killed") == files(tmp_path / "whole")
    started = subprocess.run(
        [sys.executable, "-m", "actors.cli", "run", "killed/calibrated.yaml", "--set", "feed.size=3"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    said = re.search(r"calibrated on 2 targets, holdout ([0-9.]+)", started.stderr)
    kept = json.loads((tmp_path / "whole" / RESULT).read_bytes())["result"]["holdout"]
    assert said is not None
    assert float(said[1]) == pytest.approx(kept, rel=0.01)
    assert "but feed.size was changed" in started.stderr
