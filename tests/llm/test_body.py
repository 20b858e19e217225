"""Bodies of any size and encoding, over a socket: they are refused by name, and never more of them is in memory."""

import asyncio
import gzip
import json
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing, asynccontextmanager
from typing import NamedTuple

import pytest

from prism.llm import LLMConfig, LLMFailureException
from prism.llm.http import LARGEST_ANSWER_BYTES
from tests.llm.support import BACKENDS, asking
from tests.patience import HANG_S

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
async def pouring(pieces: Iterator[bytes], *fields: str, status: int = 200) -> AsyncIterator[Sent]:
    """Return a context of a server whose body has these pieces, chunked, as far as the client reads them."""
    sent = Sent()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = "\r\n".join((f"HTTP/1.1 {status} Said", "Transfer-Encoding: chunked", "Connection: close", *fields))
        try:
            sent.heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
            writer.write(f"{head}\r\n\r\n".encode())
            for piece in pieces:
                writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                await writer.drain()
                sent.size += len(piece)
            writer.write(b"0\r\n\r\n")
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client has had enough
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    sent.host = "http://{}:{}".format(*server.sockets[0].getsockname()[:2])
    async with server:
        yield sent


def endless() -> Iterator[bytes]:
    while True:
        yield b"x" * 65_536


def bomb() -> Iterator[bytes]:
    """Yield one body that unpacks to 30 megabytes."""
    packer = zlib.compressobj(1, wbits=31)
    yield b"".join([*(packer.compress(b"\0" * MB) for _ in range(30)), packer.flush()])


async def told(backend: str, host: str) -> str:
    """Return the text of an answer, or the failure."""
    async with aclosing(BACKENDS[backend](LLMConfig(host=host, timeout_s=HANG_S), {})) as model:
        try:
            return (await model.complete(asking())).text
        except LLMFailureException as error:
            return f"{error.reason} {error.status_code}: {error.detail}"


class Case(NamedTuple):
    """A body, the fields of its head, its status, and the beginning of what a client makes of it."""

    pieces: Callable[[str], Iterator[bytes]]
    said: str
    fields: tuple[str, ...] = ()
    status: int = 200


def packed(pack: Callable[[bytes], bytes]) -> Callable[[str], Iterator[bytes]]:
    return lambda backend: iter([pack(json.dumps(REPLY[backend]).encode())])


LARGE = "invalid_response None: answer larger than 1 MB"
CASES = {
    "endless": Case(lambda _: endless(), LARGE),
    "unpacks to much": Case(lambda _: bomb(), LARGE, ("Content-Encoding: gzip",)),
    "an endless error": Case(lambda _: endless(), "server_error 500: xxx", status=500),
    "an endless packed error": Case(lambda _: endless(), "overloaded 503: ", ("Content-Encoding: br",), 503),
    "gzip": Case(packed(gzip.compress), "{}", ("Content-Encoding: gzip",)),
    "x-gzip": Case(packed(gzip.compress), "{}", ("Content-Encoding: x-gzip",)),
    "deflate": Case(packed(zlib.compress), "{}", ("Content-Encoding: deflate",)),
    "identity": Case(packed(bytes), "{}", ("Content-Encoding: identity",)),
    "not packed": Case(packed(bytes), "invalid_response None: the answer comes in the encoding 'gzip', and cannot be "
                       "unpacked", ("Content-Encoding: gzip",)),
    "not asked for": Case(packed(bytes), "invalid_response None: the answer comes in the encoding 'br', which was not",
                          ("Content-Encoding: br",)),
    "at the limit": Case(packed(lambda body: body.ljust(LARGEST_ANSWER_BYTES)), "{}"),
    "over the limit": Case(packed(lambda body: body.ljust(LARGEST_ANSWER_BYTES + 1)), LARGE),
}  # fmt: skip


@pytest.mark.parametrize("backend", BACKENDS)
async def test_a_body_is_read_as_far_as_its_limit_and_named_if_it_cannot_be_used(backend: str) -> None:
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for name, case in CASES.items():
        async with pouring(case.pieces(backend), *case.fields, status=case.status) as sent:
            said = await told(backend, sent.host)
        assert said.startswith(case.said), name
        assert sent.size < 10 * MB, name  # what sockets keep is sent, too
        assert "accept-encoding: identity\r\n" in sent.heads[0].lower()
    peak = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    assert peak < 8 * MB
