"""`prism watch`: what it shows of a run from the run's files, and what it says of one that is not under way."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from actors.cli.watch import WatchedRun
from actors.runs.directory import RunDirectory
from actors.store.lock import locked
from actors.store.manifest import Stop
from tests.command import Prism
from tests.patience import HANG_S


@pytest.fixture
def under_way(small_run: Path, tmp_path: Path) -> Iterator[Path]:
    """Return a run that a process works on, which is this one; it waits for its oracle."""
    run = Path(shutil.copytree(small_run, tmp_path / "run"))
    (run / "summary.json").unlink()
    with locked(run):
        note = {"phase": "waiting_for_oracle", "since": time.time() + 1.0, "reason": "time\x1bout"}
        (run / "phase.json").write_text(json.dumps(note))
        yield run


def test_a_view_has_the_phase_the_ticks_and_the_rounds_of_the_files(under_way: Path, prism: Prism) -> None:
    ended = prism("watch", str(under_way), "--once")
    assert (ended.code, ended.err) == (0, "")
    lines = ended.out.splitlines()
    assert f"{under_way} ! waiting_for_oracle for 0 s" in "".join(lines[:2])
    assert r"time\x1bout" in ended.out
    assert "\x1b" not in ended.out
    assert "tick 72 of 72 (100%)" in ended.out
    rounds = (under_way / "rounds.csv").read_text().splitlines()
    likes = rounds[-1].split(",")[rounds[0].split(",").index("likes")]
    (row,) = (line.split() for line in lines if line.split()[:1] == ["likes"])
    assert row[-1] == f"{int(likes):,}"


def test_the_pace_is_that_of_the_latest_looks_and_a_wait_has_no_end(under_way: Path) -> None:
    now = [0.0]
    run = WatchedRun(under_way, lambda: now[0])
    journal = under_way / "journal.prism"
    whole = journal.read_bytes()
    for checkpoint in under_way.glob("checkpoint-*.bin"):
        checkpoint.unlink()
    journal.write_bytes(whole[: len(whole) // 2])
    run.look()
    assert (run.ticks_per_s, run.ended) == (0.0, "")
    before = run.run.ticks
    assert 0 < before < 72
    journal.write_bytes(whole)
    now[0] = 2.0
    run.look()
    assert run.ticks_per_s == (72 - before) / 2
    assert "to go" not in run.line()
    (under_way / "phase.json").write_text(json.dumps({"phase": "running", "since": time.time() + 1.0}))
    run.look()
    assert run.line().startswith(f"{under_way}: running | tick 72 of 72 (100%), 60 agents, ")
    assert run.line().endswith("0 s to go")


@pytest.mark.parametrize("options", [(), ("--once",)])
def test_a_run_that_is_not_under_way_is_not_waited_for(
    options: tuple[str, ...], prism: Prism, small_run: Path, tmp_path: Path
) -> None:
    runs = {name: Path(shutil.copytree(small_run, tmp_path / name)) for name in ("done", "stopped", "killed", "broken")}
    for name in ("stopped", "killed"):
        (runs[name] / "summary.json").unlink()
    RunDirectory(runs["stopped"]).record_stop(Stop(tick=72, reason="outage", detail="timeout"))
    (runs["broken"] / "journal.prism").write_bytes(b"")
    again = {name: f"; continue with: prism resume {path}" for name, path in runs.items()}
    told = {
        "done": "done after 72 ticks",
        "stopped": f"stopped by outage (timeout) after 72 ticks{again['stopped']}",
        "killed": f"its process is gone, after 72 ticks{again['killed']}",
        "broken": "no process works on it, and it cannot be read; `prism verify` says why",
    }
    ended = prism("watch", *map(str, runs.values()), *options)
    lines = [f"{runs[name]}: {words}\n" for name, words in told.items()]
    if options:
        assert (ended.code, ended.out, ended.err) == (1, "", "".join(f"prism: {line}" for line in lines))
    else:
        assert (ended.code, ended.out, ended.err) == (0, "".join(lines), "")


def test_a_watch_goes_on_until_it_is_interrupted(under_way: Path) -> None:
    command = [sys.executable, "-u", "-m", "actors.cli", "watch", str(under_way)]
    with subprocess.Popen(command, text=True, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        said = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(HANG_S) == 0
    assert said.startswith(f"{under_way}: waiting_for_oracle for ")
