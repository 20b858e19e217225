"""Calls that nobody waits for any longer: each has an outcome, so the outcomes add up to the calls."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.standin import Fault, FaultPlan, ModelServer, ServerSettings
from tests.wire.support import FALLS_BACK, config, disconnected, run


@pytest.mark.slow
@pytest.mark.parametrize("ask", ["auto", "off"])
async def test_a_call_that_is_cut_at_its_deadline_is_counted_as_cancelled(ask: str, tmp_path: Path) -> None:
    with ModelServer() as server:
        hanging = ServerSettings(faults=FaultPlan(shares={Fault.HANG: 0.05, Fault.ERROR: 0.05}))
        patience = {"deadline_s": 2.0, "max_concurrency": 64, **FALLS_BACK}
        chosen = config(server.url, oracle=patience, llm={"systemone": ask})
        summary = await run(chosen, tmp_path, ready=lambda _: setattr(server, "settings", hanging))
        assert await disconnected(server)
        hung = sum(call.fault is Fault.HANG for call in server.calls)
    assert summary.llm is not None
    assert summary.fallbacks_by_reason["deadline"] >= summary.llm.calls["cancelled"] >= hung > 0
    assert summary.llm.latency_s["cancelled"] > 1.6 * hung
    assert sum(summary.llm.calls.values()) == summary.oracle_calls
