"""The phase and the counters of a run."""

from typing import Any

import anyio
from structlog.typing import EventDict

from actors.core.phase import Phase
from actors.runtime.counters import Counters
from actors.runtime.simulation import DISK_S, ORACLE_S, PhaseWatch, Standing, standing_of
from prism.agents import Source, Update
from prism.agents.waves import Updates
from tests.catalogue import catalogue
from tests.domains import traffic_chart
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


def update(before: str, after: str, source: Source = Source.RULE, trigger: str = "clock") -> Update[int]:
    return Update(0, 0, trigger, before, after, source)


def test_updates_are_counted_by_state_source_and_trigger() -> None:
    counters, wave = (
        Counters(traffic_chart(), 5),
        Updates.of(
            (
                update("red", "green", trigger="wave"),
                update("red", "green"),
                update("green", "amber"),
                update("amber", "red", Source.TIMEOUT),
                update("red", "red", Source.NO_ROW, trigger="horn"),
                update("red", "red", Source.CRASH),
                update("red", "red", Source.QUARANTINE),
            )
        ),
    )
    counters.add(wave.kinds, wave.counts)
    assert counters.agents_by_state() == {"red": 4, "green": 1, "amber": 0}
    assert counters.transitions == 4
    assert counters.unmoved_by_source() == {"no_row": 1, "crash": 1, "quarantine": 1}
    assert counters.decisions_by_source() == {"rule": 3, "oracle": 0, "llm": 0, "fallback": 0, "timeout": 1}
    assert list(counters.transitions_by_trigger().items()) == [("clock", 3), ("wave", 1)]
    assert counters.states_visited() == ["red", "green", "amber"]
