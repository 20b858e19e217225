"""Servers that differ from their protocol: each quirk of the test server, asked over a socket."""

from __future__ import annotations

import re
from contextlib import aclosing
from typing import Any

import pytest

from prism.errors import OracleUnavailableError
from prism.llm import ModelOracle, SocialModelOracle
from prism.llm.negotiation import MOST_REQUESTS
from prism.statechart import AgentState
from tests.catalogue import catalogue
from tests.llm.support import BACKENDS, OPTIONS, Person, asking, config_for
from tests.patience import HANG_S
from tests.standin import QUIRKS, ModelServer, ServerSettings, SystemOne

ADAPTED: dict[tuple[str, str], dict[str, str]] = {
    ("openai", "no_max_tokens"): {"token_field": "max_completion_tokens"},
    ("openai", "no_token_limit"): {"token_field": "none"},
    ("openai", "fixed_temperature"): {"temperature": "none"},
    ("openai", "no_seed"): {"seed": "random_seed"},
    ("openai", "random_seed"): {"seed": "random_seed"},
    ("openai", "no_json_schema"): {"schema": "json_object"},
    ("openai", "no_strict"): {"unsent": "strict"},
    ("openai", "no_response_format"): {"schema": "prompt"},
    ("openai", "response_format_ignored"): {"schema": "prompt"},
    ("openai", "structured_outputs"): {"schema": "structured_outputs"},
    ("openai", "guided_json"): {"schema": "guided_json"},
    ("openai", "silent_refusal"): {"seed": "random_seed"},
    ("openai", "strict_fields"): {"seed": "none", "stream": "none"},
    ("openai", "no_system_role"): {"roles": "merged"},
    ("openai", "no_thinking_unstreamed"): {"thinking": "off_by_switch"},
    ("openai", "content_parts"): {"text": "parts"},
    ("openai", "content_object"): {"text": "parts"},
    ("openai", "reasoning_only"): {"text": "reasoning"},
    ("openai", "reasoning_blank"): {"text": "reasoning"},
    ("openai", "reasoning_first"): {"token_floor": "256"},
    ("openai", "thinks_in_answer"): {"thinking": "stripped"},
    ("openai", "lone_think_end"): {"thinking": "stripped"},
    ("openai", "thinks_long_in_answer"): {"thinking": "stripped", "token_floor": "256"},
    ("openai", "tool_call"): {"text": "tool_call"},
    ("openai", "no_finish_reason"): {"ending": "unstated"},
    ("openai", "other_finish_reason"): {},
    ("openai", "null_usage"): {},
    ("openai", "event_stream"): {},
    ("openai", "streams_alone"): {"stream": "true"},
    ("openai", "page_elsewhere"): {"path": "/chat/completions"},
    ("openai", "packed"): {},
    ("openai", "root_path"): {"path": "/chat/completions"},
    ("openai", "no_models"): {},
    ("openai", "models_forbidden"): {},
    ("openai", "padded"): {"token_floor": "256"},
    ("openai", "endless_blanks"): {},
    ("openai", "fenced"): {"schema": "prompt"},
    ("openai", "strict_not_found"): {"unsent": "strict"},
    ("openai", "schema_not_found"): {"schema": "json_object"},
    ("openai", "errors_with_200"): {},
    ("openai", "loosely_worded"): {"schema": "prompt"},
    ("ollama", "loosely_worded"): {"schema": "prompt"},
    ("ollama", "no_system_role"): {"roles": "merged"},
    ("ollama", "thinks_in_answer"): {"thinking": "stripped"},
    ("ollama", "lone_think_end"): {"thinking": "stripped"},
    ("ollama", "thinks_long_in_answer"): {"thinking": "stripped", "token_floor": "256"},
    ("ollama", "padded"): {"token_floor": "256"},
    ("ollama", "endless_blanks"): {},
    ("ollama", "fenced"): {"schema": "prompt"},
    ("ollama", "streams_alone"): {"stream": "true"},
    ("ollama", "no_version"): {},
    ("ollama", "chat_alone"): {},
    ("ollama", "unruly_unless_thinking"): {"thinking": "ignored"},
    ("ollama", "thinks_unless_told"): {"thinking": "ignored", "token_floor": "256"},
    ("ollama", "no_think"): {"thinking": "ignored"},
    ("ollama", "no_format_schema"): {"schema": "json_object"},
    ("ollama", "json_alone"): {"schema": "json_object"},
    ("ollama", "format_ignored"): {"schema": "prompt"},
    ("ollama", "no_keep_alive"): {"unsent": "keep_alive"},
    ("ollama", "no_tools"): {"unsent": "tools"},
    ("ollama", "no_num_ctx"): {"unsent": "num_ctx"},
    ("ollama", "tool_call_object"): {"text": "tool_call"},
    ("ollama", "no_systemone"): {},
    ("ollama", "never_done"): {"ending": "unstated"},
    ("ollama", "line_stream"): {},
    ("ollama", "packed"): {},
}
"""`{(backend, quirk): the dimensions that differ}` of the servers that work without any setting."""

TOO_LARGE = (
    "the server at {url} does not answer in JSON: answer larger than 1 MB; the rest of it was not read; tried too: "
    "path /chat/completions, "
    "schema json_object, schema structured_outputs, schema guided_json, schema prompt; set llm.request.extra_body to "
    "what it takes, or another llm.model"
)

REFUSED = {
    "error_with_200": "the server at {url} cannot run llama3.2: server_error: Provider returned error",
    "moved": "the server at {url} cannot run llama3.2: client_error: it sends on to "
    "https://api.example.org/v1/chat/completions, and is not followed; set llm.host or llm.request.path",
    "huge_body": TOO_LARGE,
    "gzip_bomb": TOO_LARGE,
    "other_path": "the server at {url} has no chat at /v1/chat/completions nor /chat/completions: 404 page not found; "
    "set llm.request.path to where it is",
    "azure": "{url} asks for a key; set it in $PRISM_LLM_API_KEY, or send it in its header: "
    "llm.request.headers={{api-key: $PRISM_LLM_API_KEY}}",
    "x_api_key": "{url} asks for a key; set it in $PRISM_LLM_API_KEY, or send it in its header: "
    "llm.request.headers={{X-API-Key: $PRISM_LLM_API_KEY}}",
}
"""`{quirk: the line}` of the servers that need a setting, or can be helped by none."""

SETTINGS: dict[str, dict[str, Any]] = {
    "x_api_key": {"request": {"headers": {"X-API-Key": "$AZURE_KEY"}}},
    "other_path": {"request": {"path": "/api/v3/chat/completions"}},
    "azure": {
        "request": {
            "path": "/openai/deployments/mine/chat/completions",
            "headers": {"api-key": "$AZURE_KEY"},
            "query": {"api-version": "2024-10-21"},
        },
    },
}
"""`{quirk: the settings with which it works}`."""


def right_answer(messages: Any, _options: Any, form: Any) -> str:
    """Say what the question asks for: yes to the check, and to like to a person."""
    is_check = "sky" in str(messages[-1]["content"])
    wanted = '{"answer": "yes"}' if is_check else '{"next_state": "engaging_like"}'
    quoted = any("JSON schema" in str(message["content"]) for message in messages)
    if form is None:
        return f"I would say: {wanted}" if quoted else "Yes, I do."
    if form == "json" and not quoted:
        return '{"opinion": "yes"}'
    return wanted


def settings(*quirks: str) -> ServerSettings:
    return ServerSettings(quirks=quirks, reply=right_answer, systemone=SystemOne.OFF)


async def decide(model: Any, config: Any) -> AgentState:
    """Return the state that a person takes, by way of the whole oracle."""
    oracle: ModelOracle[AgentState] = SocialModelOracle(model, config, seed=1)
    return await oracle.ask(Person(), AgentState.EVALUATING, "decides", OPTIONS)


def test_every_quirk_is_tried_with_each_backend_that_it_is_about() -> None:
    about = {(api, quirk.name) for quirk in QUIRKS.values() for api in BACKENDS if quirk.api in (api, "both")}
    assert about == ADAPTED.keys() | {("openai", name) for name in REFUSED}
    assert len(QUIRKS) >= 25


@catalogue(("backend", "quirk"), ADAPTED)
async def test_a_server_with_a_quirk_is_asked_as_it_wants_to_be(backend: str, quirk: str) -> None:
    async with ModelServer(settings(quirk)) as server:
        config = config_for(server)
        async with aclosing(BACKENDS[backend](config, {})) as model:
            health = await model.check()
            asked = [request for request in server.requests if request.path.endswith(("/chat", "/chat/completions"))]
            assert len(asked) <= MOST_REQUESTS + 1, "a 500 that names its reason may pass"
            assert await decide(model, config) is AgentState.ENGAGING_LIKE
            assert await decide(model, config) is AgentState.ENGAGING_LIKE
            assert health.changes == ADAPTED[backend, quirk]
            identity = {name: words for name, words in health.changes.items() if name not in ("schema", "path")}
            assert model.identity.capabilities == identity
            later = [request for request in server.requests if request.path.endswith(("/chat", "/chat/completions"))]
            assert len(later) == len(asked) + 2, "nothing is negotiated after the start"


@pytest.mark.everyday(2)
@pytest.mark.parametrize("quirk", REFUSED)
async def test_a_server_that_cannot_be_asked_is_one_line_that_says_what_to_set(quirk: str) -> None:
    async with ModelServer(settings(quirk)) as server:
        async with aclosing(BACKENDS["openai"](config_for(server), {})) as model:
            with pytest.raises(OracleUnavailableError) as caught:
                await model.check()
        assert str(caught.value) == REFUSED[quirk].format(url=server.url)


@catalogue("quirk", SETTINGS)
async def test_what_the_line_says_to_set_helps(quirk: str) -> None:
    async with ModelServer(settings(quirk)) as server:
        config = config_for(server, **SETTINGS[quirk])
        async with aclosing(BACKENDS["openai"](config, {"AZURE_KEY": "an-azure-key"})) as model:
            health = await model.check()
            assert await decide(model, config) is AgentState.ENGAGING_LIKE
            assert (health.changes, model.identity.capabilities) == ({}, {})


SEVERAL = {
    ("no_max_tokens", "fixed_temperature", "no_seed", "content_parts", "no_models"): {
        "token_field": "max_completion_tokens",
        "temperature": "none",
        "seed": "random_seed",
        "text": "parts",
    },
    ("thinks_in_answer", "random_seed", "no_json_schema"): {
        "seed": "random_seed",
        "schema": "json_object",
        "thinking": "stripped",
    },
    ("reasoning_only", "no_response_format"): {"schema": "prompt", "text": "reasoning"},
    ("tool_call", "response_format_ignored", "no_finish_reason"): {
        "schema": "prompt",
        "text": "tool_call",
        "ending": "unstated",
    },
    ("thinks_in_answer", "response_format_ignored", "no_system_role"): {
        "thinking": "stripped",
        "schema": "prompt",
        "roles": "merged",
    },
    ("reasoning_first", "strict_fields"): {"seed": "none", "stream": "none", "token_floor": "256"},
}


@catalogue("quirks", SEVERAL)
async def test_a_server_may_have_several_quirks(quirks: tuple[str, ...]) -> None:
    async with ModelServer(settings(*quirks)) as server:
        config = config_for(server)
        async with aclosing(BACKENDS["openai"](config, {})) as model:
            assert (await model.check()).changes == SEVERAL[quirks]
            assert await decide(model, config) is AgentState.ENGAGING_LIKE


@pytest.mark.parametrize("backend", BACKENDS)
async def test_a_server_without_quirks_is_asked_as_ever_and_twice(backend: str) -> None:
    async with (
        ModelServer(settings()) as server,
        aclosing(BACKENDS[backend](config_for(server, method="json"), {})) as model,
    ):
        health = await model.check()
        await model.complete(asking())
        *_, last = server.calls
        assert (health.changes, health.requests, len(server.calls)) == ({}, 2, 3)
        assert model.identity.capabilities == {}
        sent = {
            "openai": ["model", "messages", "temperature", "seed", "max_tokens", "stream", "response_format"],
            "ollama": ["model", "messages", "options", "keep_alive", "stream", "tools", "think", "format"],
        }
        assert list(last.body) == sent[backend]


async def test_a_thought_is_not_taken_for_the_answer() -> None:
    quirky = ModelServer(settings("thinks_long_in_answer"))
    async with quirky as server, aclosing(BACKENDS["openai"](config_for(server), {})) as model:
        await model.check()
        assert (await model.complete(asking())).text == '{"next_state": "engaging_like"}'


async def test_a_negotiation_that_finds_no_way_says_what_it_tried() -> None:
    server_settings = ServerSettings(quirks=("no_max_tokens",), reply=lambda *_: "The sky is what it is.")
    async with ModelServer(server_settings) as server:
        async with aclosing(BACKENDS["openai"](config_for(server, timeout_s=HANG_S), {})) as model:
            with pytest.raises(OracleUnavailableError) as caught:
                await model.check()
        assert len(server.requests) <= MOST_REQUESTS + 1, "and the list of models"
    said = str(caught.value)
    assert "does not answer in JSON: it answered 'The sky is what it is.'" in said
    assert re.search(r"; tried too: token_field max_completion_tokens, schema json_object, .*schema prompt; set ", said)
    assert "\n" not in said
