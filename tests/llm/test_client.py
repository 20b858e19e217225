"""Answers as Structs, and the one retry: attempts are counted where they arrive, at the server."""

from __future__ import annotations

import logging
from typing import Annotated, Any

import msgspec
import pytest
from msgspec import Meta

from prism.errors import OracleError
from prism.llm import LLMClient, LLMFailureException, schema_of
from prism.llm.client import backoff_s
from tests.catalogue import catalogue
from tests.llm.support import failing, no_sleep, serving, timeout_s
from tests.standin import Broken, Fault, ServerSettings


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be done."""

    action: str
    confidence: Annotated[float, Meta(ge=0.0, le=1.0)]


ANSWER = '{"action": "wait", "confidence": 0.5}'
F = Fault


@pytest.mark.parametrize(
    ("faults", "reason", "status"),
    [
        ([Broken.STRING_ERROR, F.ERROR], "server_error", 500),
        ([F.CUT, Broken.GARBAGE], "connection_error", None),
        ([F.NOT_JSON, F.EMPTY], "refused", None),
        ([F.ERROR, F.NOT_JSON], "invalid_response", None),
    ],
)
async def test_what_may_pass_is_tried_exactly_once_more(
    faults: list[Fault | Broken], reason: str, status: int | None
) -> None:
    async with serving("ollama", failing(*faults), timeout_s=timeout_s(*faults)) as (server, model):
        with pytest.raises(LLMFailureException) as caught:
            await LLMClient(model, component="engine", sleep=no_sleep).call_with_retry("What now?", Decision)
        assert server.statistics().calls == 2
    failure = caught.value
    assert (failure.reason, failure.attempts, failure.component) == (reason, 2, "engine")
    assert failure.status_code == status
    assert isinstance(failure, OracleError)


async def test_a_failure_is_one_prominent_line(caplog: pytest.LogCaptureFixture) -> None:
    async with serving("ollama", failing(F.BUSY, F.BUSY)) as (_, model):
        with pytest.raises(LLMFailureException):
            await LLMClient(model, component="validator", sleep=no_sleep).call_with_retry("What now?", Decision)
    said = "error=server busy, please try again. maximum pending requests exceeded"
    failure = "LLM_FAILURE component=validator reason=overloaded attempts=2 status_code=503 model=ollama llama3.2"
    assert [(record.levelno, record.getMessage()) for record in caplog.records if "prism" in record.name] == [
        (
            logging.WARNING,
            f"llm_retry component=validator reason=overloaded attempt=1 wait_s={backoff_s(0, 0):.1f} {said}",
        ),
        (logging.ERROR, f"{failure} {said}"),
    ]


async def test_a_client_whose_asker_asks_again_asks_once_and_only_warns(caplog: pytest.LogCaptureFixture) -> None:
    async with serving("ollama", failing(F.BUSY)) as (server, model):
        client = LLMClient(model, retries=False)
        with pytest.raises(LLMFailureException) as caught:
            await client.call_with_retry("What now?", Decision)
        assert (caught.value.reason, caught.value.attempts, server.statistics().calls) == ("overloaded", 1, 1)
        assert isinstance(await client.call_with_retry("What now?", Decision), Decision)
    (line,) = [record for record in caplog.records if "prism" in record.name]
    assert (line.levelno, line.getMessage().split()[0]) == (logging.WARNING, "LLM_FAILURE")


@catalogue("text", ['{"action": "wait"}', '{"action": "wait", "confidence": 2}', "[]", "{" * 5000])
async def test_an_answer_of_another_shape_is_invalid(text: str) -> None:
    async with serving("ollama", ServerSettings(reply=lambda *_: text), num_predict=10_000) as (_, model):
        with pytest.raises(LLMFailureException, match="invalid_response") as caught:
            await LLMClient(model, sleep=no_sleep, max_tokens=5000).call_with_retry("What now?", Decision)
    assert len(str(caught.value)) < 500


async def test_the_second_attempt_and_the_next_sample_ask_with_other_seeds() -> None:
    async with serving("ollama", failing(F.NOT_JSON)) as (server, model):
        client = LLMClient(model, seed=2**31 - 1, sleep=no_sleep)
        await client.call_with_retry("What now?", Decision)
        await client.call_with_retry("What now?", Decision, sample=1)
        bodies: list[Any] = [call.body for call in server.calls]
    assert [body["options"]["seed"] for body in bodies] == [2**31 - 1, 0, 1]


def test_the_wait_is_between_1_and_5_seconds_and_spread() -> None:
    waits = [backoff_s(seed, sample) for seed in range(20) for sample in range(20)]
    assert 1 <= min(waits) < 1.2
    assert 4.8 < max(waits) < 5


class Part(msgspec.Struct):
    size: int


class Whole(msgspec.Struct):
    parts: list[Part]
    best: Part | None = None


class Endless(msgspec.Struct):
    next: Endless | None = None


def test_a_schema_has_no_references() -> None:
    part = {
        "title": "Part",
        "type": "object",
        "properties": {"size": {"type": "integer"}},
        "required": ["size"],
        "additionalProperties": False,
    }
    assert schema_of(Whole) == {
        "title": "Whole",
        "type": "object",
        "properties": {
            "parts": {"type": "array", "items": part},
            "best": {"anyOf": [part, {"type": "null"}], "default": None},
        },
        "required": ["parts"],
        "additionalProperties": False,
    }


def test_no_model_contains_itself() -> None:
    with pytest.raises(TypeError, match="must not contain itself, as Endless does"):
        schema_of(Endless)
