"""Where an adapter sends its requests, and that the key goes there and nowhere else."""

from __future__ import annotations

import pytest

from actors.testing import ModelServer
from prism.errors import OracleUnavailableError
from prism.llm import LLMConfig, LLMFailureException, OpenAICompatClient
from tests.llm.support import ADDRESS_IN_USE_BY_NOBODY, BACKENDS, KEY, asking, canned, serving, unavailable

pytestmark = pytest.mark.network


@pytest.mark.parametrize(
    ("host", "problem"),
    [
        ("http://ada:secret@127.0.0.1:1", "llm.host must not carry a user or password"),
        ("ftp://127.0.0.1", "llm.host is not an address"),
        ("http://127.0.0.1:99999", "llm.host is not an address"),
        ("http://[::1", "llm.host is not an address"),
        ("http://", "llm.host is not an address"),
    ],
)
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_host_that_is_no_address_is_refused(backend: str, host: str, problem: str) -> None:
    with pytest.raises(OracleUnavailableError, match=problem) as caught:
        BACKENDS[backend](LLMConfig(host=host), {})
    assert "ada:secret" not in str(caught.value)


@pytest.mark.parametrize("key", ["sk-\nx", "sk-é", "sk-\x00"])
@pytest.mark.parametrize("backend", BACKENDS)
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


async def test_no_proxy_is_taken_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", ADDRESS_IN_USE_BY_NOBODY)
    monkeypatch.setenv("ALL_PROXY", ADDRESS_IN_USE_BY_NOBODY)
    for backend in BACKENDS:
        async with serving(backend) as (_, model):
            assert (await model.complete(asking())).text


@pytest.mark.parametrize("host", ["{url}/", "{url}/v1", "{url}/v1/"])
async def test_an_openai_address_may_end_in_v1(host: str) -> None:
    async with ModelServer() as server:
        model = OpenAICompatClient(LLMConfig(host=host.format(url=server.url)), {})
        await model.check()
        await model.aclose()
