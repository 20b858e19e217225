"""A server that takes so many calls a second, and no more."""

from __future__ import annotations

import pytest

from actors.testing import ServerSettings
from actors.testing.slots import RateLimit
from tests.actors.testing.support import CHAT, COMPLETION, serving, until
from tests.catalogue import catalogue


def test_a_second_of_calls_is_taken_at_once_and_then_as_many_as_the_rate_says() -> None:
    limit = RateLimit()
    assert [limit.take(5.0, 100.0) for _ in range(5)] == [0.0] * 5
    assert limit.take(5.0, 100.0) == pytest.approx(0.2)
    assert [limit.take(5.0, 100.2), limit.take(5.0, 100.2)] == [0.0, pytest.approx(0.2)]
    taken = sum(limit.take(5.0, 100.2 + moment / 100) == 0.0 for moment in range(1, 1001))
    assert taken == pytest.approx(50, abs=1)


def test_a_rate_below_one_still_takes_a_call_now_and_then() -> None:
    limit = RateLimit()
    assert [limit.take(0.5, 7.0), limit.take(0.5, 8.0), limit.take(0.5, 9.0)] == [0.0, pytest.approx(1.0), 0.0]


@catalogue("says_when", [True, False])
@catalogue(("path", "body"), [("/api/chat", CHAT), ("/v1/chat/completions", COMPLETION)])
async def test_one_call_too_many_gets_a_429_and_is_told_when_to_come_again_only_if_the_server_says_when(
    path: str, body: dict[str, object], says_when: bool
) -> None:
    async with serving(ServerSettings(rate_per_s=0.001, says_when=says_when)) as (server, client):
        assert (await client.post(path, json=body)).status_code == 200
        refused = await client.post(path, json=body)
        assert (await client.get("/api/tags")).status_code == 200, "only questions are counted"
        await until(lambda: sum(server.statistics().statuses.values()) == 3)  # counted when the answer has been sent
        assert server.statistics().statuses == {200: 2, 429: 1}
    assert refused.status_code == 429
    assert "too many requests" in refused.text
    assert refused.headers.get("retry-after") in ({"1000", "999"} if says_when else {None})
