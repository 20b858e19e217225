"""Answers are kept before anybody acts on them, and known again after a resume."""

from __future__ import annotations

from functools import partial

import anyio
import pytest

from actors.core.errors import JournalError
from actors.persistence.journal import JOURNAL
from actors.persistence.oracle_log import ANSWERS, MAGIC
from actors.runs.run_store import RunStore
from tests.actors.persistence.files import decided, empty_run, history_of, question, run_of
from tests.actors.persistence.store_harness import StoreHarness
from tests.schedules import in_schedules


@in_schedules(30)
async def test_an_answer_is_in_the_log_before_anybody_acts_on_it() -> None:
    harness = StoreHarness(empty_run())
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(harness.store.run)
        for agent in range(5):
            await harness.keep(agent)
            assert harness.disk.visible(ANSWERS).count(b"clock") == agent + 1
        await harness.store.close()


async def test_answers_are_on_the_medium_before_the_frame_that_follows_from_them_is_written() -> None:
    harness = StoreHarness(empty_run())
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(harness.store.run)
        await harness.keep(0)
        await harness.commit(0, 1)
        await harness.store.close()
    assert harness.changes() == [("append", ANSWERS), ("sync", ANSWERS), ("append", JOURNAL), ("sync", JOURNAL)]


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
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(harness.store.run)
        await harness.keep(1)
        await harness.commit(0, 1)
        length = harness.disk.size(ANSWERS)
        await harness.keep(2)
        await harness.commit(1, 2)
        at = partial(harness.store.position, 2, harness.ticks[1].link)
        assert at(0).answers_bytes == len(MAGIC)
        assert at(1).answers_bytes == length
        assert at(2).answers_bytes == harness.disk.size(ANSWERS)
        await harness.store.close()
