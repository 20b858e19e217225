"""The metrics of a run: which are shown, that they are the run's own numbers and limits, and failures by reason."""

import base64
import re
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from functools import partial
from itertools import cycle
from pathlib import Path
from threading import Thread
from typing import Any

import anyio
import msgspec
import prometheus_client
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from prometheus_client import CollectorRegistry
from structlog.typing import EventDict

from actors.core.errors import AddressError
from actors.core.events import PhaseChanged, RunEnded
from actors.core.phase import Phase
from actors.core.snapshot import FALLBACK_REASONS
from actors.factory.domains import build_domain
from actors.metrics.endpoint import OF_PROMETHEUS, Endpoint, Exposition, Lifecycle, Scrapes
from actors.metrics.instruments import CALL, TICK, Histogram
from actors.metrics.observer import BEATS, PERIOD_S, LoopLag, Metrics
from actors.runs.summary import summarise
from actors.runtime.engine import EngineActor
from actors.runtime.shards import ShardedEngine
from actors.runtime.simulation import Simulation
from deploy.prometheus_process import Scrape
from prism.config import Config, LLMConfig, MetricsConfig, SimulationConfig
from prism.domain import Domain, Measure
from prism.errors import ConfigError, OracleError
from prism.social.domain import SocialDomain
from prism.social.people.population import build_population
from prism.statechart import Oracle
from tests.actors.http.support import ask
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


Serve = Callable[..., Endpoint]


def endpoint(environment: Mapping[str, str] | None = None, **settings: object) -> Endpoint:
    """Return an endpoint with these settings of `metrics`, on any free port unless one is given."""
    metrics = MetricsConfig(**{"enabled": True, "port": 0, **settings})  # type: ignore[arg-type]
    return Endpoint(replace(SMALL, metrics=metrics), environment or {})


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Return a function that starts an endpoint, which ends with the test."""
    with ExitStack() as servers:
        yield lambda *given, **settings: servers.enter_context(closing(endpoint(*given, **settings)))


def test_probes_say_whether_the_run_is_alive_and_ready(serve: Serve) -> None:
    server = serve()

    def asked() -> tuple[int, int]:
        return ask(server, "/healthz").status, ask(server, "/readyz").status

    assert asked() == (200, 503)
    server.hear(PhaseChanged(phase=Phase.RUNNING, before=Phase.STARTING, after_s=0.0))
    metrics = server.observe("run")
    metrics.is_under_way = True
    metrics.lag.beat()
    assert asked() == (200, 200)
    metrics.lag._clock = lambda: time.monotonic() + 3600.0  # the event loop has been blocked for an hour
    assert asked() == (503, 200)
    metrics.is_under_way = False
    assert asked() == (200, 200)
    answer = ask(server, "/admin")
    assert (answer.status, answer.body) == (404, "there are only /metrics, /healthz, /readyz\n")


def test_a_scrape_shows_one_phase_also_if_it_changes_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    lifecycle, phases = Lifecycle(), cycle(Phase)
    monkeypatch.setattr(Lifecycle, "phase", property(lambda _: next(phases), lambda *_: None), raising=False)
    shown = Scrape.parse(Exposition(lifecycle).render().decode(), 0.0).by("prism_run_phase", "phase")
    assert sum(shown.values()) == 1


def test_only_who_knows_the_password_reads_the_metrics(serve: Serve) -> None:
    server = serve({"PRISM_METRICS_PASSWORD": "pä:ss"}, username="ann")
    right = base64.b64encode("ann:pä:ss".encode()).decode()
    assert "prism_run_phase" in ask(server, "/metrics", Authorization=f"Basic {right}").body
    assert ask(server, "/metrics", Authorization=f"basic {right}").status == 200
    wrong = base64.b64encode(b"ann:pass").decode()
    for header in (f"Basic {wrong}", f"Bearer {right}", "Basic", "Basic ===", "Basic \xff", ""):
        answer = ask(server, "/metrics", Authorization=header)
        assert (answer.status, answer.headers["www-authenticate"]) == (401, 'Basic realm="prism"')
        assert "prism_" not in answer.body
    assert ask(server, "/metrics").status == 401
    assert ask(server, "/metrics?", method="HEAD").status == 401
    with pytest.raises(ConfigError, match=r"metrics.username: expected the password of 'ann' in \$PRISM_METRICS_PASS"):
        endpoint(username="ann")


def test_an_address_of_another_machine_says_so_in_one_line() -> None:
    for host in ("203.0.113.7", "a" * 300):
        with pytest.raises(AddressError, match=r"cannot listen on .* set metrics.host to an address of this machine"):
            endpoint(host=host)


@pytest.mark.parametrize(("host", "begins"), [("0.0.0.0", "http://127.0.0.1:"), ("::1", "http://[::1]:")])
def test_the_address_is_one_that_can_be_reached_from_here(host: str, begins: str, serve: Serve) -> None:
    if host == "::1" and not socket.has_ipv6:
        pytest.skip("this machine has no IPv6")
    assert serve(host=host).url.startswith(begins)


def test_with_a_certificate_it_speaks_tls_and_one_that_cannot_be_used_is_a_mistake(
    certificate: tuple[Path, Path], serve: Serve, tmp_path: Path
) -> None:
    cert, key = map(str, certificate)
    server = serve(tls_cert=cert, tls_key=key)
    assert server.url.startswith("https://127.0.0.1:")
    assert ask(server, "/healthz", tls=ssl.create_default_context(cafile=cert)).body == "starting\n"
    old = ssl.create_default_context(cafile=cert)
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        old.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises(OSError, match=r"."):
        ask(server, tls=old)
    locked = str(tmp_path / "locked.pem")
    command = ["openssl", "ec", "-in", key, "-aes256", "-passout", "pass:secret", "-out", locked]
    subprocess.run(command, check=True, capture_output=True)
    for chosen, problem in (
        ((cert, None), r"metrics.tls_key: expected the key of the certificate, got null"),
        ((None, key), r"metrics.tls_cert: expected the certificate of this key, got null"),
        ((cert, "/none.pem"), r"metrics.tls_cert: .* cannot be used for TLS: No such file or directory"),
        ((key, key), r"metrics.tls_cert: .* cannot be used for TLS: "),
        ((cert, locked), r"metrics.tls_cert: .* cannot be used for TLS: "),
    ):
        with pytest.raises(ConfigError, match=problem):
            endpoint(tls_cert=chosen[0], tls_key=chosen[1])


def scraped_at(*times: float, ended: float) -> Scrapes:
    now_s = [0.0]
    scrapes = Scrapes(lambda: now_s[-1])
    for time_s in times:
        now_s.append(time_s)
        scrapes.add()
    now_s.append(ended)
    return scrapes


def test_nobody_waits_for_a_scraper_that_is_gone_or_was_never_there() -> None:
    scraped_at(ended=0.0).wait_for(60.0)
    scraped_at(0.0, 15.0, ended=75.1).wait_for(60.0)


def test_the_wait_ends_with_the_second_scrape_after_the_end() -> None:
    scrapes = scraped_at(0.0, 1000.0, ended=1000.0)
    waiting = Thread(target=scrapes.wait_for, args=(3600.0,), daemon=True)
    waiting.start()
    scrapes.add()
    scrapes.add()
    waiting.join(30.0)
    assert not waiting.is_alive()


def test_a_reader_that_does_not_scrape_as_prometheus_does_is_not_waited_for(serve: Serve) -> None:
    server = serve(linger_s=3600.0)
    assert ask(server, "/metrics").status == 200
    server.hear(RunEnded(reason="SIGTERM", ticks=1))
    server.close()  # at once
    assert ask(other := serve(), "/metrics", "GET", None, **{OF_PROMETHEUS: "10"}).status == 200
    assert other._scrapes._latest > float("-inf")
