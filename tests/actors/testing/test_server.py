"""The double itself: its log, its connections, how it stops and starts again, and its command line."""

import anyio
import httpx
import pytest

from actors.testing import Latency, ModelServer, ServerSettings
from tests.actors.testing.support import CHAT, serving, until


async def test_the_log_says_what_was_asked_and_when() -> None:
    async with serving() as (server, client):
        await client.get("/api/tags")
        await client.post("/api/chat", json=CHAT)
        tags, chat = server.requests
    assert (tags.method, tags.path, tags.body, tags.call, tags.status) == ("GET", "/api/tags", None, None, 200)
    assert (chat.path, chat.body, chat.call, chat.status) == ("/api/chat", CHAT, 1, 200)
    assert chat.ended_s is not None
    assert chat.ended_s >= chat.started_s >= (tags.ended_s or 0)


async def test_connections_are_kept_alive_counted_and_closed_on_request() -> None:
    async with serving() as (server, client):
        for _ in range(3):
            await client.post("/api/chat", json=CHAT)
        assert (server.statistics().accepted_connections, server.statistics().open_connections) == (1, 1)
        closing = await client.get("/", headers={"Connection": "close"})
        assert closing.headers["connection"] == "close"
        await until(lambda: server.statistics().open_connections == 0)


async def test_stop_drops_every_connection_and_start_takes_the_same_port() -> None:
    async with serving(ServerSettings(latency=Latency(mean_s=30))) as (server, client):
        url = server.url
        async with anyio.create_task_group() as tasks:

            async def ask() -> None:
                with pytest.raises(httpx.RemoteProtocolError):
                    await client.post("/api/chat", json=CHAT)

            tasks.start_soon(ask)
            await until(lambda: server.statistics().busy == 1)
            await anyio.to_thread.run_sync(server.stop)
        assert server.statistics().open_connections == 0
        assert server.calls[0].abandoned
        with pytest.raises(httpx.ConnectError):
            await client.get("/")
        server.settings = ServerSettings()
        await anyio.to_thread.run_sync(server.start)
        assert server.url == url
        assert (await client.post("/api/chat", json=CHAT)).status_code == 200
        assert [call.call for call in server.calls] == [1, 2]


def test_an_error_in_the_double_itself_is_raised_by_stop() -> None:
    server = ModelServer(ServerSettings(reply=lambda messages, options, form: str(1 // 0)))
    server.start()
    with httpx.Client(base_url=server.url, trust_env=False) as client, pytest.raises(httpx.TransportError):
        client.post("/api/chat", json=CHAT)
    with pytest.raises(ZeroDivisionError):
        server.stop()
