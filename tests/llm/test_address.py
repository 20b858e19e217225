"""The address of a server: what is sent with every request, and what is never shown."""

from __future__ import annotations

import pytest

from prism.config import RequestConfig
from prism.errors import OracleUnavailableError
from prism.llm import ChatRequest, LLMConfig, LLMFailureException, Message
from prism.llm.address import address_of
from tests.catalogue import catalogue
from tests.llm.support import BACKENDS, asking, canned, config_for, unavailable
from tests.standin import ModelServer

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


def test_a_header_of_the_users_own_replaces_that_of_the_key() -> None:
    config = LLMConfig(request=RequestConfig(headers={"authorization": "Basic $LOGIN"}))
    address = address_of(config, {"LOGIN": "abc", "PRISM_LLM_API_KEY": "sk-other"})
    assert address.headers == {"authorization": "Basic abc"}


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
async def test_headers_query_and_fields_go_with_every_question(backend: str) -> None:
    async with canned(400, {"error": f"no {SECRET}"}) as seen:
        request = RequestConfig(
            headers={"X-Token": "$MY_TOKEN"}, query={"api-version": "2024-10-21"}, path="/somewhere"
        )
        model = BACKENDS[backend](LLMConfig(host=seen[0].decode(), request=request), {"MY_TOKEN": SECRET})
        with pytest.raises(LLMFailureException, match=r"no \*\*\*") as caught:
            await model.complete(asking())
        await model.aclose()
    first = seen[1].decode().lower()
    assert first.startswith("post /somewhere?api-version=2024-10-21 http/1.1")
    assert f"x-token: {SECRET}" in first
    assert SECRET not in f"{caught.value!r} {caught.value} {model!r} {model.identity!r}"


@pytest.mark.parametrize("backend", BACKENDS)
async def test_fields_of_the_users_own_are_sent_and_part_of_the_identity(backend: str) -> None:
    extra = {"user": "me", "temperature": None, "options": {"top_k": 3}}
    async with ModelServer() as server:
        model = BACKENDS[backend](config_for(server, request=RequestConfig(extra_body=extra)), {})
        await model.complete(ChatRequest(messages=(Message(role="user", content="Hello?"),)))
        (call,) = server.calls
        assert call.body["user"] == "me"
        assert "temperature" not in call.body
        assert call.body["options"]["top_k"] == 3
        assert '"user": "me"' in model.identity.extra_body
        await model.aclose()
