"""Servers that differ from their protocol: each quirk of the test server, asked over a socket."""

from __future__ import annotations

from contextlib import aclosing
from typing import Any

import pytest

from prism.errors import OracleUnavailableError
from prism.llm import ModelOracle, SocialModelOracle
from prism.statechart import AgentState
from tests.catalogue import catalogue
from tests.llm.support import BACKENDS, OPTIONS, Person, config_for
from tests.standin import QUIRKS, ModelServer, ServerSettings, SystemOne

SCHEMA, OBJECT, PROMPT = "schema", "json_object", "none"
WORKS: dict[tuple[str, ...], str] = {
    ("no_schema",): OBJECT,
    ("json_alone",): SCHEMA,
    ("strict_not_found",): OBJECT,
    ("no_response_format",): PROMPT,
    ("format_ignored",): PROMPT,
    ("no_system_role",): PROMPT,
    ("loosely_worded",): PROMPT,
    ("fenced",): PROMPT,
    ("thinks_in_answer",): SCHEMA,
    ("lone_think_end",): SCHEMA,
    ("endless_blanks",): SCHEMA,
    ("content_parts",): SCHEMA,
    ("reasoning_only",): SCHEMA,
    ("tool_call",): SCHEMA,
    ("unfinished",): SCHEMA,
    ("streams",): SCHEMA,
    ("packed",): SCHEMA,
    ("errors_with_200",): SCHEMA,
    ("models_forbidden",): SCHEMA,
    ("chat_alone",): SCHEMA,
    ("thinks_in_answer", "format_ignored", "no_system_role"): PROMPT,
    ("tool_call", "format_ignored", "unfinished"): PROMPT,
}
"""`{quirks: the way to tell a schema in which the server works}`, with OpenAI's interface and without a setting."""
OLLAMA: dict[tuple[str, ...], str] = {
    ("no_schema",): OBJECT,
    ("json_alone",): OBJECT,
    ("format_ignored",): PROMPT,
    ("no_system_role",): PROMPT,
    ("thinks_in_answer",): SCHEMA,
    ("tool_call",): SCHEMA,
    ("unfinished",): SCHEMA,
    ("streams",): SCHEMA,
    ("chat_alone",): SCHEMA,
}
NAMES = {
    "openai": {SCHEMA: "json_schema", OBJECT: OBJECT, PROMPT: PROMPT},
    "ollama": {SCHEMA: "ollama", OBJECT: OBJECT, PROMPT: PROMPT},
}

RUNS, JSON = "the server at {url} cannot run llama3.2: ", "the server at {url} does not answer in JSON: "
LIMIT = "'max_tokens' is not supported. Use 'max_completion_tokens' instead"
FIELD = "['body', '{}']: Extra inputs are not permitted"
FIELDS = "set llm.request.extra_body="
ELSE = "set llm.request.extra_body to what it takes (null leaves a field out), or another llm.model"
PATH = "set llm.host, or llm.request.path to where the chat is"
KEY = "{url} asks for a key; set it in $PRISM_LLM_API_KEY, or send it in its header: llm.request.headers="
REFUSED: dict[str, tuple[str, ...]] = {
    "no_max_tokens": (RUNS, f"refused: {LIMIT}; {FIELDS}{{max_tokens: null, max_completion_tokens: 64}}"),
    "no_seed": (RUNS, f"refused: Unrecognized request argument supplied: seed; {FIELDS}{{seed: null}}"),
    "strict_fields": (
        RUNS,
        "refused: ",
        FIELD.format("seed"),
        "; ",
        FIELD.format("stream"),
        "; ",
        FIELDS,
        "{seed: null, stream: null}",
    ),
    "silent_refusal": (RUNS, f"refused: Bad Request; {ELSE}"),
    "streams_alone": (
        RUNS,
        "refused: This model only supports streaming: stream must be true; ",
        FIELDS,
        "{stream: true}",
    ),
    "thinks_long": (
        JSON,
        "the answer was cut at 64 tokens; raise llm.num_predict, or turn thinking off by ",
        "llm.request.extra_body",
    ),
    "gzip_bomb": (JSON, f"answer larger than 1 MB; the rest of it was not read; {PATH}"),
    "page": (JSON, f"JSON is malformed: invalid character (byte 0); {PATH}"),
    "error_with_200": (RUNS, "server_error: Provider returned error"),
    "moved": (
        RUNS,
        "client_error: it sends on to https://api.example.org/v1/chat/completions, and is not followed; ",
        "set llm.host or llm.request.path",
    ),
    "other_path": (
        "the server at {url} has no chat at /v1/chat/completions: 404 page not found; ",
        "set llm.request.path to where it is",
    ),
    "azure": (KEY, "{api-key: $PRISM_LLM_API_KEY}"),
    "x_api_key": (KEY, "{X-API-Key: $PRISM_LLM_API_KEY}"),
    "no_think": (RUNS, f'refused: json: unknown field "think"; {FIELDS}{{think: null}}'),
    "no_num_ctx": (RUNS, f'refused: invalid option provided: "num_ctx"; {FIELDS}{{options: {{num_ctx: null}}}}'),
}
"""`{quirk: the line, in parts}`."""
OF_OLLAMA = ("no_think", "no_num_ctx")
HELPS: dict[str, dict[str, Any]] = {
    "no_max_tokens": {"request": {"extra_body": {"max_tokens": None, "max_completion_tokens": 64}}},
    "no_seed": {"request": {"extra_body": {"seed": None}}},
    "strict_fields": {"request": {"extra_body": {"seed": None, "stream": None}}},
    "silent_refusal": {"request": {"extra_body": {"seed": None}}},
    "streams_alone": {"request": {"extra_body": {"stream": True}}},
    "thinks_long": {"num_predict": 256},
    "other_path": {"request": {"path": "/api/v3/chat/completions"}},
    "azure": {
        "request": {
            "path": "/openai/deployments/mine/chat/completions",
            "headers": {"api-key": "$AZURE_KEY"},
            "query": {"api-version": "2024-10-21"},
        }
    },
    "x_api_key": {"request": {"headers": {"X-API-Key": "$AZURE_KEY"}}},
    "no_think": {"request": {"extra_body": {"think": None}}},
    "no_num_ctx": {"request": {"extra_body": {"options": {"num_ctx": None}}}},
}
"""`{quirk: the setting that the line names}`."""


def right_answer(messages: Any, _options: Any, form: Any) -> str:
    """Say what the question asks for: yes to the check, and to like to a person."""
    is_check = "sky" in str(messages[-1]["content"])
    wanted = '{"answer": "yes"}' if is_check else '{"choice": "Like this post"}'
    quoted = any("JSON schema" in str(message["content"]) for message in messages)
    if not form:
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


def test_every_quirk_is_tried() -> None:
    tried = {quirk for quirks in (*WORKS, *OLLAMA) for quirk in quirks} | REFUSED.keys()
    assert tried == QUIRKS.keys()


@catalogue(("backend", "quirks"), [*(("openai", each) for each in WORKS), *(("ollama", each) for each in OLLAMA)])
async def test_a_server_with_a_quirk_is_asked_in_one_of_three_ways(backend: str, quirks: tuple[str, ...]) -> None:
    async with ModelServer(settings(*quirks)) as server:
        config = config_for(server)
        async with aclosing(BACKENDS[backend](config, {})) as model:
            health = await model.check()
            assert health.dialect == NAMES[backend][(WORKS if backend == "openai" else OLLAMA)[quirks]]
            asked = len(server.requests)
            assert await decide(model, config) is AgentState.ENGAGING_LIKE
            assert len(server.requests) == asked + 1


@catalogue("quirk", REFUSED)
async def test_a_server_that_needs_a_setting_is_one_line_that_names_it_and_the_setting_helps(quirk: str) -> None:
    backend, kind = ("ollama", "Ollama server") if quirk in OF_OLLAMA else ("openai", "server")
    async with ModelServer(settings(quirk)) as server:
        async with aclosing(BACKENDS[backend](config_for(server), {})) as model:
            with pytest.raises(OracleUnavailableError) as caught:
                await model.check()
        line = "".join(REFUSED[quirk]).replace("{url}", server.url).replace("the server", f"the {kind}")
        assert str(caught.value) == line
        if quirk not in HELPS:
            return
        config = config_for(server, **HELPS[quirk])
        async with aclosing(BACKENDS[backend](config, {"AZURE_KEY": "an-azure-key"})) as model:
            await model.check()
            assert await decide(model, config) is AgentState.ENGAGING_LIKE
