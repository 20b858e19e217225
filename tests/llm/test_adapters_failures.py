"""Whatever a server does wrong, a call fails with a reason, in time, and leaves no connection."""

from __future__ import annotations

from typing import Any

import pytest

from actors.testing import Fault
from prism.llm import LLMConfig, LLMFailureException
from tests.llm.support import (
    BACKENDS,
    CHOICE,
    DECISION_REASONS,
    REASONS,
    asking,
    canned,
    failing,
    serving,
    timeout_s,
    until,
)
from tests.patience import HANG_S

pytestmark = pytest.mark.network

STATUSES = {Fault.BUSY: 503, Fault.ERROR: 500, Fault.STRING_ERROR: 500}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("fault", REASONS)
async def test_a_fault_of_the_server_has_a_reason_and_leaves_no_connection(fault: Fault, backend: str) -> None:
    async with serving(backend, failing(fault), timeout_s=timeout_s(fault)) as (server, model):
        with pytest.raises(LLMFailureException) as caught:
            await model.complete(asking())
        assert (caught.value.reason, caught.value.attempts) == (REASONS[fault], 1)
        assert (caught.value.component, caught.value.status_code) == (backend, STATUSES.get(fault))
        assert 0 < caught.value.latency_s < HANG_S
        assert (await model.complete(asking())).text
        await until(lambda: server.statistics().in_flight == 0)
        assert server.statistics().open_connections <= 1


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("fault", [Fault.NOT_JSON, Fault.WRONG_STATE])
async def test_an_answer_outside_the_schema_is_for_whoever_asked_to_judge(fault: Fault, backend: str) -> None:
    async with serving(backend, failing(fault)) as (_, model):
        assert (await model.complete(asking())).text


@pytest.mark.parametrize("fault", DECISION_REASONS)
async def test_a_faulty_choice_has_a_reason_too(fault: Fault) -> None:
    async with serving("ollama", failing(fault), timeout_s=timeout_s(fault)) as (_, model):
        with pytest.raises(LLMFailureException) as caught:
            await model.choose(CHOICE)
        assert caught.value.reason == DECISION_REASONS[fault]
        assert await model.choose(CHOICE) is not None


@pytest.mark.parametrize("backend", BACKENDS)
async def test_a_request_may_have_a_shorter_deadline(backend: str) -> None:
    async with serving(backend, failing(Fault.HANG), timeout_s=HANG_S) as (_, model):
        with pytest.raises(LLMFailureException, match=r"timeout .*: no whole answer within 0\.05 s"):
            await model.complete(asking(deadline_s=0.05))


@pytest.mark.parametrize("backend", BACKENDS)
async def test_a_cut_answer_is_an_error_that_says_what_to_raise(backend: str) -> None:
    async with serving(backend, num_predict=2) as (_, model):
        with pytest.raises(LLMFailureException, match=r"the answer was cut at 2 tokens; raise llm.num_predict$"):
            await model.complete(asking())


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("status", "body", "reason"),
    [
        (429, {"error": "slow down"}, "overloaded"),
        (403, {"error": "no"}, "client_error"),
        (302, b"", "client_error"),
        (502, b"<html>bad gateway</html>", "server_error"),
        (200, [], "invalid_response"),
        (200, "text", "invalid_response"),
        (200, {}, "invalid_response"),
        (200, {"choices": [], "message": {}, "done": True}, "invalid_response"),
        (200, b"\xff\xfe", "invalid_response"),
        (200, b"[" * 100_000, "invalid_response"),
    ],
)
async def test_any_status_and_any_body_has_a_reason(backend: str, status: int, body: Any, reason: str) -> None:
    async with canned(status, body) as seen:
        model = BACKENDS[backend](LLMConfig(host=seen[0].decode(), timeout_s=HANG_S), {})
        with pytest.raises(LLMFailureException) as caught:
            await model.complete(asking())
        await model.aclose()
    assert caught.value.reason == reason
    assert caught.value.status_code == (None if status == 200 else status)
    assert len(str(caught.value)) < 500
    assert "\n" not in str(caught.value)
