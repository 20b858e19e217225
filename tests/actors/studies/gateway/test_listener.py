"""The listener: clients that are gone, and those without the token."""

from __future__ import annotations

from contextlib import aclosing
from typing import Any

import anyio
import msgspec
import pytest
from starlette.types import Message

from actors.studies.gateway.broker import Broker
from actors.studies.gateway.server import BODY_MAX_BYTES, application
from prism.config import LLMConfig
from prism.errors import OracleUnavailableError
from prism.llm import ChatRequest, LLMFailureException
from prism.llm import Message as Text
from prism.llm.gateway import Gateway
from prism.llm.gateway_model import GatewayModel, Reply
from prism.llm.tape import Failed
from tests.actors.studies.gateway.conftest import Tapes
from tests.actors.studies.gateway.test_broker import Model, broker_of, question
from tests.catalogue import catalogue


class Client:
    """A client that sends a request, and is gone afterwards if it is told so."""

    def __init__(
        self, token: str = "secret", *, path: str = "/", body: bytes | None = None, is_gone: bool = False
    ) -> None:
        self._token = token
        self._path = path
        self._body = msgspec.msgpack.encode(question()) if body is None else body
        self._is_gone = is_gone
        self.is_read = False
        self.sent: list[Message] = []

    async def receive(self) -> Message:
        if not self.is_read:
            self.is_read = True
            return {"type": "http.request", "body": self._body}
        if not self._is_gone:
            await anyio.sleep_forever()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        self.sent.append(message)

    async def ask(self, broker: Broker) -> int:
        """Ask the application of a broker, and return the status."""
        scope = {
            "type": "http",
            "method": "POST",
            "path": self._path,
            "query_string": b"",
            "headers": [(b"authorization", f"Bearer {self._token}".encode())],
        }
        await application("secret", broker)(scope, self.receive, self.send)
        return int(self.sent[0]["status"])


async def test_the_call_of_a_client_that_is_gone_is_kept_and_its_answer_is_there_for_the_next(tapes: Tapes) -> None:
    model, client, again = Model(), Client(is_gone=True), Client()
    tape = await tapes()
    async with broker_of(tape, model) as broker:
        await client.ask(broker)
        assert await again.ask(broker) == 200
    found: Any = msgspec.msgpack.decode(again.sent[1]["body"], type=Reply)
    assert (found.text, model.asked) == ("1", 1)


@catalogue("path", ["/", "/elsewhere"])
async def test_a_client_without_the_token_is_refused_before_the_body_is_read(tapes: Tapes, path: str) -> None:
    model, client = Model(), Client("guessed", path=path)
    async with broker_of(await tapes(), model) as broker:
        assert await client.ask(broker) == 403
    assert (client.is_read, model.checks) == (False, 0)
    assert (b"connection", b"close") in client.sent[0]["headers"]


@catalogue(
    ("status", "body"),
    [
        (413, b"x" * (BODY_MAX_BYTES + 1)),
        (400, b"{}"),
        (404, msgspec.msgpack.encode(msgspec.structs.replace(question(), service="other"))),
    ],
)
async def test_what_is_no_question_to_a_known_model_is_refused(tapes: Tapes, status: int, body: bytes) -> None:
    model = Model()
    async with broker_of(await tapes(), model) as broker:
        assert await Client(body=body).ask(broker) == status
    assert model.checks == 0


async def test_a_gateway_that_is_gone_is_a_lost_connection_and_at_the_start_the_end() -> None:
    gone = Gateway(address="http://127.0.0.1:9", token="secret", service="s", cell="a", deadline_s=5.0)
    async with aclosing(GatewayModel(LLMConfig(), "ollama", gone)) as model:
        with pytest.raises(LLMFailureException) as caught:
            await model.complete(ChatRequest(messages=(Text(role="user", content="What?"),)))
        with pytest.raises(OracleUnavailableError, match=r"the gateway at http://127\.0\.0\.1:9 does not answer"):
            await model.check()
    assert (caught.value.reason, caught.value.component) == ("connection_error", "gateway")


def test_a_failure_crosses_with_all_that_a_cell_needs() -> None:
    failure = LLMFailureException("overloaded", 1, "ollama", 429, "busy", 0.5, retry_after_s=7.0, advice="wait")
    sent = msgspec.msgpack.decode(msgspec.msgpack.encode(Failed.of(failure)), type=Failed).error()
    assert (str(sent), sent.retry_after_s, sent.told) == (str(failure), 7.0, failure.told)
