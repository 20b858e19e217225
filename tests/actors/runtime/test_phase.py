"""The phase of a run: what follows from what it waits for, and what is told when it changes."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from structlog.typing import EventDict

from actors.core.phase import Phase
from actors.runtime.phase import DISK_S, EVERY_S, ORACLE_S, STALL_S, PhaseWatch, Standing, standing_of
from tests.catalogue import catalogue
from tests.schedules import run_scheduled

NOW = 100.0
QUIET: dict[str, Any] = {
    "is_recovering": False,
    "is_stopping": False,
    "outage": None,
    "asks_since": None,
    "writes_since": None,
}


@catalogue(
    ("changes", "expected"),
    [
        ({}, Standing(Phase.RUNNING)),
        ({"is_recovering": True}, Standing(Phase.RECOVERING)),
        ({"is_stopping": True}, Standing(Phase.STOPPING)),
        ({"is_recovering": True, "is_stopping": True}, Standing(Phase.STOPPING)),
        ({"outage": "timeout"}, Standing(Phase.WAITING_FOR_ORACLE, "timeout")),
        ({"outage": "timeout", "is_stopping": True}, Standing(Phase.STOPPING, "timeout")),
        ({"asks_since": NOW - ORACLE_S + 0.1}, Standing(Phase.RUNNING)),
        ({"asks_since": NOW - ORACLE_S}, Standing(Phase.WAITING_FOR_ORACLE, "an answer takes long")),
        ({"writes_since": NOW - DISK_S + 0.1}, Standing(Phase.RUNNING)),
        ({"writes_since": NOW - DISK_S}, Standing(Phase.WAITING_FOR_DISK, "a write takes long")),
        ({"writes_since": NOW - DISK_S, "outage": "timeout"}, Standing(Phase.WAITING_FOR_DISK, "a write takes long")),
        ({"writes_since": NOW - DISK_S, "is_stopping": True}, Standing(Phase.STOPPING, "a write takes long")),
    ],
)
def test_the_phase_follows_from_what_the_run_waits_for(changes: dict[str, Any], expected: Standing) -> None:
    assert standing_of(NOW, **{**QUIET, **changes}) == expected


@catalogue("tick_s", [0.0, 60.0])
def test_a_stall_is_told_when_it_begins_and_when_it_ends(tick_s: float, logged: list[EventDict]) -> None:
    """The pause that the configuration asks for is none."""
    tick, stall_s = 0, STALL_S + tick_s

    async def run() -> None:
        nonlocal tick
        watch = PhaseWatch(anyio.current_time, tick_s)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch.run, lambda: Standing(Phase.RUNNING), lambda: tick)
            for pause_s in (stall_s - 1.0, stall_s + 5.0, 1.0):  # the second tick comes too late
                await anyio.sleep(pause_s)
                tick += 1
            await anyio.sleep(1.0)
            tasks.cancel_scope.cancel()

    run_scheduled(1, run)
    began, ended = (event for event in logged if event["event"].startswith("stall_"))
    assert (began["event"], began["phase"]) == ("stall_began", "running")
    assert stall_s <= began["since_s"] <= stall_s + EVERY_S
    assert ended["event"] == "stall_ended"
    assert ended["lasted_s"] == pytest.approx(stall_s + 5.0, abs=2 * EVERY_S)
