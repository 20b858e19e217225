"""Routers in front of servers: errors with status 200, a 404 for what no provider takes, keys in other headers."""

import json
from collections.abc import Mapping
from contextlib import aclosing
from typing import Any

import pytest

from prism.errors import OracleUnavailableError
from prism.llm import LLMConfig, LLMFailureException, OpenAICompatClient
from tests.catalogue import catalogue
from tests.llm.support import asking, canned, config_for, failure, unavailable
from tests.standin import ApiError, ModelServer, ServerSettings, Spell, SpellKind, SystemOne

WITHIN: dict[str, tuple[dict[str, Any], str, int | None]] = {
    "a code": ({"error": {"message": "Provider returned error", "code": 502}}, "server_error", 502),
    "a status": ({"error": {"message": "Loading", "status": 503}}, "loading", 503),
    "a word as its code": ({"error": {"message": "Slow down", "code": "rate_limit_exceeded"}}, "overloaded", 429),
    "a word as its status": ({"error": {"message": "Full", "status": "RESOURCE_EXHAUSTED"}}, "overloaded", 429),
    "a number before a word": (
        {"error": {"message": "No", "type": "invalid_request_error", "code": 503}},
        "overloaded",
        503,
    ),
    "a quota": ({"error": {"message": "Pay", "type": "insufficient_quota"}}, "client_error", 429),
    "a filter": ({"error": {"message": "Filtered", "code": "content_filter"}}, "refused", 400),
    "an error object": ({"object": "error", "message": "Too long", "code": 400}, "refused", 400),
    "no choices": ({"error": {"message": "Down", "code": 503}, "choices": []}, "overloaded", 503),
    "an error in the choice": (
        {"choices": [{"error": {"message": "Down", "code": 502}, "message": {"content": "I th"}}]},
        "server_error",
        502,
    ),
    "no status": ({"error": {"message": "Something"}}, "invalid_response", None),
    "a number that is no status": ({"error": {"message": "Something", "code": 17}}, "invalid_response", None),
}


@catalogue(("body", "reason", "status"), WITHIN.values())
async def test_an_error_with_status_200_counts_under_the_status_that_it_names(
    body: dict[str, Any], reason: str, status: int | None
) -> None:
    failed, _, _ = await failure(200, body)
    assert (failed.reason, failed.status_code) == (reason, status)


async def test_an_answer_beside_an_empty_error_is_an_answer() -> None:
    said = {"message": {"content": '{"next_state": "scrolling"}'}, "finish_reason": "stop"}
    async with (
        canned(200, {"error": None, "choices": [said]}) as seen,
        aclosing(OpenAICompatClient(LLMConfig(host=seen[0].decode()), {})) as model,
    ):
        assert json.loads((await model.complete(asking())).text) == {"next_state": "scrolling"}


async def test_the_pause_that_an_error_with_status_200_asks_for_is_kept() -> None:
    limit = Spell(kind=SpellKind.LIMIT, every_s=1000.0, least_s=1000.0, most_s=1000.0)
    settings = ServerSettings(spells=(limit,), quirks=("errors_with_200",), systemone=SystemOne.OFF)
    async with ModelServer(settings) as server, aclosing(OpenAICompatClient(config_for(server), {})) as model:
        with pytest.raises(LLMFailureException) as caught:
            await model.complete(asking())
    assert (caught.value.reason, caught.value.status_code) == ("overloaded", 429)
    assert 0.0 < caught.value.retry_after_s <= 1000.0


@catalogue("said", ["No endpoints support 'strict'.", "This model does not support response_format json_schema."])
async def test_a_404_for_a_schema_is_a_refusal_of_the_schema(said: str) -> None:
    def reply(_messages: object, _options: Mapping[str, object], form: object) -> str:
        if isinstance(form, dict):
            raise ApiError(404, said)
        return '{"answer": "yes"}'

    settings = ServerSettings(reply=reply, systemone=SystemOne.OFF)
    async with ModelServer(settings) as server, aclosing(OpenAICompatClient(config_for(server), {})) as model:
        assert (await model.check()).dialect == "json_object"


async def test_a_wrong_path_is_one_line() -> None:
    async with canned(404, {"detail": "Not Found"}) as seen:
        said = await unavailable(OpenAICompatClient(LLMConfig(host=seen[0].decode()), {}))
    assert "has no chat at /v1/chat/completions: " in said


KEY = "a-key-of-a-router"


@catalogue(
    ("headers", "environment", "line"),
    [
        ({}, {}, "asks for a key; set it in $ROUTER_KEY, or send it in its header: {{X-API-Key: $ROUTER_KEY}}"),
        (
            {},
            {"ROUTER_KEY": KEY},
            "refuses the key in $ROUTER_KEY; set another one, or send it in its header: {{X-API-Key: $ROUTER_KEY}}",
        ),
        (
            {"API-Key": "$OTHER"},
            {"OTHER": KEY},
            "refuses the key; check what llm.request.headers.API-Key holds: Access denied: send your key in X-API-Key.",
        ),
    ],
)
async def test_a_server_that_wants_its_key_in_another_header_says_what_to_set(
    headers: dict[str, str], environment: dict[str, str], line: str
) -> None:
    async with ModelServer(ServerSettings(quirks=("x_api_key",))) as server:
        llm = config_for(server, request={"headers": headers}, api_key_env="ROUTER_KEY")
        async with aclosing(OpenAICompatClient(llm, environment)) as model:
            with pytest.raises(OracleUnavailableError) as caught:
                await model.check()
    shown = line.replace("{{", "llm.request.headers={").replace("}}", "}")
    assert str(caught.value) == f"{server.url} {shown}"
    assert KEY not in str(caught.value)


async def test_a_key_from_the_environment_is_sent_in_the_header_that_the_line_names() -> None:
    async with ModelServer(ServerSettings(quirks=("x_api_key",), systemone=SystemOne.OFF)) as server:
        llm = config_for(server, request={"headers": {"X-API-Key": "$ROUTER_KEY"}})
        async with aclosing(OpenAICompatClient(llm, {"ROUTER_KEY": KEY})) as model:
            await model.check()
            assert KEY not in repr(model.identity)
