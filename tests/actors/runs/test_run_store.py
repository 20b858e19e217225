"""Committed ticks get onto the medium: in batches, never far behind the run, never on the event loop."""

import errno
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial

import anyio
import anyio.lowlevel
import pytest

from actors.core.errors import JournalError
from actors.runs import run_store
from actors.runs.run_store import PENDING_MAX, Execute, RunStore
from actors.store.journal import JOURNAL, read_ticks
from actors.store.oracle_log import ANSWERS
from tests.actors.store.files import decided, empty_run, encode, frames, history_of, question, run_of
from tests.catalogue import catalogue
from tests.crash.disk import DiskFault, SimulatedDisk
from tests.schedules import in_schedules


async def inline(write: Callable[[], None]) -> None:
    """Run a blocking call at once: a disk in memory is never slow."""
    write()


class Gate:
    """A gate that runs blocking calls when the test says so, one after another."""

    def __init__(self) -> None:
        self.opened = anyio.Event()
        self.waiting = 0  # writes that have begun and wait

    async def execute(self, write: Callable[[], None]) -> None:
        self.waiting += 1
        await self.opened.wait()
        self.waiting -= 1
        write()


class StoreHarness:
    """A running store on a disk in memory."""

    def __init__(self, disk: SimulatedDisk, execute: Execute = inline, *, keeps_answers: bool = True) -> None:
        self.disk = disk
        recorded = history_of(disk)
        self.store = RunStore(disk, recorded, keeps_answers=keeps_answers, execute=execute)
        self.ticks = frames(200, recorded.start)
        disk.operations.clear()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.store.run)
            yield
            await self.store.close()

    async def commit(self, first: int, last: int) -> None:
        for tick in range(first, last):
            await self.store.commit(tick, self.ticks[tick].frame)

    async def keep(self, agent: int) -> None:
        await self.store.keep(encode(decided(0, agent)))

    def written(self) -> int:
        return len(list(read_ticks(self.disk)))

    def changes(self) -> list[tuple[str, str]]:
        return [operation for operation in self.disk.operations if operation[1] in {JOURNAL, ANSWERS}]


@in_schedules(30)
async def test_what_is_committed_is_on_the_medium_when_the_store_is_closed() -> None:
    harness = StoreHarness(empty_run())
    async with harness.running():
        await harness.commit(0, 150)
    found = list(read_ticks(harness.disk))
    assert len(found) == 150
    assert harness.disk.durable(JOURNAL) == harness.disk.visible(JOURNAL)


async def test_what_gathers_while_the_disk_is_busy_is_one_write() -> None:
    gate = Gate()
    harness = StoreHarness(empty_run(), gate.execute, keeps_answers=False)
    async with harness.running():
        await harness.commit(0, 1)
        await anyio.wait_all_tasks_blocked()
        await harness.commit(1, 40)
        gate.opened.set()
    assert harness.changes() == [("append", JOURNAL), ("sync", JOURNAL)] * 2
    assert harness.written() == 40


async def ahead_of_a_busy_disk(count: int) -> int:
    """Return how many of so many ticks are committed while the disk is busy; then all of them are."""
    gate = Gate()
    harness = StoreHarness(empty_run(), gate.execute, keeps_answers=False)
    committed: list[int] = []

    async def commit() -> None:
        for tick in range(count):
            await harness.store.commit(tick, harness.ticks[tick].frame)
            committed.append(tick)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(harness.store.run)
        tasks.start_soon(commit)
        await anyio.wait_all_tasks_blocked()
        ahead = len(committed)
        gate.opened.set()
        await anyio.wait_all_tasks_blocked()
        assert len(committed) == count
        await harness.store.close()
    assert harness.written() == count
    return ahead


@catalogue(
    ("ticks", "size", "ahead"),
    [(PENDING_MAX + 20, run_store.PENDING_BYTES, PENDING_MAX), (20, 1, 1), (20, 500, 4), (20, 1_000, 10)],
)
async def test_a_run_is_never_more_than_a_limit_of_ticks_or_bytes_ahead_of_its_disk(
    monkeypatch: pytest.MonkeyPatch, ticks: int, size: int, ahead: int
) -> None:
    monkeypatch.setattr(run_store, "PENDING_BYTES", size)
    assert await ahead_of_a_busy_disk(ticks) == ahead


async def test_recorded_ticks_are_compared_and_not_written_again() -> None:
    disk, ticks = run_of(6)
    harness = StoreHarness(disk)
    before = disk.visible(JOURNAL)
    async with harness.running():
        await harness.commit(0, 6)
        await anyio.wait_all_tasks_blocked()
        assert disk.visible(JOURNAL) == before
        await harness.commit(6, 7)
    assert disk.visible(JOURNAL) == before + harness.ticks[6].frame
    assert [each.frame for each in harness.ticks[:6]] == [each.frame for each in ticks]


@in_schedules(30)
async def test_an_answer_is_in_the_log_before_anybody_acts_on_it() -> None:
    harness = StoreHarness(empty_run())
    async with harness.running():
        for agent in range(5):
            await harness.keep(agent)
            assert harness.disk.visible(ANSWERS).count(b"clock") == agent + 1


def test_answers_of_an_earlier_life_are_known_and_a_lost_one_is_told() -> None:
    disk, _ = run_of(6, answers=2)
    store = RunStore(disk, history_of(disk), keeps_answers=True, answered_after=2)
    assert store.recorded_answer(question(1, 2)) == decided(1, 2)
    assert store.recorded_answer(question(4, 2)) is None  # takes effect in tick 6, which has not been run yet
    with pytest.raises(
        JournalError, match=r"oracle\.log: has no answer to agent 2's 'clock' of tick 3, on which tick 5"
    ):
        store.recorded_answer(question(3, 2))


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
