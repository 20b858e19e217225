"""A run and the process that packs its segments: either is killed, or Ctrl-C ends them, and no tick is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.durability.process_runs import differences, prism
from tests.durability.process_runs import ends as ended
from tests.durability.sharded_runs import events
from tests.packers import ends, packers_of
from tests.paths import ROOT
from tests.patience import HANG_S
from tests.plain import plain_text

pytestmark = pytest.mark.slow

CONFIG = plain_text("""
simulation: {rounds: 8, ticks_per_round: 24, seed: 5}
population: {size: 200, activity: {mean: 0.9, sigma: 0.1}}
run: {checkpoint_every_ticks: 24, segment_mb: 0.05, sync: false, tick_s: 0.02}
""")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run, undisturbed; beside it is its configuration."""
    place = tmp_path_factory.mktemp("whole")
    (place / "config.yaml").write_text(CONFIG, encoding="utf-8")
    ended(prism("run", str(place / "config.yaml"), "--out", str(place / "run"), "-q"))
    assert len([*(place / "run").glob("*.seg")]) > 3
    return place / "run"


def begun_run(whole: Path, run: Path) -> tuple[subprocess.Popen[str], int]:
    """Return a process with the same run, in a process group of its own, and its packer."""
    command = [sys.executable, "-m", "actors.cli", "run", str(whole.parent / "config.yaml"), "--out", str(run), "-q"]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, cwd=ROOT, stdout=pipe, stderr=pipe, text=True, process_group=0)
    until = time.monotonic() + HANG_S
    while not (found := packers_of(process.pid)):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(0.005)
    return process, found[0]


def assert_same(run: Path, whole: Path) -> None:
    assert differences(run, whole) == []
    for segment in whole.glob("*.seg"):
        assert (run / segment.name).read_bytes() == segment.read_bytes()


def test_a_run_that_is_killed_leaves_no_packer_and_is_resumed(tmp_path: Path, whole: Path) -> None:
    process, packer = begun_run(whole, tmp_path / "run")
    process.kill()
    process.communicate()
    ends(packer)
    ended(prism("resume", str(tmp_path / "run"), "-q"))
    assert_same(tmp_path / "run", whole)


def test_ctrl_c_while_a_segment_is_packed_ends_the_run_as_always(tmp_path: Path, whole: Path) -> None:
    process, packer = begun_run(whole, tmp_path / "run")
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=HANG_S)
    assert (process.returncode, "Traceback" in err) == (128 + signal.SIGINT, False), err
    ends(packer)
    assert events(tmp_path / "run", "packer_lost") == []
    assert [*(tmp_path / "run").glob("*.seg")], "what is full is sealed before the end"
    ended(prism("resume", str(tmp_path / "run"), "-q"))
    assert_same(tmp_path / "run", whole)
