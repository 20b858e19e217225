"""Calls wait for a slot, and a call takes the time that its latency says."""

from typing import Any

import anyio
import pytest

from actors.testing import Latency, ServerSettings
from actors.testing.slots import Slots
from tests.actors.testing.support import BUSY, CHAT, serving, until


async def test_slots_run_calls_in_order_of_arrival() -> None:
    order: list[int] = []
    async with serving(ServerSettings(slots=1, latency=Latency(mean_s=0.02))) as (server, client):

        async def ask(number: int) -> None:
            await client.post("/api/chat", json=CHAT)
            order.append(number)

        async with anyio.create_task_group() as tasks:
            for number in range(5):
                tasks.start_soon(ask, number)
                await until(lambda: server.statistics().calls == number + 1)  # noqa: B023
        await until(lambda: server.statistics().in_flight == 0)
        statistics = server.statistics()
    assert order == [0, 1, 2, 3, 4]
    assert statistics.peak_busy == 1
    assert 1 <= statistics.peak_waiting <= 4
    assert (statistics.busy, statistics.waiting, statistics.in_flight) == (0, 0, 0)


async def test_as_many_calls_run_at_once_as_there_are_slots() -> None:
    async with serving(ServerSettings(slots=3, latency=Latency(mean_s=30))) as (server, client):
        async with anyio.create_task_group() as tasks:
            for _ in range(9):
                tasks.start_soon(lambda: client.post("/api/chat", json=CHAT))
            await until(lambda: server.statistics().in_flight == 9)
            tasks.cancel_scope.cancel()
        assert (server.statistics().peak_busy, server.statistics().peak_in_flight) == (3, 9)


@pytest.mark.parametrize("path", ["/api/chat", "/v1/chat/completions"])
async def test_a_full_queue_gives_503(path: str) -> None:
    statuses: list[int] = []
    bodies: list[Any] = []
    async with serving(ServerSettings(slots=1, max_queue=1, load_s=1.5)) as (server, client):

        async def ask() -> None:
            response = await client.post(path, json=CHAT)
            statuses.append(response.status_code)
            bodies.append(response.json())

        async with anyio.create_task_group() as tasks:
            for number in range(3):
                tasks.start_soon(ask)
                await until(lambda: server.statistics().calls == number + 1)  # noqa: B023
    assert statuses == [503, 200, 200]
    error = bodies[0]["error"]
    assert (error if path == "/api/chat" else error["message"]) == BUSY


async def test_a_client_that_leaves_frees_its_slot_and_its_place_in_the_queue() -> None:
    async with serving(ServerSettings(slots=1, latency=Latency(mean_s=30))) as (server, client):
        async with anyio.create_task_group() as tasks:
            for number in range(3):
                tasks.start_soon(lambda: client.post("/api/chat", json=CHAT))
                await until(lambda: server.statistics().calls == number + 1)  # noqa: B023
            tasks.cancel_scope.cancel()
        await until(lambda: server.statistics().open_connections == 0)
        await until(lambda: all(call.ended_s is not None for call in server.calls))
        assert (server.statistics().busy, server.statistics().waiting) == (0, 0)
        assert all(call.abandoned and call.status is None for call in server.calls)


async def test_a_slot_freed_while_all_waiters_leave_is_free() -> None:
    slots = Slots(limit=1, max_queue=9)
    await slots.acquire()
    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(slots.acquire)
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
        slots.release()
    assert (slots.busy, slots.waiting) == (0, 0)


def test_a_log_normal_latency_has_its_mean_and_its_p99() -> None:
    latency = Latency(mean_s=1, p99_s=8, seed=3)
    times = sorted(latency.seconds(call, 0) for call in range(20_000))
    assert sum(times) / len(times) == pytest.approx(1, rel=0.05)
    assert times[int(len(times) * 0.99)] == pytest.approx(8, rel=0.1)
    assert latency.seconds(7, 0) == Latency(mean_s=1, p99_s=8, seed=3).seconds(7, 0)


def test_a_latency_grows_with_the_other_busy_slots() -> None:
    assert Latency(mean_s=1, slope=0.5).seconds(1, 4) == 3


def test_a_p99_that_no_log_normal_has_is_refused() -> None:
    with pytest.raises(ValueError, match="p99_s: must be 1 to 15"):
        Latency(mean_s=1, p99_s=20)
