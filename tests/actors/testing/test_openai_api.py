"""The routes that speak as OpenAI does: completions, response formats, the key and the errors."""

import json

from actors.testing import Dialect, ServerSettings
from tests.actors.testing.support import COMPLETION, SCHEMA, STATES, serving
from tests.catalogue import catalogue


async def test_a_chat_completion_has_openais_shape() -> None:
    form = {"type": "json_schema", "json_schema": {"name": "decision", "schema": SCHEMA}}
    async with serving() as (_, client):
        said = (await client.post("/v1/chat/completions", json={**COMPLETION, "response_format": form})).json()
        events = await client.post("/v1/chat/completions", json={**COMPLETION, "stream": True})
    assert json.loads(said["choices"][0]["message"]["content"])["state"] in STATES
    assert said["choices"][0]["finish_reason"] == "stop"
    assert said["usage"]["total_tokens"] == said["usage"]["prompt_tokens"] + said["usage"]["completion_tokens"]
    assert events.headers["content-type"] == "text/event-stream"
    assert events.text.endswith("data: [DONE]\n\n")


@catalogue(
    ("dialect", "kind", "status"),
    [
        (Dialect.JSON_SCHEMA, "json_schema", 200),
        (Dialect.JSON_SCHEMA, "json_object", 200),
        (Dialect.JSON_OBJECT, "json_schema", 400),
        (Dialect.JSON_OBJECT, "json_object", 200),
        (Dialect.NONE, "json_object", 400),
        (Dialect.NONE, "text", 200),
        (Dialect.IGNORED, "json_schema", 200),
    ],
)
async def test_a_dialect_takes_some_response_formats(dialect: Dialect, kind: str, status: int) -> None:
    form = {"type": kind, "json_schema": {"name": "decision", "schema": SCHEMA}}
    async with serving(ServerSettings(dialect=dialect)) as (_, client):
        response = await client.post("/v1/chat/completions", json={**COMPLETION, "response_format": form})
    assert response.status_code == status
    if dialect is Dialect.IGNORED:
        assert "{" not in response.json()["choices"][0]["message"]["content"]


async def test_a_schema_quoted_in_the_prompt_is_followed_where_none_is_enforced() -> None:
    asked = [{"role": "user", "content": f"Answer as {json.dumps(SCHEMA)} says."}]
    async with serving() as (_, client):
        bodies = [
            {**COMPLETION, "messages": asked, "response_format": {"type": kind}} for kind in ("json_object", "text")
        ]
        bare, prose = [(await client.post("/v1/chat/completions", json=body)).json() for body in bodies]
    assert json.loads(bare["choices"][0]["message"]["content"])["state"] in STATES
    said = prose["choices"][0]["message"]["content"]
    assert json.loads(said[said.index("{") : said.rindex("}") + 1])["state"] in STATES
    assert not said.startswith("{")


async def test_a_key_guards_the_openai_routes_only() -> None:
    async with serving(ServerSettings(key="secret")) as (_, client):
        refused = await client.post("/v1/chat/completions", json=COMPLETION)
        allowed = await client.get("/v1/models", headers={"Authorization": "Bearer secret"})
        native = await client.get("/api/tags")
    assert (refused.status_code, refused.json()["error"]["code"]) == (401, "invalid_api_key")
    assert (allowed.status_code, native.status_code) == (200, 200)


async def test_openai_errors_have_their_own_body() -> None:
    async with serving() as (_, client):
        missing = await client.post("/v1/chat/completions", json={**COMPLETION, "model": "x"})
        empty = await client.post("/v1/chat/completions", json={**COMPLETION, "messages": []})
    assert missing.status_code == 404
    assert missing.json()["error"] == {
        "message": "model 'x' not found",
        "type": "not_found_error",
        "param": None,
        "code": None,
    }
    assert (empty.status_code, empty.json()["error"]["message"]) == (400, "[] is too short - 'messages'")
