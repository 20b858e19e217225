"""An experiment on a disk that is full: cells and command say so, and with more room it goes on to the same table."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.actors.studies.experiments.files import write_experiment

pytestmark = pytest.mark.slow

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
