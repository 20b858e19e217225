"""Connections are bounded: how many there are, what they send, and what waits in them."""

import asyncio

import anyio
import httpx
import pytest

from actors.testing import ModelServer, ServerSettings
from actors.testing.app import App
from actors.testing.connection import MAX_PIPELINED, Connection, Connections
from actors.testing.wire import MAX_BODY_BYTES
from tests.actors.testing.support import CHAT, serving, until


async def test_a_body_that_is_too_long_is_told_so_before_it_comes() -> None:
    async with serving() as (server, _), await anyio.connect_tcp(server.host, server.port) as stream:
        await stream.send(b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % (MAX_BODY_BYTES + 1))
        assert (await stream.receive()).startswith(b"HTTP/1.1 413 ")
        with pytest.raises(anyio.EndOfStream):
            await stream.receive()


async def test_one_connection_too_many_gets_a_503_and_is_closed() -> None:
    async with serving(ServerSettings(max_connections=1)) as (server, client):
        await client.get("/")
        async with await anyio.connect_tcp(server.host, server.port) as another:
            assert (await another.receive()).startswith(b"HTTP/1.1 503 ")
            with pytest.raises(anyio.EndOfStream):
                await another.receive()
        assert (await client.get("/")).status_code == 200
        statistics = server.statistics()
    assert (statistics.accepted_connections, statistics.refused_connections, statistics.peak_connections) == (1, 1, 1)


async def test_requests_that_wait_behind_another_are_all_answered_in_order() -> None:
    paths = [f"/{i}" for i in range(20 * MAX_PIPELINED)]
    async with serving() as (server, _), await anyio.connect_tcp(server.host, server.port) as stream:
        await stream.send(b"".join(f"GET {path} HTTP/1.1\r\n\r\n".encode() for path in paths))
        received = b""
        while received.count(b"404 page not found") < len(paths):
            received += await stream.receive()
        assert [request.path for request in server.requests] == paths


class WatchedTransport(asyncio.Transport):
    """A transport that sends nothing, and knows whether it may read."""

    def __init__(self) -> None:
        super().__init__()
        self.reads = True

    def pause_reading(self) -> None:
        self.reads = False

    def resume_reading(self) -> None:
        self.reads = True

    def is_closing(self) -> bool:
        return False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        pass


async def test_a_client_that_asks_and_never_reads_is_not_read_from_either() -> None:
    app, transport = App(ServerSettings()), WatchedTransport()
    connection = Connection(app, Connections())
    connection.connection_made(transport)
    connection.pause_writing()
    connection.data_received(b"GET / HTTP/1.1\r\n\r\n" * 3 * MAX_PIPELINED)
    await anyio.wait_all_tasks_blocked()
    assert (app.requests, transport.reads) == (0, False)
    connection.resume_writing()
    await until(lambda: app.requests == 3 * MAX_PIPELINED)
    assert transport.reads


async def test_deeply_nested_json_is_refused() -> None:
    deep = b'{"model": "llama3.2", "messages": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    async with serving() as (_, client):
        response = await client.post("/api/chat", content=deep)
        again = await client.post("/api/chat", json=CHAT)
    assert (response.status_code, response.json()) == (400, {"error": "exceeded max depth"})
    assert again.status_code == 200


def test_an_ipv6_address_is_written_as_one() -> None:
    with ModelServer(host="::1") as server:
        assert server.url == f"http://[::1]:{server.port}"
        assert httpx.get(server.url, trust_env=False).text == "Ollama is running"
