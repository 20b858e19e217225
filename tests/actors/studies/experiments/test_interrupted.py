"""An experiment whose processes are killed, or whose disk is full: it is run again, and has the same table."""

import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.actors.studies.experiments.files import EXPERIMENT, write_experiment
from tests.command import begin, end
from tests.patience import wait_until

pytestmark = pytest.mark.slow

TEXT = EXPERIMENT.replace("seeds: 3", "seeds: 6")
BASE = """
simulation: {rounds: 12, ticks_per_round: 24}
population: {size: 60, activity: {mean: 0.9, sigma: 0.1}}
"""


def begun(directory: Path, out: str) -> subprocess.Popen[str]:
    options = ("--jobs", "2", "--quiet")
    return begin("experiment", "e.yaml", "--out", out, *options, cwd=directory, stdout=subprocess.DEVNULL)


def table_of(process: subprocess.Popen[str], directory: Path) -> bytes:
    end(process)
    return (directory / "results.csv").read_bytes()


def wait_for(cells: int, process: subprocess.Popen[str], out: Path) -> None:
    """Wait until so many cells of a driver have ended."""
    wait_until(lambda: len([*out.glob("cells/*/summary.json")]) >= cells, process)


def workers(driver: int) -> list[int]:
    """Return the processes that work for a driver: those that the server of its pool has forked."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            children.setdefault(int(entry.read_text().rpartition(")")[2].split()[1]), []).append(int(entry.parent.name))
    return [worker for server in children.get(driver, []) for worker in children.get(server, [])]


def test_killed_drivers_and_workers_change_nothing_in_the_table(tmp_path: Path) -> None:
    write_experiment(tmp_path, TEXT, BASE)
    table = table_of(begun(tmp_path, "whole"), tmp_path / "whole")
    for cells in (1, 4, 9):
        driver = begun(tmp_path, "killed")
        wait_for(cells, driver, tmp_path / "killed")
        driver.kill()
        driver.communicate()
    assert table_of(begun(tmp_path, "killed"), tmp_path / "killed") == table
    driver = begun(tmp_path, "struck")
    for cells in (1, 4):
        wait_for(cells, driver, tmp_path / "struck")
        os.kill(workers(driver.pid)[0], signal.SIGKILL)
    assert table_of(driver, tmp_path / "struck") == table


NAMESPACE = ("unshare", "--map-root-user", "--mount", "sh", "-c")
SCRIPT = """
mkdir out && mount -t tmpfs -o size=300k tmpfs out || exit 99
$0 -m actors.cli experiment e.yaml --out out --jobs 1 2> full.txt
echo $? > full.code
cp -r out/cells kept
mount -o remount,size=50m out
$0 -m actors.cli experiment e.yaml --out out --jobs 2 2> again.txt
echo $? > again.code
cp out/results.csv again.csv
$0 -m actors.cli experiment e.yaml --out whole --jobs 2 --quiet
"""


def test_a_full_disk_is_said_and_with_more_room_the_table_is_the_same(tmp_path: Path) -> None:
    if shutil.which("unshare") is None:
        pytest.skip("needs unshare")
    write_experiment(tmp_path)
    ended = subprocess.run(
        [*NAMESPACE, SCRIPT, sys.executable], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=240
    )
    if not (tmp_path / "full.code").exists():
        pytest.skip(f"needs a file system of its own: {ended.stderr.strip()}")
    full = (tmp_path / "full.txt").read_text()
    assert (tmp_path / "full.code").read_text().strip() in {"1", "2"}
    assert "No space left on device" in full.splitlines()[-1] or "cells have no result" in full.splitlines()[-1]
    assert "Traceback" not in full
    assert "prism resume" not in full
    assert "free some space, then run the same command again" in full
    kept = len(list((tmp_path / "kept").glob("*/summary.json")))
    assert 0 < kept < 6
    assert (tmp_path / "again.code").read_text().strip() == "0"
    assert (tmp_path / "again.txt").read_text().count(", seed ") == 6 - kept, "what was done is kept"
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "whole" / "results.csv").read_bytes()
