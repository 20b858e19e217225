"""The check of a server at start: each quirk works in one of three ways, or is one line whose setting helps."""

from contextlib import aclosing
from typing import Any

import anyio
import pytest

from prism.errors import OracleUnavailableError
from prism.llm import LLMConfig, ModelOracle, OllamaChatClient, OpenAICompatClient, SocialModelOracle
from prism.llm.http import STREAMS
from prism.statechart import AgentState
from tests.llm.support import BACKENDS, OPTIONS, Person, canned, config_for, failing, serving, unavailable
from tests.patience import HANG_S
from tests.standin import QUIRKS, Fault, FaultPlan, ModelServer, ServerSettings, SystemOne

CLIENTS = {"ollama": OllamaChatClient, "openai": OpenAICompatClient}
SCHEMA, OBJECT, PROMPT = 0, 1, 2
"""The ways to tell a server a schema, by their places in `dialects`."""
WORKS: dict[str, dict[int, tuple[str, ...]]] = {
    "openai": {
        SCHEMA: ("json_alone", "thinks_in_answer", "lone_think_end", "endless_blanks", "content_parts",
                 "reasoning_only", "unfinished", "packed", "errors_with_200",
                 "models_forbidden", "chat_alone"),
        OBJECT: ("no_schema", "strict_not_found"),
        PROMPT: ("no_response_format", "format_ignored", "no_system_role", "fenced",
                 "thinks_in_answer format_ignored no_system_role", "format_ignored unfinished"),
    },
    "ollama": {
        SCHEMA: ("thinks_in_answer", "unfinished", "chat_alone"),
        OBJECT: ("no_schema", "json_alone"),
        PROMPT: ("format_ignored", "no_system_role"),
    },
}  # fmt: skip
"""`{backend: {the way in which the server works: quirks}}`, without a setting."""

RUNS, JSON = "the server at {url} cannot run llama3.2: ", "the server at {url} does not answer in JSON: "
EXTRA, LIMIT = "set llm.request.extra_body=", "'max_tokens' is not supported. Use 'max_completion_tokens' instead"
FORBIDDEN = "['body', '{}']: Extra inputs are not permitted"
ELSE = "set llm.request.extra_body to what it takes (null leaves a field out), or another llm.model"
PATH = "set llm.host, or llm.request.path to where the chat is"
KEY = "{url} asks for a key; set it in $PRISM_LLM_API_KEY, or send it in its header: llm.request.headers="
AZURE = {"headers": {"api-key": "$AZURE_KEY"}, "query": {"api-version": "2024-10-21"},
         "path": "/openai/deployments/mine/chat/completions"}  # fmt: skip


def extra(**fields: Any) -> dict[str, Any]:
    return {"request": {"extra_body": fields}}


REFUSED: dict[str, tuple[str, dict[str, Any]]] = {
    "no_max_tokens": (f"{RUNS}refused: {LIMIT}; {EXTRA}{{max_tokens: null, max_completion_tokens: 64}}",
                      extra(max_tokens=None, max_completion_tokens=64)),
    "no_seed": (f"{RUNS}refused: Unrecognized request argument supplied: seed; {EXTRA}{{seed: null}}",
                extra(seed=None)),
    "strict_fields": ((f"{RUNS}refused: {FORBIDDEN.format('seed')}; {FORBIDDEN.format('stream')}; {EXTRA}"
                      "{seed: null, stream: null}"), extra(seed=None, stream=None)),
    "silent_refusal": (f"{RUNS}refused: Bad Request; {ELSE}", extra(seed=None)),
    "streams_alone": ((f"{RUNS}refused: This model only supports streaming: stream must be true; {STREAMS}: set "
                      "another llm.model"), {}),
    "streams": (f"{JSON}{STREAMS}; {ELSE}", {}),
    "thinks_long": ((f"{JSON}the answer was cut at 64 tokens; raise llm.num_predict, or turn thinking off by "
                    "llm.request.extra_body"), {"num_predict": 256}),
    "gzip_bomb": (f"{JSON}answer larger than 1 MB; the rest of it was not read; {PATH}", {}),
    "page": (f"{JSON}JSON is malformed: invalid character (byte 0); {PATH}", {}),
    "error_with_200": (f"{RUNS}server_error: Provider returned error", {}),
    "moved": ((f"{RUNS}client_error: it sends on to https://api.example.org/v1/chat/completions, and is not followed; "
              "set llm.host or llm.request.path"), {}),
    "other_path": (("the server at {url} has no chat at /v1/chat/completions: 404 page not found; set llm.request.path "
                   "to where it is"), {"request": {"path": "/api/v3/chat/completions"}}),
    "azure": (f"{KEY}{{api-key: $PRISM_LLM_API_KEY}}", {"request": AZURE}),
    "x_api_key": (f"{KEY}{{X-API-Key: $PRISM_LLM_API_KEY}}", {"request": {"headers": {"X-API-Key": "$AZURE_KEY"}}}),
    "no_think": (f'{RUNS}refused: json: unknown field "think"; {EXTRA}{{think: null}}', extra(think=None)),
    "no_num_ctx": (f'{RUNS}refused: invalid option provided: "num_ctx"; {EXTRA}{{options: {{num_ctx: null}}}}',
                   extra(options={"num_ctx": None})),
}  # fmt: skip
"""`{quirk: (the line that refuses the server, the setting that it names)}`."""
OF_OLLAMA = ("no_think", "no_num_ctx")


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


async def decide(model: Any, config: Any) -> AgentState:
    """Return the state that a person takes, by way of the whole oracle."""
    oracle: ModelOracle[AgentState] = SocialModelOracle(model, config, seed=1)
    return await oracle.ask(Person(), AgentState.EVALUATING, "decides", OPTIONS)


def test_every_quirk_is_tried() -> None:
    named = " ".join(quirks for ways in WORKS.values() for each in ways.values() for quirks in each)
    assert {*named.split(), *REFUSED} == QUIRKS.keys()


@pytest.mark.parametrize("backend", WORKS)
async def test_a_server_with_a_quirk_is_asked_in_one_of_three_ways(backend: str) -> None:
    for way, cases in WORKS[backend].items():
        for quirks in cases:
            served = ServerSettings(quirks=tuple(quirks.split()), reply=right_answer, systemone=SystemOne.OFF)
            async with ModelServer(served) as server:
                config = config_for(server, method="json")
                async with aclosing(BACKENDS[backend](config, {})) as model:
                    assert ((await model.check()).dialect, quirks) == (CLIENTS[backend].dialects[way], quirks)
                    asked = len(server.requests)
                    assert await decide(model, config) is AgentState.ENGAGING_LIKE, quirks
                    assert len(server.requests) == asked + 1, quirks


async def test_a_server_that_needs_a_setting_is_one_line_that_names_it_and_the_setting_helps() -> None:
    for quirk, (line, helps) in REFUSED.items():
        backend = "ollama" if quirk in OF_OLLAMA else "openai"
        served = ServerSettings(quirks=(quirk,), reply=right_answer, systemone=SystemOne.OFF)
        async with ModelServer(served) as server:
            async with aclosing(BACKENDS[backend](config_for(server, method="json"), {})) as model:
                with pytest.raises(OracleUnavailableError) as caught:
                    await model.check()
            told = line.replace("{url}", server.url).replace("the server", f"the {CLIENTS[backend].kind}")
            assert str(caught.value) == told
            config = config_for(server, method="json", **helps)
            async with aclosing(BACKENDS[backend](config, {"AZURE_KEY": "an-azure-key"})) as model:
                if helps:
                    await model.check()
                    assert await decide(model, config) is AgentState.ENGAGING_LIKE, quirk


KINDS = {"ollama": "Ollama server", "openai": "server"}


@pytest.mark.parametrize("backend", BACKENDS)
async def test_a_check_outlasts_a_few_faults(backend: str) -> None:
    async with serving(backend, failing(Fault.ERROR, Fault.NOT_JSON, Fault.BUSY, Fault.RESET)) as (_, model):
        assert (await model.check()).dialect in ("ollama", "json_schema")


async def test_another_server_than_ollama_is_called_so() -> None:
    for status, body, line in (
        (404, b"<html>nothing here</html>", "what answers at {} is no Ollama server: <html>nothing here</html>"),
        (401, {"error": "who are you?"}, "{} asks for a key; set it in $PRISM_LLM_API_KEY"),
    ):
        async with canned(status, body) as seen:
            host = seen[0].decode()
            assert await unavailable(OllamaChatClient(LLMConfig(host=host), {})) == line.format(host)


@pytest.mark.parametrize("backend", BACKENDS)
async def test_a_server_that_cannot_be_used_is_one_line(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("prism.llm.model_client.WARM_UP", 0.5)
    prose = ServerSettings(reply=lambda *_: "Yes, it is blue.")
    cases: dict[str, tuple[ServerSettings, dict[str, Any]]] = {
        "does not answer in JSON: it answered 'Yes, it is blue.'; set llm.request.extra_body to what it takes (null "
        "leaves a field out), or another llm.model": (prose, {}),
        "cannot run llama3.2: overloaded: server busy, please try again. maximum pending requests exceeded": (
            ServerSettings(faults=FaultPlan(shares={Fault.BUSY: 1.0})),
            {},
        ),
        "cannot run llama3.2: timeout: no whole answer within 0.1 s": (
            ServerSettings(faults=FaultPlan(shares={Fault.HANG: 1.0})),
            {"timeout_s": 0.2},
        ),
    }
    for line, (settings, llm) in cases.items():
        async with ModelServer(settings) as server:
            with anyio.fail_after(HANG_S):
                said = await unavailable(BACKENDS[backend](config_for(server, **llm), {}))
            assert said == f"the {KINDS[backend]} at {server.url} {line}"
            assert settings is not prose or len(server.calls) == 9, "three tries of each way"
