"""Both adapters against the scripted server over real sockets: what is sent with a request, and what never is shown."""

import json
from itertools import product
from typing import Any

import anyio
import pytest

from prism.config import RequestConfig
from prism.errors import OracleUnavailableError
from prism.llm import LLMConfig, LLMFailureException, OllamaChatClient, OpenAICompatClient
from prism.llm.http import LONGEST_S, retry_after_s
from prism.llm.model_client import address_of
from prism.llm.ollama import most_tokens
from tests.catalogue import catalogue
from tests.llm.support import (
    ADDRESS_IN_USE_BY_NOBODY,
    BACKENDS,
    CHOICE,
    KEY,
    OPTIONS,
    REASONS,
    SCHEMA,
    asking,
    canned,
    config_for,
    failing,
    failure,
    serving,
    timeout_s,
    unavailable,
    until,
)
from tests.patience import HANG_S
from tests.standin import Broken, Fault, Latency, ModelServer, ServerSettings, SystemOne


async def test_a_prompt_is_answered_with_json_text() -> None:
    for backend in (OllamaChatClient, OpenAICompatClient):
        async with ModelServer(ServerSettings(quirks=("format_ignored",))) as server:
            client = backend(config_for(server), {})
            await client.check()
            assert json.loads(await client.chat("What next?", schema=SCHEMA))["next_state"] in OPTIONS
            await client.aclose()


async def test_ollama_is_sent_all_that_must_not_be_left_to_chance() -> None:
    config: dict[str, Any] = {"temperature": 0.2, "seed": 3, "num_predict": 50, "num_ctx": 1024, "keep_alive": "5m"}
    async with serving(**config) as (server, model):
        await model.complete(asking(seed=7))
        await model.complete(asking(seed=7, max_tokens=80))
        first, second = (call.body for call in server.calls)
    assert first == {
        "model": "llama3.2",
        "messages": [{"role": "user", "content": "What next?"}],
        "format": SCHEMA,
        "options": {"temperature": 0.2, "num_ctx": 1024, "num_predict": 50, "seed": 7},
        "keep_alive": "5m",
        "think": False,
        "stream": False,
        "tools": [],
    }
    assert isinstance(second, dict)
    assert second["options"]["num_predict"] == 80


@pytest.mark.parametrize("backend", BACKENDS)
async def test_64_calls_run_at_once_and_cancelling_them_frees_their_connections(backend: str) -> None:
    settings = ServerSettings(slots=64, latency=Latency(mean_s=30.0))
    async with serving(backend, settings, timeout_s=HANG_S) as (server, model), anyio.create_task_group() as tasks:
        for number in range(64):
            tasks.start_soon(model.complete, asking(f"Question {number}"))
        await until(lambda: server.statistics().in_flight == 64)
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize("mode", [SystemOne.OFF, SystemOne.UNSUITED])
async def test_a_server_that_gives_no_probabilities_is_asked_for_them_once(mode: SystemOne) -> None:
    async with serving("ollama", ServerSettings(systemone=mode)) as (server, model):
        assert (await model.check()).note == "decides by chat, without probabilities: it lists no probabilities"
        assert await model.choose(CHOICE) is None
        assert [request.path for request in server.requests].count("/v1/systemone") == 1


@pytest.mark.parametrize("count", [1, 27])
async def test_a_question_that_systemone_does_not_take_is_left_to_chat(count: int) -> None:
    options: dict[str, str | None] = {f"option {i}": None for i in range(count)}
    async with serving("ollama") as (server, model):
        assert await model.choose(CHOICE.__class__(state="x", instructions="y", options=options)) is None
        assert server.calls == []
        assert (
            await model.choose(CHOICE.__class__(state="x" * 70_000, instructions="y", options=CHOICE.options)) is None
        )
        assert await model.choose(CHOICE) is not None


STATUSES = {Fault.BUSY: 503, Fault.ERROR: 500, Broken.STRING_ERROR: 500}


async def test_a_fault_of_the_server_has_a_reason_and_leaves_no_connection() -> None:
    async def meet(backend: str, fault: Fault | Broken) -> None:
        async with serving(backend, failing(fault), timeout_s=timeout_s(fault)) as (server, model):
            with pytest.raises(LLMFailureException) as caught:
                await model.complete(asking())
            assert (caught.value.reason, caught.value.attempts) == (REASONS[fault], 1), fault
            assert (caught.value.component, caught.value.status_code) == (backend, STATUSES.get(fault)), fault
            assert 0 < caught.value.latency_s < HANG_S
            assert (await model.complete(asking())).text
            await until(lambda: server.statistics().in_flight == 0)
            assert server.statistics().open_connections <= 1

    async with anyio.create_task_group() as tasks:  # at once: some are timeouts
        for each in product(BACKENDS, REASONS):
            tasks.start_soon(meet, *each)


def test_a_retry_has_a_limit_of_its_own() -> None:
    limits = [asking(attempt=attempt).limit(64) for attempt in range(6)]
    assert limits == [64, 256, 1024, 4096, 4096, 4096]
    assert asking(attempt=1).limit(10_000) == 10_000
    assert asking(attempt=1, max_tokens=10).limit(64) == 10


@catalogue("backend", BACKENDS)
@catalogue(
    ("status", "body", "reason"),
    [
        (429, {"error": "slow down"}, "overloaded"),
        (403, {"error": "no"}, "client_error"),
        (302, b"", "client_error"),
        (502, b"<html>bad gateway</html>", "server_error"),
        (200, [], "invalid_response"),
        (200, "text", "invalid_response"),
        (200, {}, "invalid_response"),
        (200, {"choices": [], "message": 0, "done": True}, "invalid_response"),
        (200, b"\xff\xfe", "invalid_response"),
        (200, b"[" * 100_000, "invalid_response"),
    ],
)
async def test_any_status_and_any_body_has_a_reason(backend: str, status: int, body: Any, reason: str) -> None:
    failed, _, _ = await failure(status, body, backend=backend)
    assert (failed.reason, failed.status_code) == (reason, None if status == 200 else status)
    assert len(str(failed)) < 500
    assert "\n" not in str(failed)


@catalogue("host", ["ftp://127.0.0.1", "http://127.0.0.1:99999", "http://[::1", "http://"])
@catalogue("backend", BACKENDS)
def test_a_host_that_is_no_address_is_refused(backend: str, host: str) -> None:
    with pytest.raises(OracleUnavailableError, match=r"^llm\.host is not an address[^\n]*$"):
        BACKENDS[backend](LLMConfig(host=host), {})


@catalogue("key", ["sk-\nx", "sk-é", "sk-\x00"])
@catalogue("backend", BACKENDS)
def test_a_key_that_no_header_can_carry_is_refused_unseen(backend: str, key: str) -> None:
    with pytest.raises(OracleUnavailableError, match=r"the key in \$PRISM_LLM_API_KEY has characters") as caught:
        BACKENDS[backend](LLMConfig(), {"PRISM_LLM_API_KEY": key})
    assert "sk-" not in str(caught.value)


@pytest.mark.parametrize("backend", BACKENDS)
async def test_the_key_is_sent_and_never_shown(backend: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    async with canned(401, {"error": {"message": f"Incorrect API key provided: {KEY}"}}) as seen:
        model = BACKENDS[backend](LLMConfig(host=seen[0].decode()), {"PRISM_LLM_API_KEY": KEY})
        with pytest.raises(LLMFailureException) as caught:
            await model.complete(asking())
        said = await unavailable(model)
    assert f"authorization: bearer {KEY}".encode() in seen[1].lower()
    assert "Incorrect API key provided: ***" in str(caught.value)
    shown = [caplog.text, said, str(caught.value), repr(caught.value), repr(model), model.name, repr(model.identity)]
    assert KEY not in "".join(shown)


@catalogue("key", ["e", "none", "sk-1234"])
async def test_a_short_key_is_removed_where_it_is_a_key_and_stays_in_words(key: str) -> None:
    said = f"the key sent as Authorization: Bearer {key}; none of the letters is bearer {key}"
    failed, _, _ = await failure(401, {"error": said}, environment={"PRISM_LLM_API_KEY": key})
    assert failed.detail == "the key sent as Authorization: Bearer ***; none of the letters is bearer ***"


async def test_no_key_is_sent_that_the_configuration_does_not_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_API_KEY", KEY)
    for config, key in ((LLMConfig(), None), (LLMConfig(api_key_env="OLLAMA_API_KEY"), f"Bearer {KEY}")):
        client = OllamaChatClient(config)
        assert client._http.headers.get("Authorization") == key
        await client.aclose()


async def test_no_proxy_is_taken_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", ADDRESS_IN_USE_BY_NOBODY)
    monkeypatch.setenv("ALL_PROXY", ADDRESS_IN_USE_BY_NOBODY)
    for backend in BACKENDS:
        async with serving(backend) as (_, model):
            assert (await model.complete(asking())).text


async def test_every_adapter_logs_what_it_asks_at_debug_alone(caplog: pytest.LogCaptureFixture) -> None:
    for backend in BACKENDS:
        caplog.set_level("DEBUG", "prism")
        async with serving(backend) as (_, model):
            await model.complete(asking('What "next"?', asked_by="agent 12 in tick 340"))
            caplog.set_level("INFO", "prism")
            await model.complete(asking())
    prompts = [record.getMessage() for record in caplog.records if record.getMessage().startswith("llm_prompt ")]
    assert prompts == [r'llm_prompt asked_by="agent 12 in tick 340" prompt="What \"next\"?"'] * 2


NOW = "Wed, 21 Oct 2026 07:28:00 GMT"


@catalogue(
    ("headers", "seconds"),
    [
        ({}, 0.0),
        *(({"retry-after": text}, seconds) for text, seconds in (("3", 3.0), ("-3", 0.0), ("nan", 0.0), ("soon", 0.0))),
        ({"retry-after": "inf"}, LONGEST_S),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT", "date": NOW}, 30.0),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:30", "date": NOW}, 30.0),
        ({"retry-after": "Wed Oct 21 07:28:30 2026", "date": NOW}, 30.0),
        ({"retry-after": "Wednesday, 21-Oct-26 07:28:30 GMT", "date": NOW}, 30.0),
        ({"retry-after": "Wed, 21 Oct 2026 07:27:30 GMT", "date": NOW}, 0.0),
        ({"retry-after": "Wed, 99 Oct 2026 07:27:30 GMT", "date": NOW}, 0.0),
        ({"retry-after": "Wed, 21 Oct 1998 07:28:30 GMT"}, 0.0),
        ({"retry-after-ms": "1500", "retry-after": "2"}, 1.5),
        ({"x-ms-retry-after-ms": "250"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "2"}, 2.0),
    ],
)
def test_a_pause_is_what_the_server_asks_for(headers: dict[str, str], seconds: float) -> None:
    assert retry_after_s(headers) == pytest.approx(seconds)


@catalogue(
    ("text", "tokens"), [("", 0), ("abc", 1), ("abcd", 2), ("é", 1), ("我们", 3), ("😀", 2), ("ab😀", 3), ("\ud800", 1)]
)
def test_tokens_are_estimated_rather_too_high(text: str, tokens: int) -> None:
    assert most_tokens(text) == tokens


async def test_a_prompt_that_may_not_fit_is_refused_unsent_with_the_setting_to_change() -> None:
    async with serving("ollama", num_ctx=1024, num_predict=64) as (server, model):
        with pytest.raises(LLMFailureException) as caught:
            await model.complete(asking("word " * 600))
        assert server.statistics().calls == 0
        assert (await model.complete(asking("word " * 500))).text
    # A limit of answers above the window is no reason to refuse, and a server with its own window is asked in any case.
    for backend, window, most, words in (("ollama", 2048, 20_000, 1), ("openai", 256, 64, 600)):
        async with serving(backend, num_ctx=window, num_predict=most) as (_, model):
            assert (await model.complete(asking("word " * words))).text
    refused = caught.value
    assert (refused.reason, refused.status_code) == ("refused", None)
    assert refused.detail == (
        "a prompt of about 1008 tokens and an answer of up to 64 do not fit into llm.num_ctx 1024, and ollama would "
        "cut the prompt silently; set llm.num_ctx=2048"
    )


SECRET = "a-very-secret-word"


def test_variables_are_filled_in_and_kept_from_sight() -> None:
    config = LLMConfig(
        request=RequestConfig(headers={"api-key": "$MY_KEY", "X-Both": "a ${MY_KEY} b", "X-Title": "a study"})
    )
    address = address_of(config, {"MY_KEY": SECRET, "PRISM_LLM_API_KEY": "sk-other"})
    assert address.headers == {
        "Authorization": "Bearer sk-other",
        "api-key": SECRET,
        "X-Both": f"a {SECRET} b",
        "X-Title": "a study",
    }
    assert set(address.secrets) == {SECRET, "sk-other"}
    assert SECRET not in repr(address)
    own = LLMConfig(request=RequestConfig(headers={"authorization": "Basic $LOGIN"}))
    login = {"LOGIN": "abc", "PRISM_LLM_API_KEY": "sk-other"}
    assert address_of(own, login).headers == {"authorization": "Basic abc"}, "it replaces that of the key"


def test_a_variable_that_is_not_set_is_one_line() -> None:
    with pytest.raises(OracleUnavailableError) as caught:
        address_of(LLMConfig(request=RequestConfig(query={"key": "$NOT_THERE"})), {})
    assert str(caught.value) == (
        "llm.request.query.key: the environment variable NOT_THERE is not set; set it, or leave llm.request.query.key "
        "out"
    )


@catalogue(
    ("end", "path"),
    [
        ("", "/v1/chat/completions"),
        ("/v1", "/v1/chat/completions"),
        ("/x/v1/chat/completions", "/x/v1/chat/completions"),
        ("/x/chat/completions", "/x/chat/completions"),
    ],
)
async def test_a_host_may_have_the_path_of_the_chat_and_models_stand_beside_it(end: str, path: str) -> None:
    async with canned(404, {"error": "no"}) as seen:
        await unavailable(BACKENDS["openai"](LLMConfig(host=f"{seen[0].decode()}{end}"), {}))
    asked = [head.decode().split()[1] for head in seen[1:]]
    assert asked[:2] == [path.replace("chat/completions", "models"), path]


@pytest.mark.parametrize("backend", BACKENDS)
async def test_headers_query_and_fields_of_the_users_own_go_with_every_question(backend: str) -> None:
    extra = {"user": "me", "temperature": None, "options": {"top_k": 3}}
    request = RequestConfig(headers={"X-Token": "$MY_TOKEN"}, query={"api-version": "2024-10-21"}, path="/somewhere")
    failed, model, seen = await failure(
        400, {"error": f"no {SECRET}"}, backend=backend, environment={"MY_TOKEN": SECRET}, request=request
    )
    first = seen[1].decode().lower()
    assert first.startswith("post /somewhere?api-version=2024-10-21 http/1.1")
    assert f"x-token: {SECRET}" in first
    assert "no ***" in str(failed)
    assert SECRET not in f"{failed!r} {failed} {model!r} {model.identity!r}"
    async with serving(backend, request=RequestConfig(extra_body=extra)) as (server, model):
        await model.complete(asking())
        (call,) = server.calls
        assert (call.body["user"], call.body["options"]["top_k"]) == ("me", 3)
        assert "temperature" not in call.body
        assert '"user": "me"' in model.identity.extra_body
