"""A disk that fails: whoever waits for it is told, and nothing more is taken."""

from __future__ import annotations

import errno
from collections.abc import Awaitable, Callable
from functools import partial

import anyio
import pytest

from actors.core.errors import JournalError
from actors.persistence.checkpoint import checkpoint_names
from actors.persistence.checkpoint_writer import CheckpointWriter
from actors.persistence.journal import read_header, read_ticks
from actors.runs.run_store import PENDING_MAX
from tests.actors.persistence.files import checkpoint_at, empty_run
from tests.actors.persistence.store_harness import Gate, StoreHarness
from tests.crash.disk import DiskFault, SimulatedDisk


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
async def test_a_disk_that_fails_wakes_everybody_who_waits_for_it(code: int) -> None:
    gate = Gate()
    harness = StoreHarness(empty_run(), gate.execute)
    told: list[str] = []

    async def wait(function: Callable[[], Awaitable[None]]) -> None:
        with pytest.raises(JournalError) as caught:
            await function()
        told.append(str(caught.value))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(harness.store.run)
        for agent in range(3):
            tasks.start_soon(wait, partial(harness.keep, agent))
        tasks.start_soon(wait, partial(harness.commit, 0, 2 * PENDING_MAX))
        await anyio.wait_all_tasks_blocked()
        tasks.start_soon(wait, harness.store.close)
        await anyio.wait_all_tasks_blocked()
        assert told == []
        harness.disk.fault = DiskFault(at=len(harness.disk.operations) + 1, code=code, lasts=True)
        gate.opened.set()
    assert len(told) == 5
    assert set(told) == {told[0]}
    assert "cannot be written: " in told[0]
    mended = "free some space" if code == errno.ENOSPC else "repair the disk"
    assert f"what was committed is safe: {mended}, then continue with `prism resume`" in told[0]


@pytest.mark.parametrize("file", ["the journal", "the checkpoint"])
async def test_on_a_full_disk_half_a_checkpoint_does_not_take_up_what_room_is_left(
    file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("prism.bundles.BUNDLE_BYTES", 1)
    harness, half = StoreHarness(empty_run(), keeps_answers=False), f".{checkpoint_at(1, 0).name}.tmp"
    checkpoint = checkpoint_at(1, harness.ticks[0].end, harness.ticks[0].link)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(harness.store.run)
        await harness.commit(0, 1)
        with CheckpointWriter(checkpoint.position, checkpoint.state) as draft:
            harness.store.checkpoint(draft)
            draft.add(next(iter(checkpoint.columns)))
            await anyio.wait_all_tasks_blocked()
            assert half in harness.disk.names()
            harness.disk.fault = DiskFault(at=1, code=errno.ENOSPC, lasts=True)
            if file == "the journal":
                await harness.commit(1, 2)
            else:
                draft.add([*checkpoint.columns][-1])
            await anyio.wait_all_tasks_blocked()
        with pytest.raises(JournalError, match="No space left"):
            await harness.store.close()
    assert half not in harness.disk.names()
    assert checkpoint_names(harness.disk) == []


async def test_after_an_error_nothing_is_taken_any_more() -> None:
    harness = StoreHarness(empty_run(), keeps_answers=False)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(harness.store.run)
        await harness.commit(0, 1)
        await anyio.wait_all_tasks_blocked()
        harness.disk.fault = DiskFault(at=len(harness.disk.operations) + 1, lasts=True)
        await harness.commit(1, 2)
        await anyio.wait_all_tasks_blocked()
        with pytest.raises(JournalError):
            await harness.commit(2, 3)
        with pytest.raises(JournalError):
            harness.checkpoint(1)
        for _ in range(2):
            with pytest.raises(JournalError):
                await harness.store.close()
    assert harness.store.statistics.ticks == 1
    assert len(list(read_ticks_of(harness.disk))) == 1


def read_ticks_of(disk: SimulatedDisk) -> list[object]:
    disk.fault = None
    return list(read_ticks(disk, read_header(disk)[1]))
