"""Committed ticks get onto the medium: in batches, never far behind the run, never on the event loop."""

import errno
import os
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from random import Random

import anyio
import anyio.lowlevel
import pytest

from actors.core.errors import JournalError
from actors.runs import run_store
from actors.runs.run_store import PENDING_MAX, RunStore
from actors.store.batch_writer import Execute, in_thread
from actors.store.checkpoint import CheckpointWriter, checkpoint_names
from actors.store.disk import RealDisk
from actors.store.journal import JOURNAL, read_header, read_tail, read_ticks
from actors.store.journal_writer import JournalWriter
from actors.store.oracle_log import ANSWERS, MAGIC
from actors.store.recovery import recover
from actors.store.segments import check_segment, segment_names, start_of
from prism.columns import Column
from tests.actors.store.files import (
    SEGMENT,
    checkpoint_at,
    decided,
    draft_at,
    empty_run,
    encode,
    frames,
    history_of,
    question,
    run_of,
    write,
)
from tests.actors.store.store_harness import Gate, StoreHarness, inline
from tests.blocking import nothing_blocks
from tests.catalogue import catalogue
from tests.crash.disk import DiskFault, SimulatedDisk
from tests.schedules import in_schedules, run_scheduled
from tests.tiers import Size


@in_schedules(30)
async def test_what_is_committed_is_on_the_medium_when_the_store_is_closed() -> None:
    harness = StoreHarness(empty_run())
    async with harness.running():
        await harness.commit(0, 150)
    found = list(read_ticks(harness.disk, read_header(harness.disk)[1]))
    assert len(found) == 150
    assert harness.disk.durable(JOURNAL) == harness.disk.visible(JOURNAL)
    assert (harness.store.statistics.ticks, harness.store.statistics.journal_bytes) == (150, harness.disk.size(JOURNAL))


async def test_what_gathers_while_the_disk_is_busy_is_one_write() -> None:
    gate = Gate()
    harness = StoreHarness(empty_run(), gate.execute, keeps_answers=False)
    async with harness.running():
        await harness.commit(0, 1)
        await anyio.wait_all_tasks_blocked()
        await harness.commit(1, 40)
        gate.opened.set()
    assert harness.changes() == [("append", JOURNAL), ("sync", JOURNAL)] * 2
    assert harness.store.statistics.ticks == 40


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
    assert harness.store.statistics.ticks == count
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


async def _run_on(path: Path, execute: Execute) -> None:
    source = empty_run()
    for name in source.names():
        await anyio.to_thread.run_sync((path / name).write_bytes, source.visible(name))
    disk = RealDisk(path)
    recorded = (await anyio.to_thread.run_sync(recover, disk)).recorded
    store = RunStore(disk, recorded, keeps_answers=True, execute=execute)
    ticks = frames(20, recorded.start)
    with nothing_blocks():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(store.run)
            for tick, each in enumerate(ticks):
                await store.keep(encode(decided(tick, 2)))
                await store.commit(tick, each.frame)
                store.append_row(str(tick))
            store.checkpoint(draft_at(20, ticks[-1].end, ticks[-1].link))
            await store.close()
    await anyio.to_thread.run_sync(disk.close)


async def test_nothing_blocks_the_event_loop(tmp_path: Path) -> None:
    await _run_on(tmp_path, in_thread)
    assert (tmp_path / checkpoint_at(20, 0).name).is_file()


def is_of_segment(write: Callable[[], None]) -> bool:
    return getattr(write, "__func__", None) is JournalWriter.write_segments


@in_schedules(30)
async def test_answers_and_ticks_are_written_while_a_segment_is_sealed_up_to_the_end_of_the_next() -> None:
    gate = Gate()

    async def execute(write: Callable[[], None]) -> None:
        await (gate.execute if is_of_segment(write) else inline)(write)

    whole, harness = sealed(40), StoreHarness(empty_run(), execute, segment_bytes=SEGMENT)
    first, second, *_ = segment_names(whole, read_tail(whole).sealed.start)
    of_two = check_segment(whole, first).ticks + check_segment(whole, second).ticks

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(harness.store.run)
        tasks.start_soon(harness.commit_slowly, 40)
        await anyio.sleep(100)
        assert gate.waiting == 1
        assert harness.store.statistics.ticks == of_two + 1
        before = len(harness.disk.visible(ANSWERS))
        await harness.keep(0)
        assert len(harness.disk.visible(ANSWERS)) > before
        assert read_tail(harness.disk).sealed.tick == 0
        gate.opened.set()
        await anyio.sleep(100)
        await harness.store.close()
    assert files_of(harness.disk) == files_of(whole)


@pytest.mark.slow
@pytest.mark.sized
def test_segments_are_the_same_however_long_each_takes_and_wherever_a_run_was_interrupted(size: Size) -> None:
    whole = files_of(sealed(60))
    for seed in range(size(60, everyday=30)):
        assert run_scheduled(seed, partial(interrupted, Random(seed))) == whole


async def interrupted(random: Random) -> dict[str, bytes]:
    """Return the files of a run that is interrupted three times, on a disk that is sometimes slow."""
    disk = empty_run()

    async def execute(write: Callable[[], None]) -> None:
        await anyio.sleep(random.choice((0.0, 1.0, 5.0)) * random.random())
        write()
        await anyio.sleep(random.choice((0.0, 5.0)) * random.random())

    lasts = (*sorted(random.sample(range(1, 60), 2)), 60, 60)
    for number, last in enumerate(lasts):
        harness = StoreHarness(disk, execute, segment_bytes=SEGMENT, keeps_answers=False)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(harness.store.run)
            for tick in range(last):
                await anyio.sleep(random.random())
                await harness.commit(tick, tick + 1)
            if number == len(lasts) - 1 or random.random() < 0.5:
                await harness.store.close()
            tasks.cancel_scope.cancel()
    return files_of(disk)


@catalogue("fails", [JournalWriter.write_segments, JournalWriter.take_out])
def test_a_disk_that_is_full_while_ticks_are_sealed_ends_the_run_and_with_more_room_nothing_is_lost(
    fails: Callable[[JournalWriter], None], size: Size
) -> None:
    whole = files_of(sealed(60))
    for seed in range(size(40, everyday=2)):
        assert run_scheduled(seed, partial(short_of_space, fails, Random(seed))) == whole


async def short_of_space(fails: Callable[[JournalWriter], None], random: Random) -> dict[str, bytes]:
    """Return the files of a run whose disk is full at its second segment, and that goes on with more room."""
    disk, times = empty_run(), 0

    async def execute(write: Callable[[], None]) -> None:
        nonlocal times
        await anyio.sleep(random.choice((0.0, 1.0)) * random.random())
        if getattr(write, "__func__", None) is fails:
            times += 1
            if times == 2:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), JOURNAL)
        write()

    async def commit(harness: StoreHarness) -> None:
        for tick in range(60):
            await anyio.sleep(random.random())
            await harness.commit(tick, tick + 1)
            if tick % 7 == 3:
                harness.checkpoint(tick + 1)
        await harness.store.close()

    harness = StoreHarness(disk, execute, segment_bytes=SEGMENT, keeps_answers=False)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(harness.store.run)
        with pytest.raises(JournalError, match="cannot be written: No space left on device; what was"):
            await commit(harness)
    harness = StoreHarness(disk, execute, segment_bytes=SEGMENT, keeps_answers=False)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(harness.store.run)
        await commit(harness)
    return files_of(disk)


def sealed(count: int) -> SimulatedDisk:
    """Return a run of so many ticks, of which all are sealed that fill a segment."""
    disk = empty_run()
    write(disk, frames(count), SEGMENT)
    return disk


def files_of(disk: SimulatedDisk) -> dict[str, bytes]:
    """Return the journal and its segments."""
    return {name: disk.visible(name) for name in disk.visible_names() if name == JOURNAL or start_of(name) >= 0}


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


def test_a_checkpoint_keeps_the_answers_that_open_questions_may_still_want() -> None:
    disk, ticks = run_of(6, answers=3)
    store = RunStore(disk, history_of(disk), keeps_answers=True)
    first = len(MAGIC)
    assert store.position(6, ticks[5].link, oldest_asked=0).answers_bytes == first
    for tick in range(3):
        store.recorded_answer(question(tick, 2))
    assert store.recorded_answer(question(3, 2)) is None  # and now the log has been read to its end
    at = store.position(6, ticks[5].link, oldest_asked=6)
    assert (at.tick, at.link, at.answers_bytes) == (6, ticks[5].link, first)


async def test_answers_that_have_taken_effect_lie_before_a_later_checkpoint() -> None:
    harness = StoreHarness(empty_run())
    async with harness.running():
        await harness.keep(1)
        await harness.commit(0, 1)
        length = harness.disk.size(ANSWERS)
        await harness.keep(2)
        await harness.commit(1, 2)
        at = partial(harness.store.position, 2, harness.ticks[1].link)
        assert at(0).answers_bytes == len(MAGIC)
        assert at(1).answers_bytes == length
        assert at(2).answers_bytes == harness.disk.size(ANSWERS)


async def test_a_checkpoint_that_still_waits_is_left_out_for_a_later_one() -> None:
    gate = Gate()
    harness = StoreHarness(empty_run(), gate.execute, keeps_answers=False)
    async with harness.running():
        await harness.commit(0, 1)
        harness.checkpoint(1)
        await anyio.wait_all_tasks_blocked()  # the first batch waits for the disk, the checkpoint for the batch
        await harness.commit(1, 3)
        harness.checkpoint(2)
        harness.checkpoint(3)
        gate.opened.set()
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
    async with harness.running():
        await harness.commit(0, 1)
        harness.checkpoint(1)
        await anyio.wait_all_tasks_blocked()
        await harness.commit(1, 100)
        await anyio.wait_all_tasks_blocked()
        assert slow.waiting == 1
        assert harness.store.statistics.ticks == 100
        assert harness.store.statistics.checkpoints == 0
        slow.opened.set()
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
