"""When a store writes a checkpoint: after all that is before it, and in nobody's way."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import anyio
import pytest

from actors.persistence.checkpoint import checkpoint_names
from actors.persistence.checkpoint_writer import CheckpointWriter
from actors.persistence.journal import JOURNAL
from actors.record.recovery import recover
from prism.columns import Column
from tests.actors.persistence.files import checkpoint_at, empty_run
from tests.actors.persistence.store_harness import Gate, StoreHarness


async def test_a_checkpoint_follows_the_frames_before_it() -> None:
    harness = StoreHarness(empty_run(), keeps_answers=False)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(harness.store.run)
        await harness.commit(0, 4)
        harness.checkpoint(4)
        await harness.store.close()
    done = harness.disk.operations
    assert done.index(("sync", JOURNAL)) < done.index(("rename", f".{checkpoint_at(4, 0).name}.tmp"))
    assert harness.disk.durable(JOURNAL) == harness.disk.visible(JOURNAL)
    recovered = recover(harness.disk)
    assert recovered.checkpoint is not None
    assert recovered.checkpoint.position.tick == 4


async def test_a_checkpoint_that_still_waits_is_left_out_for_a_later_one() -> None:
    gate = Gate()
    harness = StoreHarness(empty_run(), gate.execute, keeps_answers=False)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(harness.store.run)
        await harness.commit(0, 1)
        harness.checkpoint(1)
        await anyio.wait_all_tasks_blocked()  # the first batch waits for the disk, the checkpoint for the batch
        await harness.commit(1, 3)
        harness.checkpoint(2)
        harness.checkpoint(3)
        gate.opened.set()
        await harness.store.close()
    written = {name for operation, name in harness.disk.operations if operation == "rename"}
    assert f".{checkpoint_at(2, 0).name}.tmp" not in written
    assert f".{checkpoint_at(3, 0).name}.tmp" in written
    assert harness.store.statistics.checkpoint_tick == 3


async def test_frames_are_written_while_a_checkpoint_is() -> None:
    slow = Gate()

    async def execute(write: Callable[[], None]) -> None:
        if isinstance(write, partial):  # of a checkpoint; a batch is a function of its own
            await slow.execute(write)
        else:
            write()

    harness = StoreHarness(empty_run(), execute, keeps_answers=False)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(harness.store.run)
        await harness.commit(0, 1)
        harness.checkpoint(1)
        await anyio.wait_all_tasks_blocked()
        await harness.commit(1, 100)
        await anyio.wait_all_tasks_blocked()
        assert slow.waiting == 1
        assert harness.store.statistics.ticks == 100
        assert harness.store.statistics.checkpoints == 0
        slow.opened.set()
        await harness.store.close()
    assert checkpoint_names(harness.disk) == [checkpoint_at(1, 0).name]


async def copy(harness: StoreHarness, draft: CheckpointWriter, waiting: list[int]) -> None:
    """Copy ten pieces of 700 bytes, and note how many bytes wait after each."""
    with draft:
        harness.store.checkpoint(draft)
        for _ in range(10):
            draft.add(Column("numbers", bytes(700)))
            waiting.append(draft.waiting_bytes)
            await harness.store.room_for(draft)


async def test_what_is_copied_for_a_checkpoint_waits_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("actors.runs.run_store.COPIED_BYTES", 2000)
    monkeypatch.setattr("prism.bundles.BUNDLE_BYTES", 1)
    gate = Gate()
    harness = StoreHarness(empty_run(), gate.execute, keeps_answers=False)
    made = checkpoint_at(0, harness.ticks[0].end)
    draft, waiting = CheckpointWriter(made.position, made.state), list[int]()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(harness.store.run)
        tasks.start_soon(copy, harness, draft, waiting)
        await anyio.wait_all_tasks_blocked()
        assert waiting == [700, 1400, 2100]
        gate.opened.set()
        await anyio.wait_all_tasks_blocked()
        assert len(waiting) == 10
        await harness.store.close()
    assert checkpoint_names(harness.disk) == [made.name]


async def test_lines_are_on_the_medium_before_a_checkpoint_that_has_their_ticks_behind_it() -> None:
    harness = StoreHarness(empty_run(), keeps_answers=False)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(harness.store.run)
        harness.store.append_line("rounds.csv", "round,tick")
        harness.store.append_line("rounds.csv", "1,1")
        await harness.commit(0, 1)
        harness.checkpoint(1)
        await harness.store.close()
    assert harness.disk.visible("rounds.csv") == b"round,tick\n1,1\n"
    done = harness.disk.operations
    assert done.index(("sync", "rounds.csv")) < done.index(("rename", f".{checkpoint_at(1, 0).name}.tmp"))
