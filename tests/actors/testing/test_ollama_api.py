"""Ollama's own routes, through httpx and through the `ollama` package's own client."""

import json

from actors.testing import Latency, ModelServer, ServerSettings
from actors.testing.answers import answer
from tests.actors.testing.support import ASKED, CHAT, COMPLETION, SCHEMA, STATES, content, ollama_client, serving


async def test_the_root_the_version_and_the_lists_answer_as_ollama_does() -> None:
    async with serving(ServerSettings(models=("llama3.2", "qwen3:8b"))) as (_, client):
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
    async with ModelServer() as server, ollama_client(server) as client:
        assert [model.model for model in (await client.list()).models] == ["llama3.2:latest"]
        shown = await client.show("llama3.2")
        assert shown.capabilities is not None
        assert "decision" in shown.capabilities
        assert (await client.ps()).models == []
        await client.chat("llama3.2", ASKED)
        assert [model.context_length for model in (await client.ps()).models] == [4096]


async def test_a_chat_answers_within_the_schema_and_reports_its_counts() -> None:
    async with ModelServer() as server, ollama_client(server) as client:
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
    async with serving(ServerSettings(live=True)) as (_, client):
        said = {(await client.post("/api/chat", json=prose)).json()["message"]["content"] for _ in range(4)}
    assert len(said) == 4


async def test_a_reply_hook_says_what_the_model_says() -> None:
    settings = ServerSettings(
        reply=lambda messages, options, form: f"{messages[0]['content']} {options['seed']} {form}"
    )
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
    async with serving(ServerSettings(latency=Latency(mean_s=0.02))) as (server, client):
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
    async with ModelServer() as server, ollama_client(server) as client:
        said = await client.generate("llama3.2", "What next?", format=SCHEMA)
        assert json.loads(said.response)["state"] in STATES


async def test_an_answer_longer_than_num_predict_is_cut() -> None:
    async with serving() as (_, client):
        said = (await client.post("/api/chat", json={**CHAT, "options": {"num_predict": 2}})).json()
        plain = (await client.post("/v1/chat/completions", json={**COMPLETION, "max_tokens": 2})).json()
    assert (said["done_reason"], said["eval_count"], len(said["message"]["content"])) == ("length", 2, 8)
    assert plain["choices"][0]["finish_reason"] == "length"


async def test_no_messages_load_the_model_and_keep_alive_zero_unloads_it() -> None:
    async with serving(ServerSettings(load_s=0.02)) as (server, client):
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
