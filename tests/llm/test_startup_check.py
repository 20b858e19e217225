"""The check of a server at start: it finds what the server can do, or reports the problem in one line."""

from __future__ import annotations

import json

import anyio
import pytest

from prism.llm import LLMConfig, OllamaChatClient, OpenAICompatClient
from tests.catalogue import catalogue
from tests.llm.support import (
    BACKENDS,
    OPTIONS,
    asking,
    canned,
    config_for,
    failing,
    serving,
    unavailable,
)
from tests.patience import HANG_S
from tests.standin import Dialect, Fault, FaultPlan, ModelServer, ServerSettings


@catalogue(
    ("dialect", "spoken"),
    [
        (Dialect.JSON_SCHEMA, "json_schema"),
        (Dialect.JSON_OBJECT, "json_object"),
        (Dialect.NONE, "none"),
        (Dialect.IGNORED, "none"),
    ],
)
async def test_the_dialect_is_found_by_asking(dialect: Dialect, spoken: str) -> None:
    async with serving("openai", ServerSettings(dialect=dialect)) as (_, model):
        assert (await model.check()).dialect == spoken
        assert model.identity.dialect == spoken
        said = (await model.complete(asking())).text
    assert json.loads(said[said.index("{") : said.rindex("}") + 1])["next_state"] in OPTIONS


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


async def test_a_schema_that_is_not_honoured_is_one_line() -> None:
    settings = ServerSettings(reply=lambda *_: "Yes, it is blue.")
    async with ModelServer(settings) as server:
        config = config_for(server)
        assert await unavailable(OllamaChatClient(config, {})) == (
            f"the Ollama server at {server.url} does not keep llama3.2 to a JSON schema: it answered "
            "'Yes, it is blue.'; tried too: thinking ignored, schema json_object, schema prompt; "
            "set llm.request.extra_body to what it takes, or another llm.model"
        )
        assert await unavailable(OpenAICompatClient(config, {})) == (
            f"the server at {server.url} does not answer in JSON: it answered 'Yes, it is blue.'; tried too: "
            "schema json_object, schema structured_outputs, schema guided_json, schema prompt; set "
            "llm.request.extra_body to what it takes, or another llm.model"
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
    monkeypatch.setattr(f"prism.llm.{BACKENDS[backend].__module__.rpartition('.')[2]}.WARM_UP", 0.5)
    async with ModelServer(ServerSettings(faults=FaultPlan(shares={Fault.HANG: 1.0}))) as server:
        with anyio.fail_after(HANG_S):
            said = await unavailable(BACKENDS[backend](config_for(server, timeout_s=0.2), {}))
    assert "timeout: no whole answer within 0.1 s" in said
