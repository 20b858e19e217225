"""The phase of a run: what follows from what it waits for, and what is told when it changes."""

from __future__ import annotations

from typing import Any

import anyio
from structlog.typing import EventDict

from actors.core.phase import Phase
from actors.runtime.phase import DISK_S, ORACLE_S, PhaseWatch, Standing, standing_of
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


def test_a_change_of_phase_is_told_once_with_the_time_of_the_phase_before(logged: list[EventDict]) -> None:
    now = Standing(Phase.RUNNING)

    async def run() -> None:
        nonlocal now
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(PhaseWatch().run, lambda: now)
            await anyio.sleep(5.1)
            now = Standing(Phase.WAITING_FOR_ORACLE, "timeout")
            await anyio.sleep(1.0)
            tasks.cancel_scope.cancel()

    run_scheduled(1, run)
    assert [(event["phase"], event["after_s"]) for event in logged] == [("running", 0.0), ("waiting_for_oracle", 5.25)]
    assert logged[1]["reason"] == "timeout"
