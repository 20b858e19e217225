"""Virtual time: waiting costs nothing, and the clock stands still while a thread works."""

from __future__ import annotations

from threading import Event

import anyio
import anyio.lowlevel
import pytest
from anyio import to_thread

from actors.testing.virtual_time import run_in_virtual_time
from tests.patience import HANG_S


def test_a_year_passes_at_once_and_timers_fire_in_their_order() -> None:
    async def wait() -> list[tuple[float, int]]:
        fired: list[tuple[float, int]] = []

        async def sleep(days: int) -> None:
            await anyio.sleep(86_400 * days)
            fired.append((anyio.current_time(), days))

        async with anyio.create_task_group() as tasks:
            for days in (365, 1, 30):
                tasks.start_soon(sleep, days)
        return fired

    assert run_in_virtual_time(wait) == [(86_400, 1), (30 * 86_400, 30), (365 * 86_400, 365)]


@pytest.mark.timeout(60)
def test_a_cancelled_timer_before_the_next_one_is_not_waited_for() -> None:
    async def give_up_and_wait() -> float:
        with anyio.move_on_after(3600):  # its timer is cancelled, and is the next one in the loop's list
            await anyio.lowlevel.checkpoint()
        await anyio.sleep(7200)
        return anyio.current_time()

    assert run_in_virtual_time(give_up_and_wait) == 7200


def test_the_clock_stands_still_while_a_thread_works() -> None:
    async def work_beside_a_timer() -> float:
        hour_is_over = Event()

        async def hour() -> None:
            await anyio.sleep(3600)
            hour_is_over.set()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(hour)
            await anyio.sleep(10)
            assert not await to_thread.run_sync(hour_is_over.wait, 0.05)
            ended = anyio.current_time()
            tasks.cancel_scope.cancel()
        return ended

    assert run_in_virtual_time(work_beside_a_timer) == 10


def test_the_result_of_a_thread_comes_at_its_time() -> None:
    async def ask_a_thread() -> tuple[int, float]:
        await anyio.sleep(5)
        with anyio.fail_after(HANG_S):
            answer = await to_thread.run_sync(lambda: 42)
        return answer, anyio.current_time()

    assert run_in_virtual_time(ask_a_thread) == (42, 5)
