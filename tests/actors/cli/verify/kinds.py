"""Runs of every kind, in `made`."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

from actors.store.manifest import SUMMARY
from actors.store.rounds import ROUNDS
from tests.command import Prism
from tests.durability.crashed import undo_seals
from tests.paths import ROOT


def stopped(prism: Prism) -> None:
    cap = ("--set", "oracle.max_calls=10", "--set", "oracle.when_spent=stop")
    assert prism("run", "small.yaml", "-q", *cap, "--out", "made").code == 4


def extended(prism: Prism) -> None:
    assert prism("run", "small.yaml", "-q", "--ticks", "60", "--out", "made").code == 0
    assert prism("resume", "made", "-q", "--ticks", "100").code == 0


def crashed_while_extended(prism: Prism) -> None:
    """Make a run whose summary is of the shorter run, and whose rows after the checkpoint are missing."""
    assert prism("run", "small.yaml", "-q", "--ticks", "48", "--out", "made").code == 0
    summary, checkpoint = Path("made", SUMMARY).read_bytes(), Path("made/checkpoint-000000000048.bin").read_bytes()
    assert prism("resume", "made", "-q", "--ticks", "100").code == 0
    for path in Path("made").glob("checkpoint-*.bin"):
        path.unlink()
    Path("made", SUMMARY).write_bytes(summary)
    Path("made/checkpoint-000000000048.bin").write_bytes(checkpoint)
    rows = Path("made", ROUNDS).read_text().splitlines(keepends=True)
    Path("made", ROUNDS).write_text("".join(rows[:3]))
    undo_seals(Path("made"))


def forced(prism: Prism) -> None:
    assert prism("run", "small.yaml", "-q", "--ticks", "60", "--out", "made").code == 0
    assert prism("resume", "made", "-q", "--ticks", "72", "--set", "llm.model=other", "--accept-settings").code == 0


def forked(prism: Prism) -> None:
    assert prism("run", "small.yaml", "-q", "--out", "one").code == 0
    assert prism("fork", "one", "--at", "24", "--set", "feed.algorithm=hot", "-q", "--out", "two").code == 0
    assert prism("fork", "two", "--at", "50", "--set", "feed.size=3", "-q", "--out", "made").code == 0


def prepared(prism: Prism) -> None:
    assert prism("run", "small.yaml", "-q", "--out", "one").code == 0
    assert prism("fork", "one", "--at", "50", "--set", "feed.size=3", "--prepare", "--out", "made").code == 0


def forked_without_rows(prism: Prism) -> None:
    assert prism("run", "small.yaml", "-q", "--out", "one").code == 0
    Path("one", ROUNDS).unlink()
    assert prism("fork", "one", "--at", "50", "-q", "--out", "two").code == 0
    assert prism("fork", "two", "--at", "72", "--prepare", "--out", "made").code == 0


def killed(prism: Prism) -> None:
    """Make a run in a process that is ended by SIGKILL."""
    options = ("--set", "run.tick_s=0.01", "--set", "run.checkpoint_every_ticks=24", "--out", "made")
    command = [sys.executable, "-m", "actors.cli", "run", str(Path("small.yaml").resolve()), "-q", *options]
    process = subprocess.Popen(command, env={"PYTHONPATH": str(ROOT)})
    while process.poll() is None and len(list(Path("made").glob("checkpoint-*.bin"))) < 2:
        time.sleep(0.001)
    process.kill()
    assert process.wait() == -9


def economic(prism: Prism) -> None:
    shutil.copytree(ROOT / "configs", "configs")
    assert prism("run", "configs/economy.yaml", "-q", "--ticks", "5", "--out", "made").code == 0


def with_inputs(prism: Prism) -> None:
    Path("ties.txt").write_text("1 2\n2 3\n3 1\n")
    assert prism("run", "small.yaml", "-q", "--set", "population.graph.path=ties.txt", "--out", "made").code == 0
