"""Requests that are wrong, unusual or no HTTP get what Ollama would say to them."""

import json
from collections.abc import AsyncIterator
from typing import Any

import anyio

from tests.actors.testing.support import ASKED, CHAT, STATES, content, serving
from tests.catalogue import catalogue


@catalogue(
    ("path", "body", "status", "error"),
    [
        ("/api/chat", b"", 400, "missing request body"),
        ("/api/chat", b'{"model": ', 400, "unexpected EOF"),
        ("/api/chat", b"{model}", 400, "invalid character 'm' looking for beginning of object key string"),
        ("/api/chat", b"[]", 400, "json: cannot unmarshal array into Go value of type api.ChatRequest"),
        ("/api/chat", {"messages": ASKED}, 400, "model is required"),
        ("/api/generate", {"prompt": "x"}, 404, "model '' not found"),
        ("/api/show", {}, 400, "model is required"),
        ("/api/show", {"model": "x"}, 404, "model 'x' not found"),
        ("/api/chat", {**CHAT, "model": "x"}, 404, "model 'x' not found"),
        ("/api/generate", {"model": "x", "prompt": "y"}, 404, "model 'x' not found"),
        ("/api/chat", {**CHAT, "options": {"seed": "1"}}, 500, 'option "seed" must be of type integer'),
        ("/api/chat", {**CHAT, "options": {"temperature": "0"}}, 500, 'option "temperature" must be of type float32'),
        ("/api/chat", {**CHAT, "think": True}, 400, '"llama3.2" does not support thinking'),
        (
            "/api/chat",
            {**CHAT, "model": 3},
            400,
            "json: cannot unmarshal number into Go struct field ChatRequest.model of type string",
        ),
    ],
)
async def test_a_wrong_request_gets_ollamas_status_and_text(path: str, body: Any, status: int, error: str) -> None:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    async with serving() as (server, client):
        response = await client.post(path, content=raw)
        assert server.statistics().calls == 0
    assert (response.status_code, response.json()) == (status, {"error": error})


async def test_unknown_options_are_ignored() -> None:
    async with serving() as (_, client):
        assert (await client.post("/api/chat", json={**CHAT, "options": {"no_such": "x"}})).status_code == 200


async def test_other_routes_and_methods_get_plain_text() -> None:
    async with serving() as (_, client):
        missing, wrong = await client.get("/api/nope"), await client.get("/api/chat")
    assert (missing.status_code, missing.text) == (404, "404 page not found")
    assert (wrong.status_code, wrong.text, wrong.headers["allow"]) == (405, "405 method not allowed", "POST")


async def test_bytes_that_are_not_http_get_gos_400() -> None:
    async with serving() as (server, _), await anyio.connect_tcp(server.host, server.port) as stream:
        await stream.send(b"hello\r\n\r\n")
        assert (await stream.receive()).startswith(b"HTTP/1.1 400 Bad Request\r\n")


async def test_a_chunked_request_body_is_read() -> None:
    async def body() -> AsyncIterator[bytes]:
        text = json.dumps(CHAT).encode()
        yield text[:10]
        yield text[10:]

    async with serving() as (_, client):
        assert content(await client.post("/api/chat", content=body()))["state"] in STATES
