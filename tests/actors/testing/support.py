"""Requests to the scripted model server, and the clients that send them."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx
import ollama

from actors.testing import Fault, FaultPlan, ModelServer, ServerSettings
from tests.patience import HANG_S

BUSY = "server busy, please try again.  maximum pending requests exceeded"
STATES = ["scrolling", "composing", "resting"]
SCHEMA = {"type": "object", "properties": {"state": {"type": "string", "enum": STATES}}, "required": ["state"]}
ASKED = [{"role": "user", "content": "What next?"}]
CHAT = {"model": "llama3.2", "messages": ASKED, "format": SCHEMA, "stream": False, "options": {"seed": 1}}
COMPLETION = {"model": "llama3.2", "messages": ASKED, "seed": 1}
QUESTION = {"type": "choice", "instructions": "What next?", "criteria": dict.fromkeys(STATES)}
DECISION = {"model": "llama3.2", "state": "bored", "questions": {"next": QUESTION}}


@asynccontextmanager
async def serving(settings: ServerSettings | None = None) -> AsyncIterator[tuple[ModelServer, httpx.AsyncClient]]:
    async with ModelServer(settings) as server, client_of(server) as client:
        yield server, client


def client_of(server: ModelServer) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=server.url, timeout=HANG_S, trust_env=False)


def ollama_client(server: ModelServer) -> ollama.AsyncClient:
    return ollama.AsyncClient(server.url, timeout=HANG_S, trust_env=False)


def failing(fault: Fault, **options: Any) -> ServerSettings:
    return ServerSettings(faults=FaultPlan(at={1: fault}, **options))


async def until(condition: Callable[[], bool]) -> None:
    with anyio.fail_after(HANG_S):
        while not condition():  # noqa: ASYNC110 - the server changes in another thread
            await anyio.sleep(0.002)


def content(response: httpx.Response) -> Any:
    return json.loads(response.json()["message"]["content"])
