"""The listener: clients that are gone, that wait, and those without the token."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import pytest
from starlette.types import Message

from actors.http.connection import STILL_THERE
from actors.studies.gateway.broker import Broker
from actors.studies.gateway.process import BODY_MAX_BYTES, application
from tests.actors.studies.gateway.conftest import Tapes
from tests.actors.studies.gateway.test_broker import HOST, Server, broker_of, question, told
from tests.catalogue import catalogue

NAMED = {"url": f"{HOST}/api/chat", "service": "s", "cell": "a", "process": "p", "within-s": "5"}


class Client:
    """A client that sends a request, and is gone afterwards if it is told so."""

    def __init__(
        self, token: str = "secret", *, path: str = "/", body: bytes = b'{"seed": 1}', is_gone: bool = False
    ) -> None:
        self._headers = {**{f"x-prism-{name}": text for name, text in NAMED.items()}, "x-prism-token": token}
        self._path = path
        self._body = body
        self._is_gone = is_gone
        self.is_read = False
        self.sent: list[Message] = []
        self.told = anyio.Event()

    async def receive(self) -> Message:
        if not self.is_read:
            self.is_read = True
            return {"type": "http.request", "body": self._body}
        if not self._is_gone:
            await anyio.sleep_forever()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        self.sent.append(message)

    async def ask(self, broker: Broker) -> None:
        """Ask the application of a broker."""
        none: Callable[..., Any] = lambda: None  # noqa: E731
        scope = {
            "type": "http",
            "method": "POST",
            "path": self._path,
            "query_string": b"",
            "headers": [(name.encode(), text.encode()) for name, text in self._headers.items()],
            "state": {"broker": broker},
            "extensions": {STILL_THERE: self.told.set},
        }
        await application("secret", none)(scope, self.receive, self.send)


async def test_the_call_of_a_client_that_is_gone_is_kept_and_its_answer_is_there_for_the_next(tapes: Tapes) -> None:
    server, client = Server(), Client(is_gone=True)
    tape = await tapes()
    async with broker_of(tape, server) as broker:
        await client.ask(broker)
        assert tape.totals.calls == 1
        again = Client()
        await again.ask(broker)
        assert (again.sent[0]["status"], again.sent[1]["body"]) == (200, b"1")
        assert await told(broker, question(name="")) == "2", "that one was of no use"


async def test_a_client_that_waits_is_told_that_the_gateway_is_there(
    tapes: Tapes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("actors.studies.gateway.process.HEARTBEAT_S", 0.0)
    server, client = Server(), Client()
    server.gate = anyio.Event()
    tape = await tapes()
    async with broker_of(tape, server) as broker, anyio.create_task_group() as tasks:
        tasks.start_soon(client.ask, broker)
        await client.told.wait()
        assert client.sent == []
        server.gate.set()
    assert client.sent[0]["status"] == 200


@catalogue("path", ["/", "/statistics", "/elsewhere"])
async def test_a_client_without_the_token_is_refused_before_the_body_is_read(tapes: Tapes, path: str) -> None:
    server, client = Server(), Client("guessed", path=path)
    tape = await tapes()
    async with broker_of(tape, server) as broker:
        await client.ask(broker)
    assert (client.sent[0]["status"], client.is_read, server.asked) == (403, False, [])
    assert (b"connection", b"close") in client.sent[0]["headers"]


async def test_a_body_that_is_too_large_is_refused(tapes: Tapes) -> None:
    server, client = Server(), Client(body=b"x" * (BODY_MAX_BYTES + 1))
    tape = await tapes()
    async with broker_of(tape, server) as broker:
        await client.ask(broker)
    assert (client.sent[0]["status"], server.asked) == (413, [])
