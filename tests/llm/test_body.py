"""Bodies of any size and encoding, over a socket: they are refused by name, and never more of them is in memory."""

from __future__ import annotations

import asyncio
import gzip
import json
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager

import pytest

from prism.llm import LLMConfig, LLMFailureException
from prism.llm.http import LARGEST_ANSWER_BYTES
from tests.catalogue import catalogue
from tests.llm.support import BACKENDS, asking
from tests.patience import HANG_S
from tests.tiers import Size

CHUNK = b"x" * 65_536
MB = 1_000_000
REPLY = {
    "ollama": {"model": "m", "done": True, "done_reason": "stop", "message": {"role": "assistant", "content": "{}"}},
    "openai": {"model": "m", "choices": [{"message": {"content": "{}"}, "finish_reason": "stop"}]},
}


class Sent:
    """The bytes that a server got rid of, and the heads of the requests."""

    def __init__(self) -> None:
        self.size = 0
        self.heads: list[str] = []
        self.host = ""


@asynccontextmanager
async def pouring(pieces: Callable[[], Iterator[bytes]], *fields: str, status: int = 200) -> AsyncIterator[Sent]:
    """Return a context of a server whose every body has these pieces, chunked, as far as the client reads them."""
    sent = Sent()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = "\r\n".join((f"HTTP/1.1 {status} Said", "Transfer-Encoding: chunked", "Connection: close", *fields))
        try:
            sent.heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
            writer.write(f"{head}\r\n\r\n".encode())
            for piece in pieces():
                writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                await writer.drain()
                sent.size += len(piece)
            writer.write(b"0\r\n\r\n")
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client has had enough, or has only asked whether TLS is spoken here
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    sent.host = "http://{}:{}".format(*server.sockets[0].getsockname()[:2])
    async with server:
        yield sent


def endless() -> Iterator[bytes]:
    while True:
        yield CHUNK


def of_size(size: int) -> Callable[[], Iterator[bytes]]:
    return lambda: (CHUNK for _ in range(size // len(CHUNK)))


def bomb(unpacked_mb: int) -> list[bytes]:
    """Return a body that unpacks to so many megabytes, in pieces."""
    packer = zlib.compressobj(1, wbits=31)
    pieces = [packer.compress(b"\0" * MB) for _ in range(unpacked_mb)]
    return [piece for piece in (*pieces, packer.flush()) if piece]


async def failure(backend: str, host: str) -> LLMFailureException:
    model = BACKENDS[backend](LLMConfig(host=host, timeout_s=HANG_S), {})
    try:
        with pytest.raises(LLMFailureException) as caught:
            await model.complete(asking())
    finally:
        await model.aclose()
    return caught.value


@pytest.fixture
def peak_bytes() -> Iterator[Callable[[], int]]:
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    yield lambda: tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()


@pytest.mark.parametrize("backend", BACKENDS)
async def test_a_large_and_an_endless_body_are_refused_before_they_are_read(
    backend: str, size: Size, peak_bytes: Callable[[], int]
) -> None:
    for pieces in (of_size(size(50, everyday=10) * MB), endless):
        async with pouring(pieces) as sent:
            refused = await failure(backend, sent.host)
        assert (refused.reason, refused.status_code) == ("invalid_response", None)
        assert "answer larger than 1 MB" in refused.detail
        assert sent.size < 10 * MB  # what sockets keep is sent, too
    assert peak_bytes() < 5 * MB


@pytest.mark.parametrize("backend", BACKENDS)
async def test_a_small_body_that_unpacks_to_a_huge_one_is_refused(
    backend: str, size: Size, peak_bytes: Callable[[], int]
) -> None:
    body = bomb(size(300, everyday=30))
    async with pouring(lambda: iter([b"".join(body)]), "Content-Encoding: gzip") as sent:
        refused = await failure(backend, sent.host)
    assert (refused.reason, "answer larger than 1 MB" in refused.detail) == ("invalid_response", True)
    assert peak_bytes() < 5 * MB


@pytest.mark.parametrize("backend", BACKENDS)
async def test_an_error_with_an_endless_body_keeps_its_status(backend: str) -> None:
    async with pouring(endless, status=500) as sent:
        refused = await failure(backend, sent.host)
        assert (refused.reason, refused.status_code) == ("server_error", 500)
    async with pouring(endless, "Content-Encoding: br", status=503) as sent:
        refused = await failure(backend, sent.host)
        assert (refused.reason, refused.status_code) == ("overloaded", 503)


@catalogue(
    ("encoding", "pack"),
    [("gzip", gzip.compress), ("x-gzip", gzip.compress), ("deflate", zlib.compress), ("identity", bytes)],
)
@catalogue("backend", BACKENDS)
async def test_an_answer_that_is_packed_all_the_same_is_read(
    backend: str, encoding: str, pack: Callable[[bytes], bytes]
) -> None:
    body = pack(json.dumps(REPLY[backend]).encode())
    async with pouring(lambda: iter([body]), f"Content-Encoding: {encoding}") as sent:
        model = BACKENDS[backend](LLMConfig(host=sent.host, timeout_s=HANG_S), {})
        assert (await model.complete(asking())).text == "{}"
        await model.aclose()
    assert "accept-encoding: identity\r\n" in sent.heads[0].lower()


@pytest.mark.parametrize(
    ("encoding", "problem"),
    [("br", "the encoding 'br', which was not asked for"), ("gzip", "the encoding 'gzip', and cannot be unpacked")],
)
async def test_an_answer_that_cannot_be_unpacked_is_invalid(encoding: str, problem: str) -> None:
    async with pouring(lambda: iter([b"{}"]), f"Content-Encoding: {encoding}") as sent:
        refused = await failure("openai", sent.host)
    assert (refused.reason, problem in refused.detail) == ("invalid_response", True)


async def test_an_answer_of_exactly_the_limit_is_read() -> None:
    body = json.dumps(REPLY["openai"]).encode()
    for size, is_read in ((LARGEST_ANSWER_BYTES, True), (LARGEST_ANSWER_BYTES + 1, False)):
        async with pouring(lambda size=size: iter([body.ljust(size)])) as sent:  # type: ignore[misc]
            model = BACKENDS["openai"](LLMConfig(host=sent.host, timeout_s=HANG_S), {})
            if is_read:
                assert (await model.complete(asking())).text == "{}"
            else:
                with pytest.raises(LLMFailureException, match="larger than 1 MB"):
                    await model.complete(asking())
            await model.aclose()
