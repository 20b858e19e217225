"""Every way a server can fail, at a tenth of the calls of a whole run: counted, and over without a trace.

What the server's log says went wrong, and the reason that the fallback is counted under:

| reason           | what the server did                                                                            |
|------------------|------------------------------------------------------------------------------------------------|
| timeout          | hang, drip: the last byte did not come within `llm.timeout_s`                                  |
| connection_error | cut, reset, garbage: the connection broke, or what came over it was no HTTP                    |
| overloaded       | busy (503): the server asks for a pause                                                        |
| server_error     | error (500), string_error (500 with a string for a body)                                       |
| invalid_response | not_done, not_json, wrong_state: a whole answer that names no option                           |
| refused          | empty: a whole answer without a word                                                           |
"""

from __future__ import annotations

import asyncio
import gc
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import pytest

from actors.runs.summary import Summary
from actors.runtime.simulation import Simulation
from tests.llm.support import CHOICE_REASONS, DECISION_REASONS, GIVES_UP_S, timeout_s
from tests.patience import HANG_S
from tests.standin import Exchange, Fault, FaultPlan, ModelServer, ServerSettings
from tests.wire.support import FALLS_BACK, config, disconnected, open_files, run


class Ended(NamedTuple):
    """A run and what it left: how many calls were made of it, and of what else there is more than before."""

    summary: Summary
    calls: list[Exchange]
    left: dict[str, int]


async def run_against(plan: FaultPlan, **sections: dict[str, Any]) -> Ended:
    """A whole run against a server that fails as planned from the run's first question on."""
    with ModelServer() as server:
        gc.collect()  # what earlier tests have left may hold files
        before = open_files(), asyncio.all_tasks()
        made = 0

        def spoil(_: Simulation) -> None:
            nonlocal made
            made = len(server.calls)
            server.settings = ServerSettings(faults=plan)

        with anyio.fail_after(HANG_S):
            summary = await run(config(server.url, **sections), Path(), ready=spoil)
        assert await disconnected(server)
        left = {"files": open_files() - before[0], "tasks": len(asyncio.all_tasks() - before[1])}
        return Ended(summary, server.calls[made:], left)


def what_went_wrong(calls: Iterable[Exchange], reasons_of: Mapping[Fault, str]) -> dict[str, int]:
    """The fallbacks that the server's log calls for, by reason."""
    reasons = Counter(reasons_of[call.fault] for call in calls if call.fault is not None)
    return dict(sorted(reasons.items()))


def expect_whole(ended: Ended, reasons_of: Mapping[Fault, str] = DECISION_REASONS) -> None:
    """It is done, each fallback is counted once under its reason, each question was one request, nothing is left."""
    summary = ended.summary
    assert summary.status == "done_with_fallbacks"
    assert summary.fallbacks_by_reason == what_went_wrong(ended.calls, reasons_of) != {}
    assert summary.decisions_by_source["fallback"] == sum(summary.fallbacks_by_reason.values())
    assert summary.decisions_by_source["llm"] + summary.decisions_by_source["fallback"] == summary.oracle_questions
    assert len(ended.calls) == summary.oracle_calls == summary.oracle_questions, "no call is tried again"
    assert ended.left == {"files": 0, "tasks": 0}


@pytest.mark.slow
@pytest.mark.parametrize("fault", Fault)
async def test_a_fault_in_a_tenth_of_the_calls_is_counted_and_leaves_nothing(fault: Fault) -> None:
    ended = await run_against(
        FaultPlan(shares={fault: 0.1}, drip_s=0.1),
        oracle=FALLS_BACK,
        llm={"systemone": "off", "timeout_s": timeout_s(fault)},
    )
    expect_whole(ended)
    assert {call.fault for call in ended.calls} == {None, fault}


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["ollama", "openai"])
async def test_all_faults_at_once_are_counted_and_leave_nothing(backend: str) -> None:
    shares = dict.fromkeys(Fault, 0.015)
    ended = await run_against(
        FaultPlan(shares=shares, drip_s=0.1), oracle={"backend": backend, **FALLS_BACK}, llm={"timeout_s": GIVES_UP_S}
    )
    expect_whole(ended, CHOICE_REASONS if backend == "ollama" else DECISION_REASONS)
    assert len({call.fault for call in ended.calls}) > 6
