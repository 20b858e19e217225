"""The check of a server at start: it finds what the server can do, or reports the problem in one line."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from prism.llm import LLMConfig, OllamaChatClient
from tests.llm.support import BACKENDS, canned, config_for, failing, serving, unavailable
from tests.patience import HANG_S
from tests.standin import Fault, FaultPlan, ModelServer, ServerSettings

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
