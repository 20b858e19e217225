"""The metrics of a run: which are shown, that they are the run's own numbers and limits, and failures by reason."""

import re
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import anyio
import msgspec
import prometheus_client
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry
from structlog.typing import EventDict

from actors.core.snapshot import FALLBACK_REASONS
from actors.factory.domains import build_domain
from actors.metrics.exposition import Exposition, Lifecycle
from actors.metrics.instruments import CALL, TICK
from actors.metrics.observer import BEATS, PERIOD_S, LoopLag, Metrics
from actors.metrics.snapshot import Histogram
from actors.runs.summary import summarise
from actors.runtime.engine import EngineActor
from actors.runtime.shards import ShardedEngine
from actors.runtime.simulation import Simulation
from deploy.scrape import Scrape
from prism.config import Config, LLMConfig, SimulationConfig
from prism.domain import Domain, Measure
from prism.errors import OracleError
from prism.social.domain import SocialDomain
from prism.social.people.population import build_population
from prism.statechart import Oracle
from tests.actors.oracles import ScriptedOracle, failing
from tests.actors.shards_here import ShardsHere
from tests.actors.social_runs import SMALL, with_oracle, with_sharing, with_simulation
from tests.domains import Crossing, TrafficDomain, traffic_chart
from tests.paths import ROOT
from tests.schedules import in_schedules, run_scheduled

DOCUMENTED: dict[str, str] = dict(
    re.findall(
        r"^\| `(prism_(?!experiment_)\w+)(?:\{([\w,]+)\})?` \|",
        (ROOT / "docs" / "operations.md").read_text(encoding="utf-8"),
        flags=re.MULTILINE,
    )
)
"""`{metric: its labels}`, as the table of docs/operations.md has them."""
OF_CHANGES = {"prism_tie_changes_total": "kind", "prism_attribute_changes_total": ""}
"""The metrics of a run whose chart changes people."""
OF_SHARDS = {
    "prism_shard_busy_seconds_total": "shard",
    "prism_shard_bytes_total": "direction",
    "prism_shard_wait_seconds_total": "",
}
"""The metrics of a run in shards."""
OF_CAPS = {"prism_llm_budget": "cap", "prism_llm_budget_used": "cap"}
"""The metrics of a run with a spend cap."""
MEASURES = {
    measure.name: ",".join(measure.labels)
    for measure in build_domain(Config(simulation=SimulationConfig(domain="economy"))).domain.world.measures()
}
"""The measures of an economy."""
OTHERS = OF_CHANGES | OF_CAPS | OF_SHARDS | MEASURES
EXPECTED = {name: labels for name, labels in DOCUMENTED.items() if name not in OTHERS}
"""The metrics of a run of people with the embedded oracle."""


class Watched:
    """A simulation with metrics.

    Args:
        config: what is simulated.
        domain: of what; by default the social one.
        oracle: who answers; by default the embedded one.
        engine: makes the engine.
    """

    def __init__(
        self,
        config: Config = SMALL,
        domain: Domain | None = None,
        oracle: Oracle[Any] | None = None,
        engine: Callable[..., EngineActor] = EngineActor,
    ) -> None:
        self.metrics = Metrics(config, "small-001")
        if domain is None:
            domain = SocialDomain(config, build_population(config.population, config.simulation.seed))
        self.simulation = Simulation(config, domain, oracle, observer=self.metrics, engine=engine)
        self.exposition = Exposition(Lifecycle())
        self.exposition.add_run(self.metrics)

    def scrape(self) -> Scrape:
        """Return the numbers of a scrape."""
        return Scrape.parse(self.exposition.render().decode(), 0.0)


def finished(watched: Watched) -> Scrape:
    """Return the metrics of a simulation after its end."""
    run_scheduled(0, watched.simulation.run)
    return watched.scrape()


def families(scrape: Scrape) -> dict[str, set[str]]:
    """`{metric: its labels}`, a histogram's series being one metric."""
    found: dict[str, set[str]] = {}
    for name, labels in (key for key in scrape.samples if key[0].startswith("prism_")):
        base = re.sub(r"_(bucket|count|sum)$", "", name) if name.endswith(("_bucket", "_count", "_sum")) else name
        found.setdefault(base, set()).update(label for label, _ in labels if label != "le")
    return found


def test_a_run_shows_exactly_these_metrics_with_these_labels() -> None:
    expected = {name: {label for label in labels.split(",") if label} for name, labels in EXPECTED.items()}
    assert families(Watched().scrape()) == expected


def test_the_metrics_of_other_runs_are_documented_too() -> None:
    assert {name: labels for name, labels in DOCUMENTED.items() if name in OTHERS} == OTHERS


def test_a_run_in_shards_shows_how_much_each_works_and_what_is_exchanged() -> None:
    config = msgspec.structs.replace(SMALL, run=msgspec.structs.replace(SMALL.run, shards=2))
    domain = SocialDomain(config, build_population(config.population, config.simulation.seed))
    shards = ShardsHere(config, domain)
    watched = Watched(config, domain, engine=partial(ShardedEngine, shards=shards, domain=domain))
    begun = watched.scrape()
    assert families(begun).keys() == EXPECTED.keys() | OF_SHARDS.keys()
    assert begun.value("prism_shard_busy_seconds_total", shard="1") == 0.0
    shown = finished(watched)
    whole = finished(Watched(SMALL))
    for name in ("prism_ticks_total", "prism_posts_total", "prism_decisions_total", "prism_agents"):
        found = {key: value for key, value in shown.samples.items() if key[0] == name}
        assert found == {key: value for key, value in whole.samples.items() if key[0] == name}
    assert shown.value("prism_shard_bytes_total", direction="from_shards") > 1_000
    assert shown.value("prism_shard_bytes_total", direction="to_shards") > 1_000


def test_what_is_shared_is_counted_by_part_and_its_error_is_that_of_the_audits() -> None:
    watched = Watched(with_sharing(SMALL, by="archetype", archetype={"followed": "exact"}, audit=0.4))
    shown = finished(watched)
    sharing = summarise(watched.simulation, 0.0).sharing
    assert sharing is not None
    assert sharing.divergence is not None
    parts = {"owner": sharing.asked_for_all, "shared": sharing.shared, "audited": sharing.audited}
    for part, count in parts.items():
        assert shown.value("prism_oracle_shared_questions_total", part=part) == count
    assert shown.value("prism_oracle_sharing_divergence") == pytest.approx(sharing.divergence.mean, abs=1e-6)
    assert sharing.audited > 5


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


TIMEOUT_S, DEADLINE_S = 6.0, 17.0
"""Neither is a bound in every run."""
BOUNDED = msgspec.structs.replace(
    with_oracle(SMALL, deadline_s=DEADLINE_S, max_attempts=1), llm=LLMConfig(timeout_s=TIMEOUT_S)
)
CALLS = CALL.name


def bounds(scrape: Scrape, name: str) -> set[float]:
    """Return the upper bounds of a histogram's buckets."""
    return {float(dict(labels)["le"]) for key, labels in scrape.samples if key == f"{name}_bucket"}


def test_timeout_and_deadline_are_bounds_of_the_buckets_that_they_concern() -> None:
    shown = Watched(BOUNDED).scrape()
    assert bounds(shown, CALLS) >= {TIMEOUT_S, DEADLINE_S}
    assert DEADLINE_S in bounds(shown, TICK.name) & bounds(shown, "prism_oracle_queue_wait_seconds")
    assert shown.value("prism_llm_timeout_seconds") == TIMEOUT_S
    assert shown.value("prism_oracle_deadline_seconds") == DEADLINE_S


BOUNDS = (0.1, 0.5, 1.0)


@given(values=st.lists(st.floats(0, 2) | st.sampled_from(BOUNDS), max_size=50))
def test_it_counts_as_the_prometheus_client_does(values: list[float]) -> None:
    ours = Histogram(BOUNDS)
    registry = CollectorRegistry()
    theirs = prometheus_client.Histogram("seconds", "Theirs.", buckets=BOUNDS, registry=registry)
    for value in values:
        ours.observe(value)
        theirs.observe(value)
    counts, seen = ours.counts(), 0
    for bound, count in zip(("0.1", "0.5", "1.0", "+Inf"), counts.counts, strict=True):
        seen += count
        assert registry.get_sample_value("seconds_bucket", {"le": bound}) == seen
    assert registry.get_sample_value("seconds_sum") == counts.total


def test_promtool_has_nothing_to_complain_about() -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed: apt-get install prometheus")
    watched = Watched()
    finished(watched)
    page = watched.exposition.render()
    checked = subprocess.run([promtool, "check", "metrics"], input=page, capture_output=True, check=False)
    complaints = [line for line in checked.stderr.decode().splitlines() if line.startswith("prism_")]
    assert complaints == []


class LateClock:
    """The loop's own time, and what a blocked loop adds to it."""

    def __init__(self) -> None:
        self.blocked_s = 0.0

    def __call__(self) -> float:
        return anyio.current_time() + self.blocked_s


@in_schedules(1)
async def test_a_block_is_the_lag_of_the_beat_that_it_delayed() -> None:
    clock = LateClock()
    lag = LoopLag(clock)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lag.run)
        await anyio.sleep(1.1)
        clock.blocked_s += 3.0
        await anyio.sleep(PERIOD_S)
        late = lag.now()
        await anyio.sleep(2 * PERIOD_S)
        after = lag.now()
        await anyio.sleep(BEATS * PERIOD_S + 1.0)
        gone = lag.now()
        tasks.cancel_scope.cancel()
    assert 2.7 < late[0] <= 3.0
    assert after[0] == 0.0
    assert after[1] == late[0]
    assert gone[1] == 0.0
