"""The check of a server at start: it finds what the server can do, or reports the problem in one line."""

from __future__ import annotations

import anyio
import pytest

from prism.llm import LLMConfig, OllamaChatClient
from tests.llm.support import (
    BACKENDS,
    canned,
    config_for,
    failing,
    serving,
    unavailable,
)
from tests.patience import HANG_S
from tests.standin import Fault, FaultPlan, ModelServer, ServerSettings


@pytest.mark.parametrize("backend", BACKENDS)
async def test_a_check_outlasts_a_few_faults(backend: str) -> None:
    faults = [Fault.ERROR, Fault.NOT_JSON, Fault.BUSY, Fault.RESET]
    async with serving(backend, failing(*faults)) as (_, model):
        assert (await model.check()).dialect in ("ollama", "json_schema")


async def test_another_server_than_ollama_is_called_so() -> None:
    async with canned(404, b"<html>nothing here</html>") as seen:
        host = seen[0].decode()
        assert await unavailable(OllamaChatClient(LLMConfig(host=host), {})) == (
            f"what answers at {host} is no Ollama server: <html>nothing here</html>"
        )
    async with canned(401, {"error": "who are you?"}) as seen:
        host = seen[0].decode()
        assert await unavailable(OllamaChatClient(LLMConfig(host=host), {})) == (
            f"{host} asks for a key; set it in $PRISM_LLM_API_KEY"
        )


@pytest.mark.parametrize("backend", BACKENDS)
async def test_a_schema_that_is_not_honoured_is_one_line(backend: str) -> None:
    async with ModelServer(ServerSettings(reply=lambda *_: "Yes, it is blue.")) as server:
        said = await unavailable(BACKENDS[backend](config_for(server), {}))
        assert len(server.calls) == 9, "three tries of each way"
    kind = "Ollama server" if backend == "ollama" else "server"
    assert said == (
        f"the {kind} at {server.url} does not answer in JSON: it answered 'Yes, it is blue.'; set "
        "llm.request.extra_body to what it takes (null leaves a field out), or another llm.model"
    )


@pytest.mark.parametrize("backend", BACKENDS)
async def test_a_server_that_always_fails_is_one_line(backend: str) -> None:
    async with ModelServer(ServerSettings(faults=FaultPlan(shares={Fault.BUSY: 1.0}))) as server:
        said = await unavailable(BACKENDS[backend](config_for(server), {}))
    assert said.endswith(
        "cannot run llama3.2: overloaded: server busy, please try again. maximum pending requests exceeded"
    )


@pytest.mark.parametrize("backend", BACKENDS)
async def test_a_server_that_hangs_holds_a_check_up_for_a_bounded_time(
    backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("prism.llm.model_client.WARM_UP", 0.5)
    async with ModelServer(ServerSettings(faults=FaultPlan(shares={Fault.HANG: 1.0}))) as server:
        with anyio.fail_after(HANG_S):
            said = await unavailable(BACKENDS[backend](config_for(server, timeout_s=0.2), {}))
    assert "timeout: no whole answer within 0.1 s" in said
