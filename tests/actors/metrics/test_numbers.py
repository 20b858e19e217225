"""What is shown of a run are the run's own numbers, before, during and after it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from actors.runs.summary import summarise
from tests.actors.metrics.support import Watched, finished
from tests.actors.oracles import ScriptedOracle
from tests.actors.social_runs import SMALL, with_oracle
from tests.schedules import run_scheduled

LIMITED = with_oracle(max_calls=1_000_000)
"""The small run with a limit, so that questions go to the oracle's mailbox."""


def test_what_is_shown_is_what_the_summary_says() -> None:
    watched = Watched(LIMITED)
    shown, summary = finished(watched), summarise(watched.simulation, 1.0)
    states = {state: int(count) for state, count in shown.by("prism_agents", "state").items()}
    assert states == summary.agents_by_state
    assert shown.by("prism_decisions_total", "source") == summary.decisions_by_source
    assert shown.value("prism_agent_transitions_total") == summary.transitions
    assert shown.value("prism_ticks_total") == shown.value("prism_tick_duration_seconds_count") == summary.ticks
    assert shown.value("prism_ticks_planned") == SMALL.simulation.length
    assert shown.value("prism_round") == summary.rounds
    assert shown.value("prism_llm_request_duration_seconds_count", outcome="ok") == summary.oracle_calls > 0
    assert shown.value("prism_oracle_queue_wait_seconds_count") == summary.oracle_calls
    posts = shown.by("prism_posts_total", "kind")
    assert (posts["original"], posts["reply"], posts["reshare"]) == tuple(
        summary.world[name] for name in ("posts", "replies", "reshares")
    )
    assert shown.value("prism_likes_total") == summary.world["likes"]
    assert all(shown.value("prism_mailbox_depth_max", mailbox=name) for name in ("engine", "decisions", "oracle"))
    assert shown.value("prism_event_loop_tasks") > SMALL.population.size


def test_every_message_of_a_run_is_counted_once() -> None:
    watched = Watched(LIMITED)
    shown = finished(watched)

    def sent(kind: str) -> float:
        return shown.value("prism_messages_total", kind=kind, outcome="delivered")

    assert sent("question") > 0
    assert sent("trigger") == sent("update") + watched.simulation.counters.questions
    assert sent("decided") == sent("question")
    assert (
        watched.simulation.supervisor.engine.statistics().accepted
        == sent("update") + watched.simulation.counters.questions
    )


def test_the_journal_and_its_checkpoints_are_counted() -> None:
    watched = Watched()
    watched.metrics.resumed(size=1_000, ticks=10)
    watched.metrics.committed(0.002, size=100)
    watched.metrics.committed(0.004, size=300, ticks=2)
    before = time.time()
    watched.metrics.checkpointed()
    shown = finished(watched)
    assert shown.value("prism_journal_bytes_total") == 1_400
    assert shown.value("prism_journal_ticks_total") == 13
    assert shown.value("prism_commit_duration_seconds_count") == 2
    assert before <= shown.value("prism_checkpoint_timestamp_seconds") <= time.time()


def test_nothing_of_a_tick_under_way_is_shown_as_committed() -> None:
    now_s = 100.0
    looks: list[tuple[int, bool]] = []

    async def looking(_: object, options: Sequence[Any]) -> Any:
        nonlocal now_s
        now_s += 0.2  # a tick takes less than the time between two snapshots, so its end is not always kept
        watched.metrics._on_beat()
        snapshot = watched.metrics.snapshot
        assert snapshot is not None
        assert snapshot.committed is not None
        looks.append((snapshot.run.tick - snapshot.committed.run.tick, snapshot.committed.run.is_in_tick))
        return options[0]

    watched = Watched(oracle=ScriptedOracle(looking))
    watched.metrics._clock = lambda: now_s
    watched.metrics._measured_at = 0.0
    run_scheduled(0, watched.simulation.run)
    assert len({behind for behind, _ in looks}) > 1
    assert not any(is_in_tick for _, is_in_tick in looks)
