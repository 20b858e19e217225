"""Checkpoints that a fork writes beside the ticks."""

import errno
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import msgspec
import pytest

from actors import resume, run
from actors.core.errors import JournalError
from actors.core.frames import ORIGIN
from actors.core.state import RunState
from actors.runs import checkpointing
from actors.runs.checkpointing import Checkpointer
from actors.store import checkpoint_fork
from actors.store.batch_writer import Batch, RunWriter
from actors.store.checkpoint import Position, checkpoint_names, read_checkpoint
from actors.store.checkpoint_fork import ForkedCheckpoint
from actors.store.disk import RealDisk
from prism.config import RunConfig
from tests.actors.social_runs import SMALL
from tests.actors.store.files import empty_run
from tests.actors.store.store_harness import StoreHarness
from tests.crash.disk import DiskFault

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


def test_a_fork_writes_what_a_copy_would_have_and_a_resume_begins_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    take = Checkpointer.take

    async def take_each(self: Checkpointer) -> None:
        await take(self)
        await self._store.checkpointed()  # the next copy would take the place of one that still waits

    monkeypatch.setattr(Checkpointer, "take", take_each)
    made, digest = list[dict[str, Any]](), run(SMALL).digest
    for name, agents in (("forked", 1), ("copied", 1_000_000)):
        monkeypatch.setattr(checkpointing, "FORKED_FROM", agents)
        run(OFTEN, out=tmp_path / name, ticks=8)
        (tmp_path / name / "checkpoint-000000000008.bin").unlink()  # the last one is always copied
        made.append(content(tmp_path / name))
        assert resume(tmp_path / name, ticks=SMALL.simulation.length).digest == digest
    assert [*made[0]] == ["checkpoint-000000000005.bin"]
    assert made[0] == made[1]


def test_a_fork_that_is_killed_costs_a_checkpoint_and_not_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(checkpointing, "FORKED_FROM", 1)
    begin = ForkedCheckpoint.__init__

    def begun(self: ForkedCheckpoint, *given: Any) -> None:
        begin(self, *given)
        os.kill(self._fork, signal.SIGKILL)

    monkeypatch.setattr(ForkedCheckpoint, "__init__", begun)
    assert run(OFTEN, out=tmp_path / "run").digest == run(SMALL).digest
    names = [each.name for each in (tmp_path / "run").iterdir() if "checkpoint" in each.name]
    assert names == [f"checkpoint-{SMALL.simulation.length:012d}.bin"]
    assert "checkpoint_lost" in capsys.readouterr().err


def test_a_system_without_room_for_a_fork_costs_time_and_not_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def none() -> int:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr(checkpointing, "FORKED_FROM", 1)
    monkeypatch.setattr(os, "fork", none)
    run(OFTEN, out=tmp_path / "run", ticks=8)
    # A copy that still waits is replaced by the next one, so that of tick 5 may be missing.
    assert "checkpoint-000000000008.bin" in content(tmp_path / "run")
    assert capsys.readouterr().err.count("no_fork") == 1


def test_a_fork_is_awaited_before_the_last_checkpoint_takes_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpointing, "FORKED_FROM", 1)
    forks, begin, write = list[ForkedCheckpoint](), ForkedCheckpoint.__init__, RunWriter.write

    def begun(self: ForkedCheckpoint, *given: Any) -> None:
        begin(self, *given)
        forks.append(self)

    def write_slowly(self: RunWriter, batch: Batch) -> None:
        time.sleep(0.1)  # so that the store looks for a checkpoint after the run's last tick
        write(self, batch)

    monkeypatch.setattr(ForkedCheckpoint, "__init__", begun)
    monkeypatch.setattr(RunWriter, "write", write_slowly)
    run(OFTEN, out=tmp_path / "run", ticks=6)
    assert [each._status for each in forks] == [0]
    assert [*content(tmp_path / "run")] == ["checkpoint-000000000006.bin", "checkpoint-000000000005.bin"]


def endless(directory: Path) -> ForkedCheckpoint:
    def columns() -> Any:
        while True:
            yield from ()

    position = Position(tick=1, journal_bytes=0, link=ORIGIN, answers_bytes=0, answers_end=0, lines={})
    return ForkedCheckpoint(position, RunState(), directory, columns)


async def test_a_fork_that_is_stuck_ends_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint_fork, "LIMIT_S", 0.05)
    draft = endless(tmp_path)
    assert await draft.has_more()
    draft.write(RealDisk(tmp_path))
    assert not draft.is_whole


async def test_a_fork_whose_end_the_system_tells_nobody_costs_a_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint_fork, "LIMIT_S", 0.05)
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        draft = endless(tmp_path)
        assert await draft.has_more()
    finally:
        signal.signal(signal.SIGCHLD, before)
    draft.write(RealDisk(tmp_path))
    assert not draft.is_whole


async def test_a_run_that_is_told_to_stop_gives_up_a_fork_that_takes_too_long(tmp_path: Path) -> None:
    draft = endless(tmp_path)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(draft.has_more)
        await anyio.lowlevel.checkpoint()
        draft.give_up()
    draft.write(RealDisk(tmp_path))
    assert not draft.is_whole


async def test_a_disk_that_fails_ends_forks_that_write_or_wait_or_come_late(tmp_path: Path) -> None:
    harness, forks = StoreHarness(empty_run()), [endless(tmp_path) for _ in range(3)]
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(harness.store.run)
        for each in forks[:2]:
            harness.store.checkpoint(each)
            await anyio.wait_all_tasks_blocked()
        harness.disk.fault = DiskFault(at=len(harness.disk.operations) + 1, lasts=True)
        with pytest.raises(JournalError):
            await harness.keep(0)
        with pytest.raises(JournalError):
            harness.store.checkpoint(forks[2])
        await forks[2].has_more()
    assert all(each._status > 0 for each in forks)
