"""What is shown of a run: which metrics, and that they are the run's own numbers."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from threading import Event, Thread
from typing import Any

import msgspec
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from structlog.typing import EventDict

from actors.cli.scraped import Scrape
from actors.domains import build_domain
from actors.mailbox import Mailbox
from actors.reading import FALLBACK_REASONS, pairs
from actors.summary import summarise
from actors.tally import Tally
from prism.agents import Source
from prism.config import Config, GraphConfig, PopulationConfig, SimulationConfig
from prism.errors import OracleError
from prism.llm import OracleStatistics
from prism.llm.tally import Tally as ModelTally
from prism.measure import Measure
from prism.social.chart import SOCIAL_CHART
from tests.actors.metrics_support import Watched, series
from tests.actors.oracles import ScriptedOracle, failing
from tests.actors.runs import SMALL, run, with_run, with_simulation
from tests.domains import Crossing, TrafficDomain, traffic_chart
from tests.schedules import run_scheduled

EXPECTED = {
    "prism_build_info": "version,python",
    "prism_run_info": "run_id,scenario,backend,seed",
    "prism_run_active": "",
    "prism_population": "",
    "prism_agents": "state",
    "prism_agent_transitions_total": "from_state,to_state",
    "prism_ticks_total": "",
    "prism_ticks_planned": "",
    "prism_tick_duration_seconds": "",
    "prism_round": "",
    "prism_messages_total": "kind,outcome",
    "prism_mailbox_messages": "mailbox",
    "prism_mailbox_depth_max": "mailbox",
    "prism_mailbox_wait_seconds": "mailbox",
    "prism_actor_restarts_total": "kind,reason",
    "prism_agents_quarantined": "",
    "prism_llm_request_duration_seconds": "model,outcome",
    "prism_llm_tokens_total": "model,type",
    "prism_llm_requests_in_flight": "",
    "prism_llm_concurrency_limit": "",
    "prism_oracle_queue_depth": "",
    "prism_oracle_queue_wait_seconds": "",
    "prism_decisions_total": "source",
    "prism_fallbacks_total": "reason",
    "prism_oracle_breaker_state": "state",
    "prism_guard_errors_total": "",
    "prism_commit_duration_seconds": "",
    "prism_journal_bytes_total": "",
    "prism_journal_ticks_total": "",
    "prism_checkpoint_timestamp_seconds": "",
    "prism_event_loop_lag_seconds": "",
    "prism_event_loop_lag_seconds_max": "",
    "prism_event_loop_tasks": "",
    "prism_posts_total": "kind",
    "prism_likes_total": "",
}
DOCUMENT = Path(__file__).parents[2] / "docs" / "metrics.md"


def finished(watched: Watched, schedule: int = 0) -> Scrape:
    """What is shown once the simulation has run."""
    run_scheduled(schedule, watched.simulation.run)
    return watched.scrape()


def families(scrape: Scrape) -> dict[str, set[str]]:
    """`{metric: its labels}`, a histogram's series being one metric."""
    found: dict[str, set[str]] = {}
    for name, labels in series(scrape):
        base = re.sub(r"_(bucket|count|sum)$", "", name) if name.endswith(("_bucket", "_count", "_sum")) else name
        found.setdefault(base, set()).update(label for label, _ in labels if label != "le")
    return found


def test_a_run_shows_exactly_these_metrics_with_these_labels() -> None:
    expected = {name: {label for label in labels.split(",") if label} for name, labels in EXPECTED.items()}
    assert families(Watched().scrape()) == expected


def test_process_interpreter_and_collector_are_shown_too() -> None:
    text = Watched().text()
    for name in (
        "process_resident_memory_bytes",
        "process_virtual_memory_bytes",
        "process_cpu_seconds_total",
        "process_start_time_seconds",
        "process_open_fds",
        "process_max_fds",
        "python_info",
        "python_gc_objects_collected_total",
    ):
        assert f"\n{name}" in text


def test_every_series_is_there_from_the_start() -> None:
    watched = Watched()
    before = series(watched.scrape())
    assert series(finished(watched)) == before


def test_the_number_of_series_does_not_depend_on_the_number_of_agents() -> None:
    few, many = (
        Watched(
            msgspec.structs.replace(SMALL, population=PopulationConfig(size=size, graph=GraphConfig(degree=4)))
        ).scrape()
        for size in (10, 10_000)
    )
    assert series(few) == series(many)
    assert len(many.samples) < 600


def test_what_is_shown_is_what_the_summary_says() -> None:
    watched = Watched()
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


def test_every_message_of_a_run_is_counted_once() -> None:
    watched = Watched()
    shown = finished(watched)

    def sent(kind: str) -> float:
        return shown.value("prism_messages_total", kind=kind, outcome="delivered")

    assert sent("question") > 0
    assert sent("trigger") == sent("update") + watched.simulation.tally.questions
    assert sent("decided") == sent("question")
    assert watched.simulation.engine.inbox.statistics().accepted == sent("update") + watched.simulation.tally.questions


def test_a_run_is_the_same_watched_or_not() -> None:
    watched = Watched()
    finished(watched, schedule=3)
    unwatched = run_scheduled(4, partial(run, SMALL))
    assert watched.simulation.engine.digest.hexdigest() == unwatched.engine.digest.hexdigest()


def test_only_the_mailboxes_of_all_are_timed() -> None:
    watched = Watched()
    shown = finished(watched)
    assert {type(mailbox) for mailbox in watched.simulation.mailboxes} == {Mailbox}
    for name in ("engine", "decisions", "oracle"):
        assert shown.value("prism_mailbox_wait_seconds_count", mailbox=name) > 0
        assert shown.value("prism_mailbox_depth_max", mailbox=name) > 0
    assert shown.value("prism_mailbox_depth_max", mailbox="agents") == 1


def test_full_mailboxes_show_as_refusals() -> None:
    shown = finished(Watched(with_run(mailbox_capacity=2)))
    assert shown.value("prism_messages_total", kind="update", outcome="refused") > 0
    assert shown.value("prism_mailbox_depth_max", mailbox="engine") <= 2


def test_a_run_is_active_between_its_start_and_its_end() -> None:
    watched = Watched()
    seen: list[bool] = []

    def look(tick: int) -> None:
        snapshot = watched.metrics.snapshot
        seen.append(snapshot is not None and snapshot.active)

    assert watched.scrape().value("prism_run_active") == 0
    run_scheduled(0, partial(watched.simulation.run, look))
    assert all(seen)
    assert len(seen) == watched.simulation.ticks
    assert watched.scrape().value("prism_run_active") == 0


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


def test_a_crash_of_the_oracle_is_shown(logged: list[EventDict]) -> None:
    class Stumbling(ScriptedOracle):
        stumbles = 2

        def key(self, agent: Any, trigger: str, options: Sequence[str], context: Any = None) -> None:
            if self.stumbles:
                self.stumbles -= 1
                raise ValueError("over a question")

    shown = finished(Watched(oracle=Stumbling()))
    assert shown.value("prism_actor_restarts_total", kind="oracle", reason="crash") == 2
    assert shown.value("prism_ticks_total") == 36


def test_a_guard_that_raises_is_counted() -> None:
    def stumble(*_: Any) -> bool:
        raise ValueError("no idea")

    watched = Watched(with_simulation(rounds=1), TrafficDomain(2, traffic_chart(guard=stumble)))
    assert finished(watched).value("prism_guard_errors_total") == sum(
        seen.count for seen in watched.simulation.domain.chart.guard_errors
    )


def test_a_world_that_cannot_be_measured_does_not_end_its_run(logged: list[EventDict]) -> None:
    class Unmeasurable(Crossing):
        def measures(self) -> Sequence[Measure]:
            raise ValueError("no ruler")

    domain = TrafficDomain(3)
    domain.world = Unmeasurable(3)
    shown = finished(Watched(with_simulation(rounds=1), domain))
    assert shown.value("prism_ticks_total") == 12
    assert {event["event"] for event in logged} == {"measures_failed"}


def test_an_oracle_that_cannot_count_its_tokens_does_not_end_its_run(logged: list[EventDict]) -> None:
    class Uncounted(ScriptedOracle):
        is_counted = True

        def statistics(self) -> OracleStatistics:
            if self.is_counted:
                return ModelTally().statistics()
            raise ValueError("who knows")

    oracle = Uncounted()
    watched = Watched(oracle=oracle)
    oracle.is_counted = False
    finished(watched)
    assert watched.simulation.engine.tick == 36
    assert {event["event"] for event in logged} == {"snapshot_failed"}


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


def test_the_pairs_of_states_are_those_of_the_chart() -> None:
    assert len(pairs(SOCIAL_CHART)) == len(set(pairs(SOCIAL_CHART)))
    assert set(pairs(SOCIAL_CHART)) == {
        (row.source.value, row.target.value) for row in SOCIAL_CHART.transitions if row.target is not None
    }


def test_the_states_of_a_million_agents_are_counted_in_less_than_5_ms() -> None:
    tally = Tally(SOCIAL_CHART, 1_000_000)
    tally.rows = Counter(
        {
            (before, after, f"trigger {number}", source): 1
            for before, after in pairs(SOCIAL_CHART)
            for number in range(3)
            for source in Source
        }
    )
    durations = []
    for _ in range(5):
        begun = time.perf_counter()
        counts = tally.agents_by_state()
        durations.append(time.perf_counter() - begun)
    assert sum(counts.values()) == 1_000_000
    assert min(durations) < 0.005


def test_scrapes_during_a_run_see_no_half_of_a_tick() -> None:
    watched = Watched(with_simulation(rounds=10))
    over = Event()
    pages: list[str] = []

    def look() -> None:
        while not over.is_set():
            pages.append(watched.text())

    scrapers = [Thread(target=look) for _ in range(2)]
    for scraper in scrapers:
        scraper.start()
    try:
        run_scheduled(0, watched.simulation.run)
    finally:
        over.set()
        for scraper in scrapers:
            scraper.join()
    scrapes = [Scrape.parse(page, 0.0) for page in pages]
    assert {scrape.value("prism_agents") for scrape in scrapes} == {32.0}
    for scrape in scrapes:
        count = scrape.value("prism_tick_duration_seconds_count")
        assert scrape.value("prism_tick_duration_seconds_bucket", le="+Inf") == count


def test_openmetrics_is_whole_and_has_the_tick_of_a_call_as_its_exemplar() -> None:
    watched = Watched()
    finished(watched)
    kind, page = watched.exposition.render("application/openmetrics-text; version=1.0.0, text/plain;q=0.5")
    assert kind.startswith("application/openmetrics-text")
    found = {family.name: family for family in parse_openmetrics(page.decode())}  # type: ignore[no-untyped-call]
    exemplars = [
        sample.exemplar for sample in found["prism_llm_request_duration_seconds"].samples if sample.exemplar is not None
    ]
    assert exemplars
    assert all(0 <= int(exemplar.labels["tick"]) < watched.simulation.ticks for exemplar in exemplars)


@pytest.mark.parametrize(
    "accept", ["", "*/*", "text/html", "application/json;q=nonsense,,;;", "application/openmetrics-textual", "\x00é"]
)
def test_whoever_asks_for_anything_else_gets_the_text_format(accept: str) -> None:
    kind, page = Watched().exposition.render(accept)
    assert kind == "text/plain; version=0.0.4; charset=utf-8"
    assert b"_created" not in page
    assert b"# EOF" not in page


def test_promtool_has_nothing_to_complain_about() -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed: apt-get install prometheus")
    watched = Watched()
    finished(watched)
    checked = subprocess.run(
        [promtool, "check", "metrics"], input=watched.text(), capture_output=True, text=True, check=False
    )
    complaints = [line for line in checked.stderr.splitlines() if line.startswith("prism_")]
    assert complaints == []


def test_every_metric_is_documented_and_every_documented_metric_exists() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    documented = dict(re.findall(r"^\| `(prism_\w+)(?:\{([\w,]+)\})?` \|", text, flags=re.MULTILINE))
    economy = build_domain(Config(simulation=SimulationConfig(domain="economy"))).domain
    measured = {measure.name: ",".join(measure.labels) for measure in economy.world.measures()}
    assert documented == EXPECTED | measured


def test_an_economy_is_shown_with_its_own_states_and_measures() -> None:
    config = Config(simulation=SimulationConfig(domain="economy", ticks_per_round=1, rounds=3))
    watched = Watched(config, build_domain(config).domain)
    before = series(watched.scrape())
    shown = finished(watched)
    assert series(shown) == before
    assert shown.value("prism_agents") == shown.value("prism_population") == len(config.economy.nations)
    assert shown.value("prism_economy_interest_rate") != 0.0
    assert len(shown.samples) < 600


def test_a_world_is_measured_at_the_end_of_long_ticks_too() -> None:
    watched, now_s = Watched(), 100.0
    watched.metrics._clock = lambda: now_s
    likes: list[tuple[float, int]] = []

    def look(_: int) -> None:
        nonlocal now_s
        snapshot = watched.metrics.snapshot
        assert snapshot is not None
        shown = sum(measure.value for measure in snapshot.measures if measure.name == "prism_likes_total")
        likes.append((shown, watched.simulation.domain.world.totals()["likes"]))
        now_s += 0.9
        watched.metrics._beaten()  # the heartbeat publishes in the middle of a tick that takes a second
        now_s += 0.1

    run_scheduled(0, partial(watched.simulation.run, look))
    assert likes[-1][1] > 0
    assert all(shown == there for shown, there in likes[1:])
