"""Requests are cut from a stream of bytes, whatever the pieces they come in, and never beyond their limits."""

import asyncio
from http import HTTPStatus

import anyio
import httpx
import pytest

from actors.testing import ModelServer, ServerSettings
from actors.testing.app import App
from actors.testing.connection import MAX_PIPELINED, Connection, Connections
from actors.testing.errors import BadFrameError
from actors.testing.wire import MAX_BODY_BYTES, MAX_HEAD_BYTES, RequestParser
from tests.actors.testing.support import CHAT, client_of, serving, until

LENGTH = b"POST /a?b HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello"
CHUNKED = b"POST /c HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3;ext=1\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n"
BARE = b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n"
ALL = LENGTH + CHUNKED + BARE + LENGTH


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, len(ALL)])
def test_requests_are_the_same_in_pieces_of_any_size(size: int) -> None:
    parser = RequestParser()
    found = [request for i in range(0, len(ALL), size) for request in parser.feed(ALL[i : i + size])]
    assert [(request.method, request.path, request.body) for request in found] == [
        ("POST", "/a", b"hello"),
        ("POST", "/c", b"hello"),
        ("GET", "/", b""),
        ("POST", "/a", b"hello"),
    ]
    assert [request.keeps_alive for request in found] == [True, True, False, True]


def head(*lines: str) -> bytes:
    return "\r\n".join(["POST / HTTP/1.1", *lines, "", ""]).encode("latin-1")


CHUNKS = head("Transfer-Encoding: chunked")


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"hello\r\n\r\n", HTTPStatus.BAD_REQUEST),
        (b"GET / HTTP/2\r\n\r\n", HTTPStatus.BAD_REQUEST),
        (head("no colon"), HTTPStatus.BAD_REQUEST),
        (head("Content-Length: -5"), HTTPStatus.BAD_REQUEST),
        (head("Content-Length: \xb2"), HTTPStatus.BAD_REQUEST),
        (head(f"Content-Length: {'9' * 5000}"), HTTPStatus.BAD_REQUEST),
        (CHUNKS + b"-5\r\n", HTTPStatus.BAD_REQUEST),
        (CHUNKS + b"1_0\r\n", HTTPStatus.BAD_REQUEST),
        (CHUNKS + b"5" * 2000, HTTPStatus.BAD_REQUEST),
        (b"x" * (MAX_HEAD_BYTES + 1), HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE),
        (head(f"X: {'x' * MAX_HEAD_BYTES}"), HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE),
        (head(f"Content-Length: {MAX_BODY_BYTES + 1}"), HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
        (CHUNKS + b"%x\r\n" % (MAX_BODY_BYTES + 1), HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
    ],
)
def test_bytes_that_are_no_request_are_refused_with_their_status(data: bytes, status: HTTPStatus) -> None:
    with pytest.raises(BadFrameError) as caught:
        RequestParser().feed(data)
    assert caught.value.status is status


def test_a_body_of_many_chunks_is_refused_once_it_is_too_long() -> None:
    parser, chunk = RequestParser(), b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    parser.feed(CHUNKS)
    for _ in range(MAX_BODY_BYTES // 0x10000):
        assert parser.feed(chunk) == []
    with pytest.raises(BadFrameError):
        parser.feed(chunk)


async def test_a_body_that_is_too_long_is_told_so_before_it_comes() -> None:
    async with serving() as (server, _), await anyio.connect_tcp(server.host, server.port) as stream:
        await stream.send(head(f"Content-Length: {MAX_BODY_BYTES + 1}"))
        assert (await stream.receive()).startswith(b"HTTP/1.1 413 ")
        with pytest.raises(anyio.EndOfStream):
            await stream.receive()


async def test_one_connection_too_many_gets_a_503_and_is_closed() -> None:
    async with serving(ServerSettings(max_connections=1)) as (server, client):
        await client.get("/")
        async with client_of(server) as another:
            assert (await another.get("/")).status_code == 503
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
