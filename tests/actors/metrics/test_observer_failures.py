"""Failures in a run are shown by their reason, and what cannot be shown does not end the run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from structlog.typing import EventDict

from actors.core.snapshot import FALLBACK_REASONS
from prism.domain import Measure
from prism.errors import OracleError
from tests.actors.metrics.support import Watched, finished
from tests.actors.oracles import ScriptedOracle, failing
from tests.actors.social_runs import SMALL, with_simulation
from tests.domains import Crossing, TrafficDomain, traffic_chart


def test_a_failed_call_is_shown_by_its_reason_and_a_strange_one_as_an_error(logged: list[EventDict]) -> None:
    class StrangeError(OracleError):
        reason = "the moon"

    shown = finished(Watched(oracle=ScriptedOracle(failing(StrangeError()))))
    calls = shown.by("prism_llm_request_duration_seconds_count", "outcome")
    assert {outcome for outcome, count in calls.items() if count} == {"error"}
    fallbacks = shown.by("prism_fallbacks_total", "reason")
    assert list(fallbacks) == list(FALLBACK_REASONS)
    assert {reason for reason, count in fallbacks.items() if count} == {"error"}
    assert shown.value("prism_decisions_total", source="fallback") == fallbacks["error"]


def test_crashes_are_shown_by_what_followed(logged: list[EventDict]) -> None:
    def fall_over(*_: Any) -> None:
        raise ValueError("out of order")

    domain = TrafficDomain(2, traffic_chart(action=fall_over))
    shown = finished(Watched(with_simulation(rounds=1), domain))
    crashes = shown.by("prism_actor_restarts_total", "reason")
    assert crashes["quarantine"] == shown.value("prism_agents_quarantined") == 2
    assert crashes["crash"] == 2 * SMALL.run.restart_intensity


def test_a_world_that_cannot_be_measured_does_not_end_its_run(logged: list[EventDict]) -> None:
    class Unmeasurable(Crossing):
        def measures(self) -> Sequence[Measure]:
            raise ValueError("no ruler")

    domain = TrafficDomain(3)
    domain.world = Unmeasurable(3)
    shown = finished(Watched(with_simulation(rounds=1), domain))
    assert shown.value("prism_ticks_total") == 12
    assert {event["event"] for event in logged} == {"measures_failed"}


def test_an_oracle_that_cannot_tell_its_counts_does_not_end_its_run(logged: list[EventDict]) -> None:
    class Lost(ScriptedOracle):
        is_lost = False

        def answers_by_model(self) -> dict[str, int]:
            if self.is_lost:
                raise ValueError("who knows")
            return {}

    oracle = Lost()
    watched = Watched(oracle=oracle)
    oracle.is_lost = True
    finished(watched)
    assert watched.simulation.engine.tick == 36
    assert {event["event"] for event in logged} == {"snapshot_failed"}
