"""Servers that refuse questions, keys and models, over a real socket: the run's end, its summary, and a resume."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
import yaml

from prism.llm.failure import meaning_of
from tests.catalogue import catalogue
from tests.command import Prism
from tests.standin import ApiError, Exchange, ModelServer, ServerSettings
from tests.wire.support import settings, summary

FILTERED = ApiError(400, "The response was filtered by the content management policy")
TOO_LONG = ApiError(400, "This model's maximum context length is 8192 tokens, and you asked for 9000")
FEW: dict[str, Any] = {
    "population": {"size": 70, "ambiguity": 0.2, "activity": {"mean": 0.9, "sigma": 0.1}},
    "llm": {"systemone": "off"},
}

Messages = Sequence[Mapping[str, object]]


def configure(host: str, backend: str = "ollama", people: int = 70, **oracle: Any) -> None:
    population = {**FEW["population"], "size": people}
    sections = {**FEW, "population": population, "oracle": {"backend": backend, "max_concurrency": 1, **oracle}}
    Path("wire.yaml").write_text(yaml.safe_dump(settings(host, **sections)))


def prompt_of(messages: Messages) -> str:
    return json.dumps(list(messages), sort_keys=True)


class Refusing:
    """A model that refuses the first questions, each as often as it is asked, and answers all others.

    Args:
        error: the refusal.
        most: the number of questions that it refuses.
    """

    def __init__(self, error: ApiError, most: int) -> None:
        self.refused = set[str]()
        self._error = error
        self._most = most

    def __call__(self, messages: Messages, _: Mapping[str, object], schema: object) -> str:
        prompt = prompt_of(messages)
        options = _options_of(schema)
        if set(options) == {"yes", "no"}:  # the check at the start
            return json.dumps({"answer": "yes"})
        if prompt in self.refused or len(self.refused) < self._most:
            self.refused.add(prompt)
            raise self._error
        return json.dumps({_key_of(schema): options[crc32(prompt.encode()) % len(options)]})


def _schema_of(schema: object) -> dict[str, Any]:
    """Return the JSON schema that a request asks for, in either API."""
    found: Any = schema
    for name in ("json_schema", "schema"):
        found = found.get(name, found) if isinstance(found, dict) else found
    return found if isinstance(found, dict) else {}


def _key_of(schema: object) -> str:
    name: str = next(iter(_schema_of(schema)["properties"]))
    return name


def _options_of(schema: object) -> list[str]:
    found: list[str] = next(iter(_schema_of(schema)["properties"].values()))["enum"]
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("backend", "error"), [("openai", FILTERED), ("ollama", TOO_LONG)])
def test_refused_questions_are_fallbacks_and_the_run_goes_on(backend: str, error: ApiError, prism: Prism) -> None:
    model = Refusing(error, most=12)
    with ModelServer(ServerSettings(reply=model)) as server:
        configure(server.url, backend, max_fallback_share=0.5)
        ended = prism("run", "wire.yaml", "--out", "run")
        assert ended.code == 0, ended.err
        assert summary()["fallbacks_by_reason"] == {"refused": 12}
        assert summary()["retries_by_reason"]["refused"] >= 24, "two more calls of each, and some that did not count"
        assert len(model.refused) == 12
        # A part of the run, and the rest of it by a resume, are the same run: the refused questions stay fallbacks.
        assert prism("run", "wire.yaml", "--quiet", "--out", "half", "--ticks", "30").code == 0
        assert prism("resume", "half", "--quiet", "--ticks", "72").code == 0
        assert summary("half")["digest"] == summary()["digest"]
        assert prism("replay", "run", "--quiet").code == 0
        server.settings = ServerSettings(reply=Refusing(error, most=0))
        assert prism("run", "wire.yaml", "--quiet", "--out", "willing").code == 0
        (at,) = re.findall(r"prism fork run --at (\d+)", ended.err)
        mended = prism("fork", "run", "--at", at, "--quiet", "--out", "mended")
        assert mended.code == 0, mended.err
    assert summary("mended")["fallbacks_by_reason"] == {}
    assert summary("mended")["digest"] == summary("willing")["digest"]


@pytest.mark.slow
def test_a_server_that_refuses_every_question_ends_the_run_by_the_share_of_fallbacks(prism: Prism) -> None:
    with ModelServer(ServerSettings(reply=Refusing(FILTERED, most=10_000))) as server:
        configure(server.url, people=600, max_attempts=1)
        ended = prism("run", "wire.yaml", "--quiet", "--out", "run")
    assert ended.code == 4
    assert summary()["stopped_by"] == "fallback_share"
    assert summary()["fallbacks_by_reason"].keys() == {"refused"}


LOST = {
    "the key is revoked": (401, "Incorrect API key provided", "the key is refused: set another one in the environment"),
    "the quota is used up": (429, "insufficient_quota: check your plan", "the account has nothing left: add credit"),
    "the model is removed": (404, "model 'llama3.2' not found", "the model or its path is no longer there"),
}


@pytest.mark.everyday(1)
@pytest.mark.parametrize(("status", "words", "advice"), LOST.values(), ids=LOST.keys())
def test_what_no_wait_mends_ends_the_run_at_once_and_a_resume_goes_on(
    status: int, words: str, advice: str, prism: Prism
) -> None:
    willing = ServerSettings(reply=Refusing(FILTERED, most=0))

    def lose(exchange: Exchange) -> None:
        if exchange.call == 20:
            server.settings = ServerSettings(reply=Refusing(ApiError(status, words), most=10_000))

    with ModelServer(willing, on_exchange=lose) as server:
        configure(server.url, "openai")
        ended = prism("run", "wire.yaml", "--quiet", "--out", "run")
        (line,) = [each for each in ended.err.splitlines() if each.startswith("prism: ")]
        assert ended.code == 5
        assert line.startswith("prism: the server refuses every question, first that of agent ")
        assert words in line
        assert advice in line
        assert not Path("run", "summary.json").exists()
        server.settings = willing
        resumed = prism("resume", "run", "--quiet")
        assert resumed.code == 0, resumed.err
        undisturbed = prism("run", "wire.yaml", "--quiet", "--out", "undisturbed")
    assert resumed.out == undisturbed.out
    assert summary()["fallbacks_by_reason"] == {}


def test_a_server_that_loads_its_model_at_the_start_and_again_is_waited_for(
    prism: Prism, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("actors.factory.oracle_backends.LOADING_EVERY_S", 0.01)
    ready, loading = ServerSettings(reply=Refusing(FILTERED, most=0)), ServerSettings(reply=_loading)
    changes = {12: ready, 30: loading, 32: ready}

    def load(exchange: Exchange) -> None:
        server.settings = changes.get(exchange.call or 0, server.settings)

    with ModelServer(loading, on_exchange=load) as server:
        configure(server.url, "openai")
        ended = prism("run", "wire.yaml", "--quiet", "--out", "run")
        assert server.statistics().calls > max(changes)
        undisturbed = prism("run", "wire.yaml", "--quiet", "--out", "undisturbed")
        server.settings = loading
        stopped = prism("run", "wire.yaml", "--set", "oracle.on_outage=stop", "--quiet", "--out", "stopped")
    assert (ended.code, ended.out) == (0, undisturbed.out), ended.err
    assert summary()["fallbacks_by_reason"] == {}
    assert "loading" in Path("run/log.jsonl").read_text()
    assert (stopped.code, "loading: Loading model" in stopped.err) == (5, True)
    assert not Path("stopped").exists()


def _loading(*_: object) -> str:
    raise ApiError(503, "Loading model")


GONE, EMPTY, KEY = "the model or its path", "the account has nothing left", "the key is refused"
MEANINGS = [
    (400, "the prompt is too long", "refused", ""),
    (422, "content policy violation", "refused", ""),
    (403, '{"error": {"message": "flagged", "metadata": {"flagged_input": "My rent is overdue"}}}', "refused", ""),
    (451, "", "refused", ""),
    (400, "API key not valid. Please pass a valid API key.", "client_error", KEY),
    (400, '{"error": {"message": "Bad request", "code": "invalid_api_key"}}', "client_error", KEY),
    (400, "The model `gemma` does not exist", "client_error", GONE),
    (400, "The model has been decommissioned", "client_error", GONE),
    (400, '{"error": {"message": "Bad request", "code": "model_not_found"}}', "client_error", GONE),
    (401, "", "client_error", KEY),
    (402, "Insufficient Balance", "client_error", EMPTY),
    (403, "Your credit balance is too low", "client_error", EMPTY),
    (403, "not allowed", "client_error", "the key may not be used for this"),
    (408, "", "timeout", ""),
    (409, "", "overloaded", ""),
    (429, "You exceeded your current quota, please retry in 31 s", "overloaded", ""),
    (429, '{"error": {"message": "No more", "code": "insufficient_quota"}}', "client_error", EMPTY),
    (500, "model failed to load", "server_error", ""),
    (503, "Loading model", "loading", ""),
    (503, "server busy, please try again", "overloaded", ""),
    (529, "", "server_error", ""),
]


@catalogue(("status", "body", "reason", "advice"), MEANINGS)
def test_a_status_and_its_words_tell_a_question_from_a_server(status: int, body: str, reason: str, advice: str) -> None:
    found, told = meaning_of(status, body)
    assert (found, told.startswith(advice), bool(told)) == (reason, True, bool(advice))
