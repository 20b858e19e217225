"""Servers, requests, askers and failing checks for the tests of `prism.llm`."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio
import pytest

from prism.errors import OracleUnavailableError
from prism.llm import (
    ChatRequest,
    ChoiceRequest,
    LanguageModel,
    LLMConfig,
    LLMFailureException,
    Message,
    OllamaChatClient,
    OpenAICompatClient,
)
from prism.statechart import AgentState
from tests.patience import HANG_S
from tests.standin import Broken, Fault, FaultPlan, ModelServer, ServerSettings

REASONS: dict[Fault | Broken, str] = {
    Fault.HANG: "timeout",
    Broken.DRIP: "timeout",
    Fault.CUT: "connection_error",
    Fault.RESET: "connection_error",
    Broken.GARBAGE: "connection_error",
    Fault.EMPTY: "refused",
    Fault.BUSY: "overloaded",
    Fault.ERROR: "server_error",
    Broken.STRING_ERROR: "server_error",
}
"""The reason of a failed call, by the server's fault."""
DECISION_REASONS: dict[Fault | Broken, str] = {
    **REASONS,
    Fault.NOT_JSON: "invalid_response",
    Fault.WRONG_STATE: "invalid_response",
}
"""The same for a decision, for which an answer must also name an option."""
CHOICE_REASONS: dict[Fault | Broken, str] = {**DECISION_REASONS, Fault.EMPTY: "invalid_response"}
"""The same for one that is asked for probabilities: without any, its answer is no more than unreadable."""

GIVES_UP_S = 3.0
"""Short enough to wait for, and long enough for a right answer on a machine that does much else."""

OPTIONS = [AgentState.SCROLLING, AgentState.ENGAGING_LIKE, AgentState.COMPOSING]
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"next_state": {"type": "string", "enum": [option.value for option in OPTIONS]}},
    "required": ["next_state"],
    "additionalProperties": False,
}
CHOICE = ChoiceRequest(state="A long day.", instructions="What next?", options={"rest": "Stop", "scroll": None})
KEY = "sk-3f9a-very-secret"
ADDRESS_IN_USE_BY_NOBODY = "http://127.0.0.1:9"


def asking(text: str = "What next?", **fields: Any) -> ChatRequest:
    return ChatRequest(messages=(Message(role="user", content=text),), schema=SCHEMA, **fields)


def config_for(server: ModelServer, **fields: Any) -> LLMConfig:
    return LLMConfig(host=server.url, **{"timeout_s": HANG_S, **fields})


def failing(*faults: Fault | Broken, **settings: Any) -> ServerSettings:
    """Return settings of a server whose first calls fail in this order.

    A slow body takes far longer than `GIVES_UP_S`.
    """
    at = dict(enumerate(faults, 1))
    plan = FaultPlan(at={call: fault for call, fault in at.items() if isinstance(fault, Fault)})
    broken = {call: fault for call, fault in at.items() if isinstance(fault, Broken)}
    return ServerSettings(faults=plan, broken=broken, drip_s=0.1, **settings)


def timeout_s(*faults: Fault | Broken) -> float:
    """Return the timeout of a client that meets these faults: short only where one of them would never end."""
    return GIVES_UP_S if any(DECISION_REASONS[fault] == "timeout" for fault in faults) else HANG_S


Build = Callable[[LLMConfig, Mapping[str, str]], LanguageModel]
BACKENDS: dict[str, Build] = {"ollama": OllamaChatClient, "openai": OpenAICompatClient}


@asynccontextmanager
async def serving(
    backend: str = "ollama",
    settings: ServerSettings | None = None,
    environment: Mapping[str, str] | None = None,
    **fields: Any,
) -> AsyncIterator[tuple[ModelServer, LanguageModel]]:
    """Return a context with a server and a model on it. At its end no connection may be left."""
    async with ModelServer(settings) as server:
        model = BACKENDS[backend](config_for(server, **fields), environment or {})
        try:
            yield server, model
        finally:
            await model.aclose()
        await until(lambda: server.statistics().open_connections == 0)


async def unavailable(model: LanguageModel) -> str:
    """Return the message of a check that fails."""
    with pytest.raises(OracleUnavailableError) as caught:
        await model.check()
    await model.aclose()
    return str(caught.value)


async def until(condition: Callable[[], bool]) -> None:
    with anyio.fail_after(HANG_S):
        while not condition():  # noqa: ASYNC110 - the server changes in another thread
            await anyio.sleep(0.002)


@asynccontextmanager
async def canned(status: int, body: object, *, content_type: str = "application/json") -> AsyncIterator[list[bytes]]:
    """Return a context of a server that gives every request this response: its address, then the heads of requests."""
    seen: list[bytes] = []
    content = body if isinstance(body, bytes) else json.dumps(body).encode()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        seen.append(head)
        fields = f"Content-Type: {content_type}\r\nContent-Length: {len(content)}\r\nConnection: close"
        writer.write(f"HTTP/1.1 {status} Said\r\n{fields}\r\n\r\n".encode() + content)
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()[:2]
    seen.append(f"http://{host}:{port}".encode())
    async with server:
        yield seen


@dataclass(frozen=True)
class Person:
    agent_id: int = 12
    tick: int = 340
    name: str = "Ada Novak"
    interests: tuple[str, ...] = ("science", "food")
    personality: str = "curious"


async def no_sleep(_seconds: float) -> None:
    """Return at once."""


async def failure(
    status: int, body: object, *, backend: str = "openai", environment: Mapping[str, str] | None = None, **fields: Any
) -> tuple[LLMFailureException, LanguageModel, list[bytes]]:
    """Return the failure of a question to a server that gives every request this response, the model, and `canned`."""
    async with canned(status, body) as seen:
        llm = LLMConfig(host=seen[0].decode(), **{"timeout_s": HANG_S, **fields})
        async with aclosing(BACKENDS[backend](llm, environment or {})) as model:
            with pytest.raises(LLMFailureException) as caught:
                await model.complete(asking())
    return caught.value, model, seen
