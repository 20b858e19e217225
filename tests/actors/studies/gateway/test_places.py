"""The places for calls in virtual time."""

from __future__ import annotations

import anyio

from actors.studies.gateway.proxy import Places
from tests.schedules import in_schedules


class Server:
    """A server whose calls take a second; it notes who was served, and how many at once."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self.begun: list[tuple[float, str]] = []
        self.under_way = self.most = 0

    async def ask(self, cell: str, service: str = "s") -> None:
        await self.places.take(service)
        self.begun.append((anyio.current_time(), cell))
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            await anyio.sleep(1.0)
        finally:
            self.under_way -= 1
            self.places.give_back()


@in_schedules(5)
async def test_no_more_calls_begin_in_a_second_than_the_rate_allows() -> None:
    server = Server(Places(100, rate_per_s=4.0))
    async with anyio.create_task_group() as tasks:
        for number in range(21):
            tasks.start_soon(server.ask, f"cell {number % 3}")
    times = [time for time, _ in server.begun]
    assert [round(time - times[0], 6) for time in times] == [0.25 * place for place in range(21)]


@in_schedules(5)
async def test_a_pause_of_one_service_holds_its_requests_and_no_others() -> None:
    places = Places(1)
    server = Server(places)
    async with anyio.create_task_group() as tasks:
        places.pause("paused", 10.0)
        places.pause("paused", 5.0)  # a shorter one changes nothing
        tasks.start_soon(server.ask, "a", "paused")
        tasks.start_soon(server.ask, "b", "other")
    assert sorted(server.begun) == [(0.0, "b"), (10.0, "a")]
