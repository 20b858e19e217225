"""The test server over a socket: what it answers in both APIs, its faults, its counts, and its end."""

import json
import signal
from pathlib import Path
from typing import Any

import httpx
import pytest
from jsonschema import validate

from actors.testing import WRONG_STATE, Fault, FaultPlan, Latency, ModelServer, ServerSettings
from actors.testing.server import answer
from tests.command import Prism, begin
from tests.patience import HANG_S

STATES = ["scrolling", "composing", "resting"]
SCHEMA = {"type": "object", "properties": {"state": {"type": "string", "enum": STATES}}, "required": ["state"]}
ASKED = [{"role": "user", "content": "What next?"}]
CHAT = {"model": "llama3.2", "messages": ASKED, "format": SCHEMA, "stream": False, "options": {"seed": 1}}
FORMAT = {"type": "json_schema", "json_schema": {"name": "choice", "schema": SCHEMA}}
COMPLETION = {"model": "llama3.2", "messages": ASKED, "seed": 1, "response_format": FORMAT}


def client_of(server: ModelServer) -> httpx.Client:
    return httpx.Client(base_url=server.url, timeout=HANG_S, trust_env=False)


def content(response: httpx.Response) -> str:
    body = response.json()
    return str((body.get("message") or body["choices"][0]["message"])["content"])


def test_both_apis_answer_within_the_schema_and_equal_requests_alike() -> None:
    with ModelServer() as server, client_of(server) as client:
        chats = [client.post("/api/chat", json=CHAT) for _ in range(2)]
        completions = [client.post("/v1/chat/completions", json=COMPLETION) for _ in range(2)]
        seeds = {content(client.post("/api/chat", json={**CHAT, "options": {"seed": seed}})) for seed in range(20)}
    for first, second in (chats, completions):
        assert json.loads(content(first))["state"] in STATES
        assert content(first) == content(second)
    assert len(seeds) == 3
    assert chats[0].json()["done"]
    assert completions[0].json()["usage"]["total_tokens"] > 0


def test_an_answer_is_cut_at_its_limit_of_tokens_and_says_so() -> None:
    with ModelServer() as server, client_of(server) as client:
        chat = client.post("/api/chat", json={**CHAT, "options": {"num_predict": 2}})
        completion = client.post("/v1/chat/completions", json={**COMPLETION, "max_tokens": 2})
    assert (len(content(chat)), chat.json()["done_reason"]) == (8, "length")
    assert (len(content(completion)), completion.json()["choices"][0]["finish_reason"]) == (8, "length")


def test_what_it_has_can_be_looked_up_and_anything_else_is_refused() -> None:
    with ModelServer(ServerSettings(models=("qwen3:8b",))) as server, client_of(server) as client:
        assert client.get("/").text == "Ollama is running"
        assert client.get("/api/version").json()["version"]
        assert client.get("/api/tags").json()["models"][0]["name"] == "qwen3:8b"
        assert client.get("/v1/models").json()["data"][0]["id"] == "qwen3:8b"
        refused = [
            client.get("/nothing"),
            client.post("/v1/systemone", json={}),
            client.post("/api/chat", json=CHAT),
            client.post("/v1/chat/completions", json=COMPLETION),
        ]
        malformed = [
            client.post("/api/chat", content=b"{"),
            client.post("/api/chat", json={"model": "qwen3:8b", "messages": "no"}),
            client.post("/api/chat", json={**CHAT, "model": "qwen3:8b", "format": {"type": "object", "properties": 1}}),
            client.post("/v1/chat/completions", json={**COMPLETION, "model": "qwen3:8b", "stream": True}),
        ]
        large = client.post("/api/chat", content=b" " * (5 << 20))
    assert [each.status_code for each in refused] == [404] * 4
    assert [each.status_code for each in malformed] == [400] * 4
    assert large.status_code == 413
    assert server.statistics().calls == 1  # the one whose schema is none


def test_each_fault_is_what_its_meaning_says() -> None:
    faults = dict(enumerate(Fault, 1))
    with ModelServer(ServerSettings(faults=FaultPlan(at=faults))) as server, client_of(server) as client:
        said: dict[Fault, Any] = {}
        for fault in Fault:
            try:
                response = client.post("/api/chat", json=CHAT, timeout=0.5 if fault is Fault.HANG else HANG_S)
                said[fault] = response.status_code if response.status_code != 200 else content(response)
            except httpx.TransportError as error:
                said[fault] = type(error)
        assert client.post("/api/chat", json=CHAT).status_code == 200
        assert server.statistics().faults == dict.fromkeys(set(Fault) - {Fault.HANG}, 1) | {Fault.HANG: 1}
    assert said[Fault.HANG] is httpx.ReadTimeout
    assert issubclass(said[Fault.CUT], httpx.RemoteProtocolError)
    assert said[Fault.RESET] is httpx.ReadError
    assert (said[Fault.BUSY], said[Fault.ERROR], said[Fault.EMPTY]) == (503, 500, "")
    assert json.loads(said[Fault.WRONG_STATE]) == {"state": WRONG_STATE}
    with pytest.raises(json.JSONDecodeError):
        json.loads(said[Fault.NOT_JSON])


def test_it_keeps_its_port_and_its_counts_over_a_stop() -> None:
    server = ModelServer(ServerSettings(reply=lambda messages, options, form: "like it"))
    with server, client_of(server) as client:
        port = server.port
        assert content(client.post("/api/chat", json=CHAT)) == "like it"
        server.stop()
        with pytest.raises(httpx.ConnectError):
            httpx.get(server.url, trust_env=False)
        server.start()
        assert client.post("/v1/chat/completions", json=COMPLETION).is_success
    assert server.port == port
    assert [call.body["messages"] for call in server.calls] == [ASKED, ASKED]
    assert server.statistics().statuses == {200: 2}


def test_a_request_body_names_its_call() -> None:
    with ModelServer() as server, client_of(server) as client:
        client.post("/api/chat", json=CHAT, headers={"X-Request-Id": "7-3"})
    (call,) = server.calls
    assert (call.call, call.request_id) == (1, "7-3")
    assert json.loads(call.line())["status"] == 200


def test_latencies_and_faults_follow_from_seed_and_number() -> None:
    latency = Latency(mean_s=1.0, p99_s=8.0, seed=3)
    seconds = sorted(latency.seconds(call) for call in range(1, 20_001))
    assert sum(seconds) / len(seconds) == pytest.approx(1.0, rel=0.05)
    assert seconds[int(0.99 * len(seconds))] == pytest.approx(8.0, rel=0.1)
    plan = FaultPlan(shares={Fault.BUSY: 0.1, Fault.CUT: 0.2}, seed=3)
    picked = [plan.pick(call) for call in range(1, 10_001)]
    assert picked.count(Fault.BUSY) == pytest.approx(1000, rel=0.1)
    assert picked.count(Fault.CUT) == pytest.approx(2000, rel=0.1)


def test_a_value_of_each_type_is_valid_for_its_schema() -> None:
    schema = {
        "type": "object",
        "properties": {
            "rate": {"type": "number", "exclusiveMinimum": 0, "maximum": 10},
            "years": {"type": "integer", "minimum": 2, "exclusiveMaximum": 4},
            "tags": {"type": "array", "items": {"type": "string", "enum": STATES}, "minItems": 2},
            "why": {"type": "string", "minLength": 30, "maxLength": 40},
            "sure": {"type": ["boolean", "null"]},
            "kind": {"anyOf": [{"const": 1}, {"enum": ["a", "b"]}]},
        },
        "required": ["rate", "years", "tags", "why", "sure", "kind"],
    }
    for seed in range(50):
        validate(json.loads(answer(ASKED, seed, schema)), schema)


def test_it_says_where_it_listens_how_to_try_it_and_at_ctrl_c_what_it_was_asked(tmp_path: Path) -> None:
    log = tmp_path / "requests.log"
    words = ("testing", "serve", "--port", "0", "--fault-at", "2=error", "--fault-at", "3=reset", "--log", log)
    with begin(*words) as process:
        try:
            assert process.stdout is not None
            assert process.stderr is not None
            url = process.stdout.readline().removeprefix("listening on ").strip()
            with httpx.Client(base_url=url, trust_env=False, timeout=HANG_S) as client:
                assert [client.post("/api/chat", json=CHAT).status_code for _ in range(2)] == [200, 500]
                with pytest.raises(httpx.TransportError):
                    client.post("/api/chat", json=CHAT)
                assert client.post("/api/chat", json=CHAT).status_code == 200
            process.send_signal(signal.SIGINT)
            said, problem = process.stdout.read().splitlines(), process.stderr.read()  # what is buffered, too
            assert (process.wait(HANG_S), problem) == (0, "")
        finally:
            process.kill()
    assert f"  prism run ollama/prism.yaml --set llm.host={url}" in said
    counts = dict(line.strip().split("  ", 1) for line in said[said.index("") + 1 :])
    assert counts.pop("calls").strip().startswith("4 in ")
    assert {name: text.strip() for name, text in counts.items()} == {
        "failed as told": "2",
        "reset": "1",
        "error": "1",
        "given up by the client": "0",
        "requests by status": "200: 2, 500: 1, none: 1",
        "in slots at once": "1 at most",
    }
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    expected = [(1, None, 200), (2, "error", 500), (3, "reset", None), (4, None, 200)]
    assert [(line["call"], line["fault"], line["status"]) for line in lines] == expected
    assert lines[0]["body"] == CHAT


def test_every_option_reaches_the_server(monkeypatch: pytest.MonkeyPatch, prism: Prism) -> None:
    made: list[ModelServer] = []

    def make(*arguments: Any, **options: Any) -> ModelServer:
        made.append(ModelServer(*arguments, **options))
        return made[-1]

    monkeypatch.setattr("signal.pause", lambda: None)
    monkeypatch.setattr("actors.cli.testing.ModelServer", make)
    options = "--port 0 --model a --model b --latency 2 --faults 0.08 --fault hang=0.5 --fault-at 3=cut"
    ended = prism("testing", "serve", *options.split())
    assert ended.code == 0, ended.err
    assert f"--set llm.host={made[0].url} --set llm.model=a" in ended.out
    settings = made[0].settings
    assert (settings.models, settings.latency.mean_s) == (("a", "b"), 2)
    even = dict.fromkeys(Fault, 0.01)
    assert settings.faults == FaultPlan(shares={**even, Fault.HANG: 0.5}, at={3: Fault.CUT})
