"""When a store writes a checkpoint: after all that is before it, and in nobody's way."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import anyio

from actors.persistence.checkpoint import checkpoints
from actors.persistence.journal import JOURNAL
from actors.persistence.recovery import recover
from tests.actors.persistence.files import checkpoint_at, empty_run
from tests.actors.persistence.store_harness import Desk, Gate


async def test_a_checkpoint_follows_the_frames_before_it() -> None:
    desk = Desk(empty_run(), keeps_answers=False)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(desk.store.run)
        await desk.commit(0, 4)
        desk.checkpoint(4)
        await desk.store.close()
    done = desk.disk.operations
    assert done.index(("sync", JOURNAL)) < done.index(("rename", f".{checkpoint_at(4, 0).name}.tmp"))
    assert desk.disk.durable(JOURNAL) == desk.disk.visible(JOURNAL)
    recovered = recover(desk.disk)
    assert recovered.checkpoint is not None
    assert recovered.checkpoint.position.tick == 4


async def test_a_checkpoint_that_still_waits_is_left_out_for_a_later_one() -> None:
    gate = Gate()
    desk = Desk(empty_run(), gate.execute, keeps_answers=False)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(desk.store.run)
        await desk.commit(0, 1)
        desk.checkpoint(1)
        await anyio.wait_all_tasks_blocked()  # the first batch waits for the disk, the checkpoint for the batch
        await desk.commit(1, 3)
        desk.checkpoint(2)
        desk.checkpoint(3)
        gate.opened.set()
        await desk.store.close()
    written = {name for operation, name in desk.disk.operations if operation == "rename"}
    assert f".{checkpoint_at(2, 0).name}.tmp" not in written
    assert f".{checkpoint_at(3, 0).name}.tmp" in written
    assert desk.store.statistics.checkpoint_tick == 3


async def test_frames_are_written_while_a_checkpoint_is() -> None:
    slow = Gate()

    async def execute(write: Callable[[], None]) -> None:
        if isinstance(write, partial):  # of a checkpoint; a batch is a function of its own
            await slow.execute(write)
        else:
            write()

    desk = Desk(empty_run(), execute, keeps_answers=False)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(desk.store.run)
        await desk.commit(0, 1)
        desk.checkpoint(1)
        await anyio.wait_all_tasks_blocked()
        await desk.commit(1, 100)
        await anyio.wait_all_tasks_blocked()
        assert slow.waiting == 1
        assert desk.store.statistics.ticks == 100
        assert desk.store.statistics.checkpoints == 0
        slow.opened.set()
        await desk.store.close()
    assert checkpoints(desk.disk) == [checkpoint_at(1, 0).name]


async def test_lines_are_on_the_medium_before_a_checkpoint_that_has_their_ticks_behind_it() -> None:
    desk = Desk(empty_run(), keeps_answers=False)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(desk.store.run)
        desk.store.line("rounds.csv", "round,tick")
        desk.store.line("rounds.csv", "1,1")
        await desk.commit(0, 1)
        desk.checkpoint(1)
        await desk.store.close()
    assert desk.disk.visible("rounds.csv") == b"round,tick\n1,1\n"
    done = desk.disk.operations
    assert done.index(("sync", "rounds.csv")) < done.index(("rename", f".{checkpoint_at(1, 0).name}.tmp"))
