"""Each scripted fault, as a client sees it."""

import json

import httpx
import msgspec
import ollama
import pytest

from actors.testing import WRONG_STATE, Fault, FaultPlan, ModelServer, ServerSettings
from actors.testing.faults import MEANINGS
from tests.actors.testing.support import (
    ASKED,
    BUSY,
    CHAT,
    SCHEMA,
    STATES,
    content,
    failing,
    ollama_client,
    serving,
    until,
)
from tests.catalogue import catalogue
from tests.patience import HANG_S


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
            await client.post("/api/chat", json=CHAT, timeout=httpx.Timeout(HANG_S, read=0.1))
        assert (await client.post("/api/chat", json=CHAT)).status_code == 200
        await until(lambda: server.calls[0].ended_s is not None)
        assert (server.calls[0].fault, server.calls[0].status, server.calls[0].abandoned) == (Fault.HANG, None, True)


@pytest.mark.parametrize("stream", [False, True])
async def test_a_cut_ends_before_the_body_does(stream: bool) -> None:
    async with serving(failing(Fault.CUT)) as (_, client):
        with pytest.raises(httpx.RemoteProtocolError, match="closed connection"):
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
    async with ModelServer(failing(Fault.NOT_DONE)) as server, ollama_client(server) as client:
        said = await client.chat("llama3.2", ASKED, format=SCHEMA)
    assert (said.done, said.done_reason) == (False, None)
    assert json.loads(said.message.content or "")["state"] in STATES


@catalogue("path", ["/api/chat", "/api/generate", "/v1/chat/completions"])
async def test_content_faults_come_inside_a_right_response(path: str) -> None:
    form = {"type": "json_schema", "json_schema": {"schema": SCHEMA}}
    body = {**CHAT, "prompt": "What next?", "response_format": form}
    plan = FaultPlan(at={1: Fault.NOT_JSON, 2: Fault.WRONG_STATE, 3: Fault.EMPTY})
    said: list[str] = []
    async with serving(ServerSettings(faults=plan)) as (_, client):
        for _ in range(3):
            answered = (await client.post(path, json=body)).json()
            message = answered["choices"][0]["message"] if "choices" in answered else answered.get("message", {})
            said.append(answered.get("response", message.get("content")))
    with pytest.raises(ValueError, match="Expecting value"):
        json.loads(said[0])
    assert json.loads(said[1]) == {"state": WRONG_STATE}
    assert said[2] == ""


async def test_a_busy_fault_is_a_burst_of_503() -> None:
    async with serving(failing(Fault.BUSY, burst=2)) as (_, client):
        answers = [await client.post("/api/chat", json=CHAT) for _ in range(3)]
    assert [response.status_code for response in answers] == [503, 503, 200]
    assert answers[0].json() == {"error": BUSY}


async def test_an_error_is_a_500_with_an_object() -> None:
    async with ModelServer(failing(Fault.ERROR)) as server, ollama_client(server) as client:
        with pytest.raises(ollama.ResponseError, match="llama runner process has terminated") as caught:
            await client.chat("llama3.2", ASKED)
    assert caught.value.status_code == 500


async def test_a_string_error_makes_the_ollama_client_raise_attribute_error() -> None:
    async with ModelServer(failing(Fault.STRING_ERROR)) as server, ollama_client(server) as client:
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
    settings = ServerSettings(faults=FaultPlan(shares={Fault.ERROR: 1.0}))
    async with serving(settings) as (server, client):
        assert (await client.get("/api/tags")).status_code == 200
        assert (await client.post("/api/show", json={"model": "llama3.2"})).status_code == 200
        assert (await client.post("/api/chat", json=CHAT)).status_code == 500
        server.settings = msgspec.structs.replace(settings, faults=FaultPlan())
        assert (await client.post("/api/chat", json=CHAT)).status_code == 200
