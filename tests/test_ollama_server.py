"""The Ollama double, seen from outside: through httpx and through the `ollama` package's own client."""

import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import anyio
import httpx
import ollama
import pytest

from tests.ollama_server import (
    WRONG_STATE,
    Dialect,
    Fault,
    FaultPlan,
    Latency,
    OllamaProcess,
    OllamaServer,
    Settings,
    SystemOne,
)
from tests.ollama_server.answers import answer
from tests.ollama_server.faults import MEANINGS
from tests.ollama_server.slots import Slots

BUSY = "server busy, please try again.  maximum pending requests exceeded"
STATES = ["scrolling", "composing", "resting"]
SCHEMA = {"type": "object", "properties": {"state": {"type": "string", "enum": STATES}}, "required": ["state"]}
ASKED = [{"role": "user", "content": "What next?"}]
CHAT = {"model": "llama3.2", "messages": ASKED, "format": SCHEMA, "stream": False, "options": {"seed": 1}}
COMPLETION = {"model": "llama3.2", "messages": ASKED, "seed": 1}
QUESTION = {"type": "choice", "instructions": "What next?", "criteria": dict.fromkeys(STATES)}
DECISION = {"model": "llama3.2", "state": "bored", "questions": {"next": QUESTION}}


@asynccontextmanager
async def serving(settings: Settings | None = None) -> AsyncIterator[tuple[OllamaServer, httpx.AsyncClient]]:
    async with OllamaServer(settings) as server, client_of(server) as client:
        yield server, client


def client_of(server: OllamaServer) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=server.url, timeout=5, trust_env=False)


def ollama_client(server: OllamaServer) -> ollama.AsyncClient:
    return ollama.AsyncClient(server.url, timeout=5, trust_env=False)


def failing(fault: Fault, **options: Any) -> Settings:
    return Settings(faults=FaultPlan(at={1: fault}, **options))


async def until(condition: Callable[[], bool]) -> None:
    with anyio.fail_after(5):
        while not condition():  # noqa: ASYNC110 - the server changes in another thread
            await anyio.sleep(0.002)


def content(response: httpx.Response) -> Any:
    return json.loads(response.json()["message"]["content"])


async def test_the_root_the_version_and_the_lists_answer_as_ollama_does() -> None:
    async with serving(Settings(models=("llama3.2", "qwen3:8b"))) as (_, client):
        root = await client.get("/")
        assert (root.status_code, root.text) == (200, "Ollama is running")
        head = await client.head("/")
        assert (head.status_code, head.content, head.headers["content-length"]) == (200, b"", "17")
        assert (await client.get("/api/version")).json()["version"]
        tags = (await client.get("/api/tags")).json()["models"]
        assert [model["name"] for model in tags] == ["llama3.2:latest", "qwen3:8b"]
        ids = (await client.get("/v1/models")).json()
        assert [model["id"] for model in ids["data"]] == ["llama3.2:latest", "qwen3:8b"]


async def test_the_ollama_client_reads_every_listing() -> None:
    async with OllamaServer() as server, ollama_client(server) as client:
        assert [model.model for model in (await client.list()).models] == ["llama3.2:latest"]
        shown = await client.show("llama3.2")
        assert shown.capabilities is not None
        assert "decision" in shown.capabilities
        assert (await client.ps()).models == []
        await client.chat("llama3.2", ASKED)
        assert [model.context_length for model in (await client.ps()).models] == [4096]


async def test_a_chat_answers_within_the_schema_and_reports_its_counts() -> None:
    async with OllamaServer() as server, ollama_client(server) as client:
        said = await client.chat("llama3.2", ASKED, format=SCHEMA, options={"seed": 1}, think=False)
        assert json.loads(said.message.content or "")["state"] in STATES
        assert (said.done, said.done_reason) == (True, "stop")
        counts = (said.prompt_eval_count, said.eval_count, said.total_duration, said.eval_duration)
        assert all(count is not None and count > 0 for count in counts)


async def test_an_answer_is_a_function_of_the_messages_and_the_seed() -> None:
    async with serving() as (_, client):
        first, again = [content(await client.post("/api/chat", json=CHAT)) for _ in range(2)]
        seeds = [{**CHAT, "options": {"seed": seed}} for seed in range(12)]
        states = {content(await client.post("/api/chat", json=body))["state"] for body in seeds}
    assert first == again
    assert states == set(STATES)


async def test_a_live_server_answers_differently_every_time() -> None:
    prose = {**CHAT, "format": None}
    async with serving(Settings(live=True)) as (_, client):
        said = {(await client.post("/api/chat", json=prose)).json()["message"]["content"] for _ in range(4)}
    assert len(said) == 4


async def test_a_reply_hook_says_what_the_model_says() -> None:
    settings = Settings(reply=lambda messages, options, form: f"{messages[0]['content']} {options['seed']} {form}")
    async with serving(settings) as (_, client):
        said = (await client.post("/api/chat", json={**CHAT, "format": "json"})).json()
    assert said["message"]["content"] == "What next? 1 json"


def test_values_are_valid_for_every_kind_of_schema() -> None:
    inner = {"type": "object", "properties": {"score": {"type": "number", "minimum": -1, "maximum": 1}}}
    properties: dict[str, object] = {
        "inner": {"$ref": "#/$defs/Inner"},
        "age": {"type": "integer", "minimum": 18, "maximum": 20},
        "rate": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 0.1},
        "why": {"type": "string", "minLength": 100, "maxLength": 120},
        "short": {"type": "string", "maxLength": 2},
        "sure": {"type": "boolean"},
        "maybe": {"anyOf": [{"type": "null"}, {"const": 3}]},
        "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 2},
    }
    schema = {"$ref": "#/$defs/Outer", "$defs": {"Outer": {"type": "object", "properties": properties}, "Inner": inner}}
    for seed in range(50):
        value = json.loads(answer(ASKED, seed, schema))
        assert -1 <= value["inner"]["score"] <= 1
        assert value["age"] in (18, 19, 20)
        assert 0 < value["rate"] < 0.1
        assert 100 <= len(value["why"]) <= 120
        assert len(value["short"]) <= 2
        assert isinstance(value["sure"], bool)
        assert value["maybe"] in (None, 3)
        assert len(value["tags"]) == 2
        assert set(value["tags"]) <= {"a", "b"}


async def test_a_chat_streams_lines_unless_told_otherwise() -> None:
    body = {key: value for key, value in CHAT.items() if key != "stream"}
    async with serving(Settings(latency=Latency(mean_s=0.02))) as (server, client):
        streamed = await client.post("/api/chat", json=body)
        whole = await client.post("/api/chat", json=CHAT)
        lines = [json.loads(line) for line in streamed.text.splitlines()]
        async with ollama_client(server) as own:
            parts = [part async for part in await own.chat("llama3.2", ASKED, stream=True)]
    assert streamed.headers["content-type"] == "application/x-ndjson"
    assert streamed.headers["transfer-encoding"] == "chunked"
    assert [line["done"] for line in lines] == [False] * (len(lines) - 1) + [True]
    assert "".join(line["message"]["content"] for line in lines) == whole.json()["message"]["content"]
    assert lines[-1]["total_duration"] >= 20e6
    assert parts[-1].done


async def test_generate_answers_a_prompt() -> None:
    async with OllamaServer() as server, ollama_client(server) as client:
        said = await client.generate("llama3.2", "What next?", format=SCHEMA)
        assert json.loads(said.response)["state"] in STATES


async def test_an_answer_longer_than_num_predict_is_cut() -> None:
    async with serving() as (_, client):
        said = (await client.post("/api/chat", json={**CHAT, "options": {"num_predict": 2}})).json()
        plain = (await client.post("/v1/chat/completions", json={**COMPLETION, "max_tokens": 2})).json()
    assert (said["done_reason"], said["eval_count"], len(said["message"]["content"])) == ("length", 2, 8)
    assert plain["choices"][0]["finish_reason"] == "length"


async def test_no_messages_load_the_model_and_keep_alive_zero_unloads_it() -> None:
    async with serving(Settings(load_s=0.02)) as (server, client):
        load = (await client.post("/api/chat", json={"model": "llama3.2"})).json()
        assert (load["done_reason"], load["message"]["content"]) == ("load", "")
        assert len((await client.get("/api/ps")).json()["models"]) == 1
        await client.post("/api/chat", json=CHAT)
        assert server.statistics().loads == 1
        unload = (await client.post("/api/generate", json={"model": "llama3.2", "keep_alive": "0s"})).json()
        assert unload["done_reason"] == "unload"
        assert (await client.get("/api/ps")).json()["models"] == []


async def test_another_num_ctx_loads_the_model_again() -> None:
    async with serving() as (server, client):
        for num_ctx in (2048, 2048, 4096):
            await client.post("/api/chat", json={**CHAT, "options": {"num_ctx": num_ctx}})
        assert server.statistics().loads == 2


@pytest.mark.parametrize(
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


async def test_systemone_gives_a_probability_for_each_option() -> None:
    questions: dict[str, Any] = {
        "next": QUESTION,
        "bored": {"type": "noul", "instructions": "Bored?"},
        "mood": {"type": "score", "instructions": "Mood?", "criteria": ["low", "middling", "high"]},
    }
    async with OllamaServer() as server, ollama_client(server) as client:
        said = await client.systemone("llama3.2", "a long day", questions)
        again = await client.systemone("llama3.2", "a long day", questions)
    choice = said.answers["next"]
    assert choice.type == "choice"
    assert list(choice.probabilities) == STATES
    assert sum(choice.probabilities.values()) == pytest.approx(1)
    assert choice.choice == max(STATES, key=choice.probabilities.__getitem__)
    assert 0 <= choice.confidence <= 1
    assert said.answers == again.answers
    assert said.usage.input_tokens > 0


@pytest.mark.parametrize(
    ("mode", "body", "status", "error"),
    [
        (SystemOne.UNSUITED, DECISION, 400, "registry.ollama.ai/library/llama3.2:latest does not support decision"),
        (SystemOne.ON, {**DECISION, "questions": {}}, 400, "questions must contain 1\u201364 fields"),
        (SystemOne.ON, {**DECISION, "state": ""}, 400, "state must not be empty"),
        (SystemOne.ON, {**DECISION, "model": "x"}, 404, "model 'x' not found"),
        (SystemOne.ON, {**DECISION, "state": "x" * 70_000}, 413, "request body too large"),
    ],
)
async def test_systemone_refuses_as_the_server_does(mode: SystemOne, body: Any, status: int, error: str) -> None:
    async with serving(Settings(systemone=mode)) as (_, client):
        response = await client.post("/v1/systemone", json=body)
    assert (response.status_code, response.json()) == (status, {"error": error})


async def test_systemone_is_no_route_where_it_is_off() -> None:
    async with serving(Settings(systemone=SystemOne.OFF)) as (_, client):
        response = await client.post("/v1/systemone", json=DECISION)
    assert (response.status_code, response.text) == (404, "404 page not found")


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


@pytest.mark.parametrize(
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
    async with serving(Settings(dialect=dialect)) as (_, client):
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
    async with serving(Settings(key="secret")) as (_, client):
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


async def test_slots_run_calls_in_order_of_arrival() -> None:
    order: list[int] = []
    async with serving(Settings(slots=1, latency=Latency(mean_s=0.02))) as (server, client):

        async def ask(number: int) -> None:
            await client.post("/api/chat", json=CHAT)
            order.append(number)

        async with anyio.create_task_group() as tasks:
            for number in range(5):
                tasks.start_soon(ask, number)
                await until(lambda: server.statistics().calls == number + 1)  # noqa: B023
        statistics = server.statistics()
    assert order == [0, 1, 2, 3, 4]
    assert statistics.peak_busy == 1
    assert 1 <= statistics.peak_waiting <= 4
    assert (statistics.busy, statistics.waiting, statistics.in_flight) == (0, 0, 0)


async def test_as_many_calls_run_at_once_as_there_are_slots() -> None:
    async with serving(Settings(slots=3, latency=Latency(mean_s=0.03))) as (server, client):
        async with anyio.create_task_group() as tasks:
            for _ in range(9):
                tasks.start_soon(lambda: client.post("/api/chat", json=CHAT))
        assert (server.statistics().peak_busy, server.statistics().peak_in_flight) == (3, 9)


@pytest.mark.parametrize("path", ["/api/chat", "/v1/chat/completions"])
async def test_a_full_queue_gives_503(path: str) -> None:
    statuses: list[int] = []
    bodies: list[Any] = []
    async with serving(Settings(slots=1, max_queue=1, load_s=0.25)) as (server, client):

        async def ask() -> None:
            response = await client.post(path, json=CHAT)
            statuses.append(response.status_code)
            bodies.append(response.json())

        async with anyio.create_task_group() as tasks:
            for number in range(3):
                tasks.start_soon(ask)
                await until(lambda: server.statistics().calls == number + 1)  # noqa: B023
    assert statuses == [503, 200, 200]
    error = bodies[0]["error"]
    assert (error if path == "/api/chat" else error["message"]) == BUSY


async def test_a_client_that_leaves_frees_its_slot_and_its_place_in_the_queue() -> None:
    async with serving(Settings(slots=1, latency=Latency(mean_s=30))) as (server, client):
        async with anyio.create_task_group() as tasks:
            for number in range(3):
                tasks.start_soon(lambda: client.post("/api/chat", json=CHAT))
                await until(lambda: server.statistics().calls == number + 1)  # noqa: B023
            tasks.cancel_scope.cancel()
        await until(lambda: server.statistics().open_connections == 0)
        await until(lambda: all(call.ended_s is not None for call in server.calls))
        assert (server.statistics().busy, server.statistics().waiting) == (0, 0)
        assert all(call.abandoned and call.status is None for call in server.calls)


async def test_a_slot_freed_while_all_waiters_leave_is_free() -> None:
    slots = Slots(limit=1, max_queue=9)
    await slots.acquire()
    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(slots.acquire)
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
        slots.release()
    assert (slots.busy, slots.waiting) == (0, 0)


def test_a_log_normal_latency_has_its_mean_and_its_p99() -> None:
    latency = Latency(mean_s=1, p99_s=8, seed=3)
    times = sorted(latency.seconds(call, 0) for call in range(20_000))
    assert sum(times) / len(times) == pytest.approx(1, rel=0.05)
    assert times[int(len(times) * 0.99)] == pytest.approx(8, rel=0.1)
    assert latency.seconds(7, 0) == Latency(mean_s=1, p99_s=8, seed=3).seconds(7, 0)


def test_a_latency_grows_with_the_other_busy_slots() -> None:
    assert Latency(mean_s=1, slope=0.5).seconds(1, 4) == 3


def test_a_p99_that_no_log_normal_has_is_refused() -> None:
    with pytest.raises(ValueError, match="p99_s must be"):
        Latency(mean_s=1, p99_s=20)


def test_faults_come_by_share_and_repeat() -> None:
    plan = FaultPlan(shares={Fault.HANG: 0.1, Fault.RESET: 0.05}, at={4: Fault.EMPTY}, seed=1)
    picked = [plan.pick(call) for call in range(1, 10_001)]
    assert picked == [plan.pick(call) for call in range(1, 10_001)]
    assert picked[3] is Fault.EMPTY
    assert picked.count(Fault.HANG) == pytest.approx(1000, rel=0.1)
    assert picked.count(Fault.RESET) == pytest.approx(500, rel=0.15)
    assert set(MEANINGS) == set(Fault)


async def test_a_hang_sends_nothing_until_the_client_leaves() -> None:
    async with serving(failing(Fault.HANG)) as (server, client):
        with pytest.raises(httpx.ReadTimeout):
            await client.post("/api/chat", json=CHAT, timeout=0.1)
        assert (await client.post("/api/chat", json=CHAT)).status_code == 200
        await until(lambda: server.calls[0].ended_s is not None)
        assert (server.calls[0].fault, server.calls[0].status, server.calls[0].abandoned) == (Fault.HANG, None, True)


@pytest.mark.parametrize("stream", [False, True])
async def test_a_cut_ends_before_the_body_does(stream: bool) -> None:
    async with serving(failing(Fault.CUT)) as (_, client):
        with pytest.raises(httpx.RemoteProtocolError, match=r"incomplete|without sending complete"):
            await client.post("/api/chat", json={**CHAT, "stream": stream})


async def test_a_reset_is_a_read_error() -> None:
    async with serving(failing(Fault.RESET)) as (_, client):
        with pytest.raises(httpx.ReadError) as caught:
            await client.post("/api/chat", json=CHAT)
    cause: BaseException | None = caught.value
    while cause is not None and not isinstance(cause, ConnectionResetError):
        cause = cause.__cause__ or cause.__context__
    assert isinstance(cause, ConnectionResetError)


async def test_garbage_is_no_http() -> None:
    async with serving(failing(Fault.GARBAGE)) as (_, client):
        with pytest.raises(httpx.RemoteProtocolError):
            await client.post("/api/chat", json=CHAT)


async def test_not_done_raises_nothing_in_the_ollama_client() -> None:
    async with OllamaServer(failing(Fault.NOT_DONE)) as server, ollama_client(server) as client:
        said = await client.chat("llama3.2", ASKED, format=SCHEMA)
    assert (said.done, said.done_reason) == (False, None)
    assert json.loads(said.message.content or "")["state"] in STATES


@pytest.mark.parametrize("path", ["/api/chat", "/api/generate", "/v1/chat/completions"])
async def test_content_faults_come_inside_a_right_response(path: str) -> None:
    form = {"type": "json_schema", "json_schema": {"schema": SCHEMA}}
    body = {**CHAT, "prompt": "What next?", "response_format": form}
    plan = FaultPlan(at={1: Fault.NOT_JSON, 2: Fault.WRONG_STATE, 3: Fault.EMPTY})
    said: list[str] = []
    async with serving(Settings(faults=plan)) as (_, client):
        for _ in range(3):
            answered = (await client.post(path, json=body)).json()
            message = answered["choices"][0]["message"] if "choices" in answered else answered.get("message", {})
            said.append(answered.get("response", message.get("content")))
    with pytest.raises(ValueError, match="Expecting value"):
        json.loads(said[0])
    assert json.loads(said[1]) == {"state": WRONG_STATE}
    assert said[2] == ""


async def test_content_faults_of_systemone_break_its_answers() -> None:
    plan = FaultPlan(at={1: Fault.NOT_JSON, 2: Fault.WRONG_STATE, 3: Fault.EMPTY, 4: Fault.NOT_DONE})
    async with serving(Settings(faults=plan)) as (_, client):
        prose, wrong, empty, unfinished = [await client.post("/v1/systemone", json=DECISION) for _ in range(4)]
    with pytest.raises(ValueError, match="Expecting value"):
        prose.json()
    assert wrong.json()["answers"]["next"]["choice"] == WRONG_STATE
    assert (empty.json()["answers"], unfinished.json()["answers"]) == ({}, {})


async def test_a_busy_fault_is_a_burst_of_503() -> None:
    async with serving(failing(Fault.BUSY, burst=2)) as (_, client):
        answers = [await client.post("/api/chat", json=CHAT) for _ in range(3)]
    assert [response.status_code for response in answers] == [503, 503, 200]
    assert answers[0].json() == {"error": BUSY}


async def test_an_error_is_a_500_with_an_object() -> None:
    async with OllamaServer(failing(Fault.ERROR)) as server, ollama_client(server) as client:
        with pytest.raises(ollama.ResponseError, match="llama runner process has terminated") as caught:
            await client.chat("llama3.2", ASKED)
    assert caught.value.status_code == 500


async def test_a_string_error_makes_the_ollama_client_raise_attribute_error() -> None:
    async with OllamaServer(failing(Fault.STRING_ERROR)) as server, ollama_client(server) as client:
        with pytest.raises(AttributeError):
            await client.chat("llama3.2", ASKED)


async def test_a_drip_outlives_any_read_timeout_that_each_byte_renews() -> None:
    async with serving(failing(Fault.DRIP, drip_s=0.001)) as (server, client):
        said = await client.post("/api/chat", json=CHAT, timeout=httpx.Timeout(5, read=0.15))
        call = server.calls[0]
    assert content(said)["state"] in STATES
    assert call.ended_s is not None
    assert call.ended_s - call.started_s > 0.15


async def test_faults_touch_inference_alone() -> None:
    settings = Settings(faults=FaultPlan(shares={Fault.ERROR: 1.0}))
    async with serving(settings) as (server, client):
        assert (await client.get("/api/tags")).status_code == 200
        assert (await client.post("/api/show", json={"model": "llama3.2"})).status_code == 200
        assert (await client.post("/api/chat", json=CHAT)).status_code == 500
        server.settings = replace(settings, faults=FaultPlan())
        assert (await client.post("/api/chat", json=CHAT)).status_code == 200


async def test_the_log_says_what_was_asked_and_when() -> None:
    async with serving() as (server, client):
        await client.get("/api/tags")
        await client.post("/api/chat", json=CHAT)
        tags, chat = server.requests
    assert (tags.method, tags.path, tags.body, tags.call, tags.status) == ("GET", "/api/tags", None, None, 200)
    assert (chat.path, chat.body, chat.call, chat.status) == ("/api/chat", CHAT, 1, 200)
    assert chat.ended_s is not None
    assert chat.ended_s >= chat.started_s >= (tags.ended_s or 0)


async def test_connections_are_kept_alive_counted_and_closed_on_request() -> None:
    async with serving() as (server, client):
        for _ in range(3):
            await client.post("/api/chat", json=CHAT)
        assert (server.statistics().accepted_connections, server.statistics().open_connections) == (1, 1)
        closing = await client.get("/", headers={"Connection": "close"})
        assert closing.headers["connection"] == "close"
        await until(lambda: server.statistics().open_connections == 0)


async def test_stop_drops_every_connection_and_start_takes_the_same_port() -> None:
    async with serving(Settings(latency=Latency(mean_s=30))) as (server, client):
        url = server.url
        async with anyio.create_task_group() as tasks:

            async def ask() -> None:
                with pytest.raises(httpx.RemoteProtocolError):
                    await client.post("/api/chat", json=CHAT)

            tasks.start_soon(ask)
            await until(lambda: server.statistics().busy == 1)
            await anyio.to_thread.run_sync(server.stop)
        assert server.statistics().open_connections == 0
        assert server.calls[0].abandoned
        with pytest.raises(httpx.ConnectError):
            await client.get("/")
        server.settings = Settings()
        await anyio.to_thread.run_sync(server.start)
        assert server.url == url
        assert (await client.post("/api/chat", json=CHAT)).status_code == 200
        assert [call.call for call in server.calls] == [1, 2]


def test_an_error_in_the_double_itself_is_raised_by_stop() -> None:
    server = OllamaServer(Settings(reply=lambda messages, options, form: str(1 // 0)))
    server.start()
    with httpx.Client(base_url=server.url, trust_env=False) as client, pytest.raises(httpx.TransportError):
        client.post("/api/chat", json=CHAT)
    with pytest.raises(ZeroDivisionError):
        server.stop()


def test_the_process_serves_and_restarts_on_its_port() -> None:
    with OllamaProcess("--model", "qwen3", "--fault-at", "1=error") as server:
        url = server.url
        assert httpx.post(f"{url}/api/chat", json={**CHAT, "model": "qwen3"}, trust_env=False).status_code == 500
        server.stop()
        server.start()
        assert httpx.get(f"{url}/api/tags", trust_env=False).json()["models"][0]["name"] == "qwen3:latest"


def test_the_command_line_explains_every_fault() -> None:
    command = [sys.executable, "-m", "tests.ollama_server", "--help"]
    text = subprocess.run(command, capture_output=True, text=True, check=True, timeout=20).stdout
    assert all(fault in text and MEANINGS[fault] in text for fault in Fault)
