from __future__ import annotations

import errno
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import anyio
import msgspec
import pytest
from blockbuster import BlockingError, blockbuster_ctx

from actors.answer_log import ANSWERS, MAGIC
from actors.checkpoint import checkpoints
from actors.disk import RealDisk
from actors.errors import JournalError
from actors.journal import JOURNAL, read_header, read_ticks
from actors.recovery import recover
from actors.run_writer import Execute, in_thread
from actors.store import PENDING_MAX, RunStore
from tests.crash.disk import Fault, SimulatedDisk
from tests.journal.files import (
    Tick,
    checkpoint_at,
    decided,
    draft_at,
    empty_run,
    encode,
    frames,
    history_of,
    question,
    run_of,
)
from tests.schedules import in_schedules


async def inline(write: Callable[[], None]) -> None:
    """What blocks, run at once: a disk in memory is never slow."""
    write()


class Gate:
    """Runs what blocks when it is told to, and one after another."""

    def __init__(self) -> None:
        self.opened = anyio.Event()
        self.waiting = 0
        """Writes that were begun and wait."""

    async def execute(self, write: Callable[[], None]) -> None:
        self.waiting += 1
        await self.opened.wait()
        self.waiting -= 1
        write()


class Desk:
    """A store at work on a disk in memory."""

    def __init__(self, disk: SimulatedDisk, execute: Execute = inline, *, keeps_answers: bool = True) -> None:
        self.disk = disk
        history = history_of(disk)
        self.store = RunStore(disk, history, keeps_answers=keeps_answers, execute=execute)
        self.ticks = frames(200, history.start)
        disk.operations.clear()

    async def commit(self, first: int, last: int) -> None:
        for tick in range(first, last):
            await self.store.commit(tick, self.ticks[tick].frame)

    async def keep(self, agent: int) -> None:
        await self.store.keep(encode(decided(0, agent)))

    def checkpoint(self, tick: int) -> None:
        behind: Tick = self.ticks[tick - 1]
        self.store.checkpoint(draft_at(tick, behind.end, behind.link))

    def changes(self) -> list[tuple[str, str]]:
        return [operation for operation in self.disk.operations if operation[1] in {JOURNAL, ANSWERS}]


@in_schedules(30)
async def test_what_is_committed_is_on_the_medium_when_the_store_is_closed() -> None:
    desk = Desk(empty_run())
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(desk.store.run)
        await desk.commit(0, 150)
        await desk.store.close()
    found = list(read_ticks(desk.disk, read_header(desk.disk)[1]))
    assert len(found) == 150
    assert desk.disk.durable(JOURNAL) == desk.disk.visible(JOURNAL)
    assert (desk.store.statistics.ticks, desk.store.statistics.journal_bytes) == (150, desk.disk.size(JOURNAL))


@in_schedules(30)
async def test_an_answer_is_in_the_log_before_anybody_acts_on_it() -> None:
    desk = Desk(empty_run())
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(desk.store.run)
        for agent in range(5):
            await desk.keep(agent)
            assert desk.disk.visible(ANSWERS).count(b"clock") == agent + 1
        await desk.store.close()


async def test_answers_are_on_the_medium_before_the_frame_that_follows_from_them_is_written() -> None:
    desk = Desk(empty_run())
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(desk.store.run)
        await desk.keep(0)
        await desk.commit(0, 1)
        await desk.store.close()
    assert desk.changes() == [("append", ANSWERS), ("sync", ANSWERS), ("append", JOURNAL), ("sync", JOURNAL)]


async def test_what_gathers_while_the_disk_is_busy_is_one_write() -> None:
    gate = Gate()
    desk = Desk(empty_run(), gate.execute, keeps_answers=False)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(desk.store.run)
        await desk.commit(0, 1)
        await anyio.wait_all_tasks_blocked()
        await desk.commit(1, 40)
        gate.opened.set()
        await desk.store.close()
    assert desk.changes() == [("append", JOURNAL), ("sync", JOURNAL)] * 2
    assert desk.store.statistics.ticks == 40


async def test_a_run_is_never_more_than_a_limit_ahead_of_its_disk() -> None:
    gate = Gate()
    desk = Desk(empty_run(), gate.execute, keeps_answers=False)
    committed: list[int] = []

    async def commit() -> None:
        for tick in range(PENDING_MAX + 20):
            await desk.store.commit(tick, desk.ticks[tick].frame)
            committed.append(tick)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(desk.store.run)
        tasks.start_soon(commit)
        await anyio.wait_all_tasks_blocked()
        assert len(committed) == PENDING_MAX
        gate.opened.set()
        await anyio.wait_all_tasks_blocked()
        assert len(committed) == PENDING_MAX + 20
        await desk.store.close()
    assert desk.store.statistics.ticks == PENDING_MAX + 20


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


async def test_an_oracle_that_computes_its_answers_has_an_empty_log() -> None:
    desk = Desk(empty_run(), keeps_answers=False)
    await desk.keep(0)  # returns at once, although nobody writes
    assert desk.disk.visible(ANSWERS) == MAGIC
    assert desk.store.known(question(0, 0)) is None


async def test_recorded_ticks_are_compared_and_not_written_again() -> None:
    disk, ticks = run_of(6)
    desk = Desk(disk)
    before = disk.visible(JOURNAL)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(desk.store.run)
        await desk.commit(0, 6)
        await anyio.wait_all_tasks_blocked()
        assert disk.visible(JOURNAL) == before
        await desk.commit(6, 7)
        await desk.store.close()
    assert disk.visible(JOURNAL) == before + desk.ticks[6].frame
    assert [each.frame for each in desk.ticks[:6]] == [each.frame for each in ticks]


def test_answers_of_an_earlier_life_are_known_and_a_lost_one_is_told() -> None:
    disk, _ = run_of(6, answers=2)
    store = RunStore(disk, history_of(disk), keeps_answers=True, settled_after=2)
    assert store.known(question(1, 2)) == decided(1, 2)
    assert store.known(question(4, 2)) is None  # takes effect in tick 6, which has not been run yet
    with pytest.raises(
        JournalError, match=r"oracle\.log: has no answer to agent 2's 'clock' of tick 3, on which tick 5"
    ):
        store.known(question(3, 2))


def test_a_checkpoint_keeps_the_answers_that_open_questions_may_still_want() -> None:
    disk, ticks = run_of(6, answers=3)
    store = RunStore(disk, history_of(disk), keeps_answers=True)
    first = len(MAGIC)
    assert store.position(6, ticks[5].link, oldest_asked=0).answers_bytes == first
    for tick in range(3):
        store.known(question(tick, 2))
    assert store.known(question(3, 2)) is None  # and now the log has been read to its end
    at = store.position(6, ticks[5].link, oldest_asked=6)
    assert (at.tick, at.link, at.answers_bytes) == (6, ticks[5].link, first)


async def test_answers_that_have_taken_effect_lie_before_a_later_checkpoint() -> None:
    desk = Desk(empty_run())
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(desk.store.run)
        await desk.keep(1)
        await desk.commit(0, 1)
        length = desk.disk.size(ANSWERS)
        await desk.keep(2)
        await desk.commit(1, 2)
        at = partial(desk.store.position, 2, desk.ticks[1].link)
        assert at(0).answers_bytes == len(MAGIC)
        assert at(1).answers_bytes == length
        assert at(2).answers_bytes == desk.disk.size(ANSWERS)
        await desk.store.close()


async def _run_on(path: Path, execute: Execute) -> None:
    source = empty_run()
    for name in source.names():
        await anyio.to_thread.run_sync((path / name).write_bytes, source.visible(name))
    disk = RealDisk(path)
    history = (await anyio.to_thread.run_sync(recover, disk)).history
    store = RunStore(disk, history, keeps_answers=True, execute=execute)
    ticks = frames(20, history.start)
    with blockbuster_ctx():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(store.run)
            for tick, each in enumerate(ticks):
                await store.keep(encode(decided(tick, 2)))
                await store.commit(tick, each.frame)
                store.line("rounds.csv", str(tick))
            store.checkpoint(draft_at(20, ticks[-1].end, ticks[-1].link))
            await store.close()
    await anyio.to_thread.run_sync(disk.close)


async def test_nothing_blocks_the_event_loop(tmp_path: Path) -> None:
    await _run_on(tmp_path, in_thread)
    assert (tmp_path / checkpoint_at(20, 0).name).is_file()


async def test_writing_on_the_event_loop_would_be_noticed(tmp_path: Path) -> None:
    with pytest.raises(ExceptionGroup) as caught:
        await _run_on(tmp_path, inline)
    assert caught.group_contains(BlockingError)


def test_messages_are_recorded_as_they_crossed_the_mailbox() -> None:
    """A Decided in the log is what `Codec` makes of it, its tag first."""
    assert msgspec.msgpack.decode(encode(decided(3, 7))) == [4, 3, 7, "clock", "red", "llm", "", "", 0.25]
