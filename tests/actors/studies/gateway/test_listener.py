"""The listener: clients that are gone, and those without the token."""

from __future__ import annotations

import asyncio
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import pytest

from actors.studies.gateway.listener import BODY_MAX_BYTES, Listener
from actors.studies.gateway.tape import ExperimentTape
from tests.actors.studies.gateway.test_broker import HOST, Server, broker_of


def head(token: str, length: int) -> bytes:
    named = f"X-Prism-Url: {HOST}/api/chat\r\nX-Prism-Service: s\r\nX-Prism-Cell: c\r\nX-Prism-Process: p\r\n"
    sent = f"X-Prism-Token: {token}\r\nX-Prism-Within-S: 5\r\nContent-Length: {length}\r\n"
    return f"POST / HTTP/1.1\r\n{sent}{named}\r\n".encode()


class Wire:
    """The way back to a client; where the client is gone, each write fails."""

    def __init__(self, *, is_gone: bool = False) -> None:
        self.sent = b""
        self.is_gone = is_gone
        self.has_failed = anyio.Event()

    def write(self, content: bytes) -> None:
        self.sent += content

    async def drain(self) -> None:
        if self.is_gone:
            self.has_failed.set()
            raise ConnectionResetError

    def close(self) -> None:
        self.is_gone = True


async def test_the_call_of_a_client_that_is_gone_is_kept_and_nothing_else_happens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("actors.studies.gateway.listener.HEARTBEAT_S", 0.0)
    reader, wire, server = asyncio.StreamReader(), Wire(is_gone=True), Server()
    server.gate = anyio.Event()
    reader.feed_data(head("secret", 2) + b"{}")
    with closing(ExperimentTape(tmp_path / "tape", "record")) as tape:
        async with broker_of(tape, server) as broker, anyio.create_task_group() as tasks:
            writer: Any = wire
            tasks.start_soon(Listener(broker, "secret").serve, reader, writer)
            await wire.has_failed.wait()
            server.gate.set()
        assert tape.totals.calls == 1


@pytest.mark.parametrize("length", [8, BODY_MAX_BYTES + 1])
async def test_a_client_without_the_token_is_refused_before_the_body_is_read(tmp_path: Path, length: int) -> None:
    reader, wire, server = asyncio.StreamReader(), Wire(), Server()
    reader.feed_data(head("guessed", length))  # and the body does not come
    with closing(ExperimentTape(tmp_path / "tape", "record")) as tape:
        async with broker_of(tape, server) as broker:
            writer: Any = wire
            await Listener(broker, "secret").serve(reader, writer)
    assert wire.sent.startswith(b"HTTP/1.1 403 ")
    assert not server.asked


async def test_connections_without_a_request_are_few_and_do_not_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("actors.studies.gateway.listener.STRANGERS_MAX", 2)
    wires: list[Any] = [Wire() for _ in range(4)]
    readers = [asyncio.StreamReader() for _ in wires]
    with closing(ExperimentTape(tmp_path / "tape", "record")) as tape:
        async with broker_of(tape, Server()) as broker:
            listener = Listener(broker, "secret")
            async with anyio.create_task_group() as tasks:
                for reader, wire in zip(readers, wires, strict=True):
                    tasks.start_soon(listener.serve, reader, wire)
                    await anyio.wait_all_tasks_blocked()
                assert [wire.is_gone for wire in wires] == [True, True, False, False], "the oldest are closed"
                readers[2].feed_data(head("secret", 2) + b"{}")
                await anyio.wait_all_tasks_blocked()
                readers[3].feed_eof()
                readers[2].feed_eof()
            monkeypatch.setattr("actors.studies.gateway.listener.STRANGER_S", 0.0)
            late: Any = Wire()
            await listener.serve(asyncio.StreamReader(), late)
    assert b" 200 " in wires[2].sent
    assert late.is_gone
    assert late.sent == b""
