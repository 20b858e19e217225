"""Shards in processes of Ray: one is killed, then the whole run, and it goes on in another number of shards."""

from __future__ import annotations

import os
import signal
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

from actors.record.manifest import read_summary
from tests.durability.sharded_runs import assert_same, begun, ended, events, wait_for

pytestmark = [
    pytest.mark.slow,
    pytest.mark.process,
    pytest.mark.network,
    pytest.mark.skipif(find_spec("ray") is None, reason="needs ray"),
]


def in_two_shards(whole: Path, run: Path) -> subprocess.Popen[str]:
    """Return a process with the same run in two shards, once it has some checkpoints."""
    config = whole.parent / "config.yaml"
    process = begun("run", config, "--out", run, "-q", "--set", "run.shards=2", place=run.parent)
    wait_for(run, "checkpoint_written", process, 2)
    return process


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
