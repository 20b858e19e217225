"""Checkpoints that a fork writes beside the ticks."""

import errno
import os
import signal
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from actors import resume, run
from actors.core.errors import JournalError
from actors.core.frames import ORIGIN
from actors.core.state import RunState
from actors.runs import run_store
from actors.runs.run_store import Checkpointer, JournalWriter
from actors.store import checkpoint
from actors.store.checkpoint import ForkedCheckpoint, Position, checkpoint_names, read_checkpoint
from actors.store.disk import RealDisk
from prism.config import RunConfig
from tests.actors.social_runs import SMALL
from tests.catalogue import catalogue

pytestmark = [
    pytest.mark.usefixtures("logged"),
    pytest.mark.skipif(sys.platform != "linux", reason="only on Linux a fork writes checkpoints"),
]

OFTEN = msgspec.structs.replace(SMALL, run=RunConfig(checkpoint_every_ticks=5))


def content(directory: Path) -> dict[str, Any]:
    disk = RealDisk(directory)
    found = {}
    for name in checkpoint_names(disk):
        each = read_checkpoint(disk, name)
        found[name] = each.position, [*each.columns]  # answers in the state have their durations
    return found


def test_a_fork_writes_what_the_run_would_have_and_a_resume_begins_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, digest = list[dict[str, Any]](), run(SMALL).digest
    for name, agents in (("forked", 1), ("waiting", 1_000_000)):
        monkeypatch.setattr(run_store, "FORKED_FROM", agents)
        run(OFTEN, out=tmp_path / name, ticks=8)
        (tmp_path / name / "checkpoint-000000000008.bin").unlink()  # no fork writes the last one
        made.append(content(tmp_path / name))
        assert resume(tmp_path / name, ticks=SMALL.simulation.length).digest == digest
    assert [*made[0]] == ["checkpoint-000000000005.bin"]
    assert made[0] == made[1]


@catalogue(
    ("forks", "left", "told"), [(True, [SMALL.simulation.length], "checkpoint_lost"), (False, [8, 5], "no_fork")]
)
def test_a_fork_that_is_killed_or_that_the_system_has_no_room_for_costs_a_checkpoint_or_time_and_not_the_run(
    forks: bool,
    left: list[int],
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    fork = os.fork

    def failing() -> int:
        if not forks:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        if not (made := fork()):
            os.kill(os.getpid(), signal.SIGKILL)
        return made

    monkeypatch.setattr(run_store, "FORKED_FROM", 1)
    monkeypatch.setattr(os, "fork", failing)
    run(OFTEN, out=tmp_path / "run", ticks=left[0])
    names = sorted((each.name for each in (tmp_path / "run").iterdir() if "checkpoint" in each.name), reverse=True)
    assert names == [f"checkpoint-{tick:012d}.bin" for tick in left]
    times = capsys.readouterr().err.count(told)
    assert times == 1 or (forks and times), "without room for a fork, none is tried again"


def endless(directory: Path) -> ForkedCheckpoint:
    def columns() -> Any:
        while True:
            yield from ()

    position = Position(tick=1, journal_bytes=0, link=ORIGIN, oldest_asked=0, answers_end=0)
    return ForkedCheckpoint(position, RunState(), directory, columns)


@pytest.mark.parametrize("is_told", [True, False])
async def test_a_fork_that_is_stuck_ends_by_itself(
    is_told: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint, "LIMIT_S", 0.05)
    before = signal.signal(signal.SIGCHLD, signal.SIG_DFL if is_told else signal.SIG_IGN)
    try:
        assert await endless(tmp_path).wait() > 0
    finally:
        signal.signal(signal.SIGCHLD, before)


def test_a_run_that_is_told_to_stop_or_whose_disk_fails_gives_up_a_fork_that_takes_too_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forks = list[ForkedCheckpoint]()

    def begun(*given: Any) -> ForkedCheckpoint:
        forks.append(endless(tmp_path))
        return forks[-1]

    monkeypatch.setattr(run_store, "FORKED_FROM", 1)
    monkeypatch.setattr(run_store, "ForkedCheckpoint", begun)
    often = msgspec.structs.replace(OFTEN, run=msgspec.structs.replace(OFTEN.run, stop_within_s=0.1))
    end = Checkpointer.end
    monkeypatch.setattr(Checkpointer, "end", lambda self, is_stopped: end(self, is_stopped=True))
    run(often, out=tmp_path / "stopped", ticks=8)
    assert [each.is_given_up for each in forks] == [True]
    assert content(tmp_path / "stopped") == {}

    def broken(*_: Any) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO), "journal.prism")

    monkeypatch.setattr(JournalWriter, "append", broken)
    with pytest.raises(JournalError, match="cannot be written: Input/output error"):
        run(often, out=tmp_path / "broken", ticks=800)
    assert all(each.is_given_up for each in forks)
