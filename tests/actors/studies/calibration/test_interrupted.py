"""A calibration whose process is killed: it is run again, and has the same files."""

import json
import re
import signal
import subprocess
from pathlib import Path

import pytest

from actors.studies.calibration import CONFIGURATION, RESULT
from tests.actors.studies.calibration.files import write_calibration
from tests.command import begin, end
from tests.patience import wait_until

pytest.importorskip("sklearn")
pytestmark = pytest.mark.slow


def begun(directory: Path, out: str, jobs: int) -> subprocess.Popen[str]:
    return begin("calibrate", "c.yaml", "--out", out, "--jobs", str(jobs), "--quiet", cwd=directory)


def killed_after(cells: int, directory: Path, out: str) -> None:
    """Kill a calibration once so many of its cells have ended."""
    process = begun(directory, out, 2)
    wait_until(lambda: len([*(directory / out / "cells").glob("*/summary.json")]) >= cells, process)
    process.kill()
    end(process, -signal.SIGKILL)  # it had cells left


def files(directory: Path) -> dict[str, bytes]:
    return {name: (directory / name).read_bytes() for name in (CONFIGURATION, RESULT)}


def test_a_killed_calibration_goes_on_and_has_the_same_files_with_any_number_of_processes(tmp_path: Path) -> None:
    write_calibration(tmp_path)
    end(begun(tmp_path, "whole", 1))
    for cells in (4, 52):  # in the design, and after it
        killed_after(cells, tmp_path, "killed")
    end(begun(tmp_path, "killed", 2))
    assert files(tmp_path / "killed") == files(tmp_path / "whole")
    started = end(begin("run", "killed/calibrated.yaml", "--set", "feed.size=3", cwd=tmp_path))
    said = re.search(r"calibrated on 2 targets, holdout ([0-9.]+)", started.err)
    kept = json.loads((tmp_path / "whole" / RESULT).read_bytes())["result"]["holdout"]
    assert said is not None
    assert float(said[1]) == pytest.approx(kept, rel=0.01)
    assert "but feed.size was changed" in started.err
