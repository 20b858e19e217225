"""A disk that fails: whoever waits for it is told, and nothing more is taken."""

from __future__ import annotations

import errno
from collections.abc import Awaitable, Callable
from functools import partial

import anyio
import pytest

from actors.errors import JournalError
from actors.journal import read_header, read_ticks
from actors.store import PENDING_MAX
from tests.crash.disk import Fault, SimulatedDisk
from tests.journal.desk import Desk, Gate
from tests.journal.files import empty_run


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
async def test_a_disk_that_fails_wakes_everybody_who_waits_for_it(code: int) -> None:
    gate = Gate()
    desk = Desk(empty_run(), gate.execute)
    told: list[str] = []

    async def wait(function: Callable[[], Awaitable[None]]) -> None:
        with pytest.raises(JournalError) as caught:
            await function()
        told.append(str(caught.value))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(desk.store.run)
        for agent in range(3):
            tasks.start_soon(wait, partial(desk.keep, agent))
        tasks.start_soon(wait, partial(desk.commit, 0, 2 * PENDING_MAX))
        await anyio.wait_all_tasks_blocked()
        tasks.start_soon(wait, desk.store.close)
        await anyio.wait_all_tasks_blocked()
        assert told == []
        desk.disk.fault = Fault(at=len(desk.disk.operations) + 1, code=code, lasts=True)
        gate.opened.set()
    assert len(told) == 5
    assert set(told) == {told[0]}
    assert "cannot be written: " in told[0]
    assert "what was committed is safe: mend it, then `prism resume` goes on from there" in told[0]


async def test_after_an_error_nothing_is_taken_any_more() -> None:
    desk = Desk(empty_run(), keeps_answers=False)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(desk.store.run)
        await desk.commit(0, 1)
        await anyio.wait_all_tasks_blocked()
        desk.disk.fault = Fault(at=len(desk.disk.operations) + 1, lasts=True)
        await desk.commit(1, 2)
        await anyio.wait_all_tasks_blocked()
        with pytest.raises(JournalError):
            await desk.commit(2, 3)
        with pytest.raises(JournalError):
            desk.checkpoint(1)
        for _ in range(2):
            with pytest.raises(JournalError):
                await desk.store.close()
    assert desk.store.statistics.ticks == 1
    assert len(list(read_ticks_of(desk.disk))) == 1


def read_ticks_of(disk: SimulatedDisk) -> list[object]:
    disk.fault = None
    return list(read_ticks(disk, read_header(disk)[1]))
