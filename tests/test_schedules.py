from __future__ import annotations

import asyncio

import anyio
import pytest

from tests.schedules import DeadlockError, run_scheduled


class RacyCounter:
    """A planted bug: a change is read before a pause and written after it."""

    def __init__(self) -> None:
        self.value = 0

    async def set_up(self) -> None:
        await asyncio.sleep(0)
        self.value = 10

    async def double(self) -> None:
        await asyncio.sleep(0)
        self.value *= 2


async def set_up_and_double() -> int:
    """20, but only because the task started first also gets on first."""
    counter = RacyCounter()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(counter.set_up)
        tasks.start_soon(counter.double)
    return counter.value


async def order_of_three() -> list[int]:
    seen: list[int] = []

    async def note(number: int) -> None:
        seen.append(number)

    async with anyio.create_task_group() as tasks:
        for number in range(3):
            tasks.start_soon(note, number)
    return seen


def test_a_few_seeds_show_an_ordering_bug_that_plain_asyncio_hides() -> None:
    assert {anyio.run(set_up_and_double) for _ in range(50)} == {20}
    assert {run_scheduled(seed, set_up_and_double) for seed in range(8)} == {10, 20}


def test_a_seed_is_one_schedule_and_seeds_reach_every_order() -> None:
    orders = [tuple(run_scheduled(seed, order_of_three)) for seed in range(60)]
    assert len(set(orders)) == 6
    assert orders == [tuple(run_scheduled(seed, order_of_three)) for seed in range(60)]


def test_time_is_virtual_and_timers_fire_in_order() -> None:
    async def wait() -> list[tuple[float, int]]:
        fired: list[tuple[float, int]] = []

        async def sleep(number: int) -> None:
            await anyio.sleep(3600.0 * number)
            fired.append((anyio.current_time(), number))

        async with anyio.create_task_group() as tasks:
            for number in (3, 1, 2):
                tasks.start_soon(sleep, number)
        return fired

    for seed in range(10):
        assert run_scheduled(seed, wait) == [(3600.0, 1), (7200.0, 2), (10800.0, 3)]


def test_a_deadlock_is_an_error_that_names_its_seed() -> None:
    with pytest.raises(DeadlockError) as caught:
        run_scheduled(7, anyio.sleep_forever)
    assert caught.value.__notes__ == ["in the schedule of seed 7"]


def test_a_task_left_behind_is_an_error() -> None:
    kept: list[asyncio.Task[None]] = []

    async def leave() -> None:
        kept.append(asyncio.create_task(anyio.sleep(5)))

    with pytest.raises(AssertionError, match="left behind"):
        run_scheduled(0, leave)


def test_an_error_in_a_callback_is_an_error() -> None:
    def fail() -> None:
        raise ValueError("nobody would see this")

    async def plan() -> None:
        asyncio.get_running_loop().call_soon(fail)
        await anyio.sleep(1)

    with pytest.raises(AssertionError, match="nobody looked"):
        run_scheduled(0, plan)
