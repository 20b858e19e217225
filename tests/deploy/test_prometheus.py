"""A real Prometheus scrapes real runs: no panel is empty, no rule looks at nothing, and alerts fire over real trouble.

The rules are the shipped ones with every duration a sixtieth of what it was (`deploy.prometheus_process.quickened`), so
that what takes ten minutes out there takes ten seconds here.
"""

import math
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx
import msgspec
import pytest

from actors.core.ports import Address
from actors.runs.directory import ADDRESS
from deploy.prometheus_process import Prometheus, prometheus
from tests.command import without_settings
from tests.deploy.test_dashboards import Expression, every_expression
from tests.deploy.tools import alerts, needs, recordings
from tests.paths import ROOT
from tests.patience import wait_until
from tests.standin import Fault, FaultPlan, Latency, ModelServer, ServerSettings

Settings = Mapping[str, object]
SOCIAL: Settings = {
    "simulation.rounds": 100000,
    "population.size": 100,
    "run.tick_s": 0.05,
    "run.checkpoint_every_ticks": 100,
}
WATCHED: Settings = {**SOCIAL, "population.size": 200, "run.tick_s": 0.1, "run.checkpoint_every_ticks": 20}
ECONOMY: Settings = {"simulation.rounds": 20000, "run.tick_s": 0.25}
VARIABLES = {"instance": ".*", "__rate_interval": "3s", "__range": "60s"}
PRICES = {"llm.prices.input": 1.0, "llm.prices.output": 4.0}
PATIENCE_S = 45.0
HANGS = ServerSettings(faults=FaultPlan(shares={Fault.HANG: 1.0}))

pytestmark = [needs("prometheus"), pytest.mark.slow]


class WatchedRun(NamedTuple):
    """A running `prism run`: its directory, its process, and host:port of its metrics."""

    path: Path
    process: subprocess.Popen[bytes]
    target: str

    def is_under_way(self) -> bool:
        """Return whether it has committed a tick."""
        return httpx.get(f"http://{self.target}/readyz", trust_env=False).status_code == httpx.codes.OK


@contextmanager
def watched_run(path: Path, config: str, settings: Settings, **environment: str) -> Iterator[WatchedRun]:
    """Provide a run of a shipped configuration, once it can be scraped; it is killed at the end of the block."""
    errors, chosen = path.with_suffix(".err"), {"metrics.enabled": "true", "metrics.port": 0, **settings}
    options = [part for key, value in chosen.items() for part in ("--set", f"{key}={value}")]
    command = [sys.executable, "-m", "actors.cli", "run", f"configs/{config}", "--quiet", "--out", str(path), *options]
    known = without_settings() | environment
    with errors.open("ab") as output:
        process = subprocess.Popen(command, cwd=ROOT, env=known, stdout=subprocess.DEVNULL, stderr=output)
    try:
        address = path / ADDRESS
        wait_until(address.exists, process, f"the metrics of {path.name}")
        url = msgspec.json.decode(address.read_bytes(), type=Address).url
        yield WatchedRun(path, process, url.removeprefix("http://"))
    finally:
        process.kill()
        process.wait()


class Watched(NamedTuple):
    """A Prometheus, and what it watches."""

    server: Prometheus
    social: WatchedRun
    economy: WatchedRun

    def expect(self, expr: str) -> None:
        """Wait until the expression comes to a number: a quantile of nothing is NaN, which draws nothing."""

        def is_finite() -> bool:
            return any(math.isfinite(sample.value) for sample in self.server.query(expr))

        wait_until(is_finite, None, expr, PATIENCE_S)


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    """Two runs: people who ask a model, with a spend cap, and an economy."""
    directory = tmp_path_factory.mktemp("watched")
    with ExitStack() as stack:
        model = stack.enter_context(ModelServer(ServerSettings(latency=Latency(mean_s=0.02))))
        asks = {**WATCHED, "oracle.backend": "ollama", "llm.host": model.url, "oracle.max_calls": 10**8, **PRICES}
        social = stack.enter_context(watched_run(directory / "social", "friends.yaml", asks))
        economy = stack.enter_context(watched_run(directory / "economy", "economy.yaml", ECONOMY))
        server = stack.enter_context(prometheus(directory, [social.target, economy.target], quick=True))
        wait_until(server.is_ready, None, "Prometheus")
        yield Watched(server, social, economy)


WITHOUT_SHARDS = [each for each in every_expression() if "prism_shard" not in each.expr]
"""The panels that any run fills. Those of shards need a cluster: tests/durability/test_shards.py."""


@pytest.mark.parametrize("expression", WITHOUT_SHARDS, ids=lambda each: f"{each.dashboard}: {each.panel}")
def test_no_panel_is_empty(watched: Watched, expression: Expression) -> None:
    # An economy has no posts, a feed has no interest rate. Of trouble there is none in a healthy run, so its marks are
    # looked for without the threshold of 0.
    run = "economy" if expression.dashboard == "prism-economy" else "social"
    expr = expression.filled({**VARIABLES, "run": run}).removesuffix(" > 0")
    assert "$" not in expr
    watched.expect(expr)


def test_variables_above_the_dashboards_offer_every_run(watched: Watched) -> None:
    def offered() -> bool:
        found = {each.labels["run_id"] for each in watched.server.query("prism_run_info")}
        return found >= {"social", "economy"}

    wait_until(offered, None, "run_id of every run")


@pytest.mark.parametrize("name", [rule["record"] for rule in recordings()])
def test_every_rule_records_something(watched: Watched, name: str) -> None:
    watched.expect(f'{name}{{instance="{watched.social.target}"}}')


SELECTOR = re.compile(r"\b(?:instance:prism|prism|process)_[a-z0-9_:]+(?:\{[^}]*\})?")
"""A series that an alert looks at, with its labels."""


@pytest.mark.parametrize(
    "selector", sorted({found for rule in alerts("alerts.yml") for found in SELECTOR.findall(rule["expr"])})
)
def test_no_alert_looks_at_a_series_that_is_not_there(watched: Watched, selector: str) -> None:
    watched.expect(selector)


class Watch(NamedTuple):
    """A Prometheus, and the directory of the runs that it watches."""

    server: Prometheus
    directory: Path
    targets: list[str]

    def fired(self, alert: str, run: WatchedRun) -> str | None:
        """Return the description of the alert, if it fires for this run."""
        for each in self.server._get("alerts")["alerts"]:
            labels = each["labels"]
            if (each["state"], labels["alertname"], labels.get("instance")) == ("firing", alert, run.target):
                return str(each["annotations"]["description"])
        return None

    def expect(self, alert: str, run: WatchedRun) -> str:
        """Return the description of the alert, once it fires for this run."""
        wait_until(lambda: self.fired(alert, run), None, f"{alert} of {run.path.name}")
        return self.fired(alert, run) or ""

    @contextmanager
    def run(self, name: str, settings: Settings = SOCIAL, **environment: str) -> Iterator[WatchedRun]:
        """Provide a run that is under way, and is scraped until the end of the block."""
        with watched_run(self.directory / name, "friends.yaml", {**SOCIAL, **settings}, **environment) as run:
            self.targets.append(run.target)
            self.server.scrape(self.targets)
            seen = f'prism_run_phase{{instance="{run.target}"}}'
            wait_until(lambda: self.server.query(seen), None, f"a scrape of {name}")
            wait_until(run.is_under_way, None, f"the first tick of {name}")
            try:
                yield run
            finally:
                self.targets.remove(run.target)
                self.server.scrape(self.targets)


@pytest.fixture(scope="module")
def watch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watch]:
    """A Prometheus without a target yet."""
    directory = tmp_path_factory.mktemp("alerts")
    with prometheus(directory, [], quick=True) as server:
        wait_until(server.is_ready, None, "Prometheus")
        yield Watch(server, directory, [])


@pytest.fixture
def model() -> Iterator[ModelServer]:
    """A model's server that answers at once."""
    with ModelServer(ServerSettings(latency=Latency(mean_s=0.01))) as server:
        yield server


def asks(server: ModelServer) -> dict[str, object]:
    """Return the settings of a run that asks this server."""
    return {"oracle.backend": "ollama", "llm.host": server.url}


def test_a_run_that_is_not_there_any_more_is_gone(watch: Watch) -> None:
    with watch.run("frozen") as run:
        assert not watch.fired("PrismRunGone", run)
        run.process.send_signal(signal.SIGSTOP)
        watch.expect("PrismRunGone", run)


def test_a_run_waits_for_a_server_that_does_not_answer_and_for_one_that_is_away(
    watch: Watch, model: ModelServer
) -> None:
    away = ModelServer()
    with ExitStack() as stack:
        stack.enter_context(away)
        slow = asks(model) | {"llm.timeout_s": 600, "oracle.deadline_s": 600}
        waits = stack.enter_context(watch.run("waits", slow))
        left = stack.enter_context(watch.run("left", asks(away)))
        model.settings = HANGS
        away.__exit__(None, None, None)
        told = watch.expect("PrismWaitingForOracle", waits)
        assert told.endswith("The server is there, and an answer takes long.")
        told = watch.expect("PrismWaitingForOracle", left)
        assert told.endswith("The server is away: connection_error.")
        assert not watch.fired("PrismRunStalled", waits)
        assert not watch.fired("PrismBreakerOpen", left)


def test_a_run_whose_server_stays_away_has_ended_early(watch: Watch) -> None:
    away = ModelServer()
    with away, watch.run("outage", asks(away) | {"oracle.outage_patience_s": 3}) as run:
        away.__exit__(None, None, None)
        watch.expect("PrismRunEndedEarly", run)
        assert run.process.wait(60) != 0
        (ended, *_) = watch.server.query(f'ALERTS{{alertname="PrismRunEndedEarly", instance="{run.target}"}}')
        assert ended.labels["reason"] == "outage"
        assert not watch.fired("PrismRunGone", run)


@needs("cc")
def test_a_run_waits_for_a_disk_that_hangs_and_does_not_stop_while_it_does(watch: Watch, tmp_path: Path) -> None:
    hangs, library = tmp_path / "hangs", str(tmp_path / "slow_disk.so")
    source = Path(__file__).parent / "slow_disk.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source], check=True)
    with watch.run("hung-disk", LD_PRELOAD=library, DISK_HANGS_WHILE=str(hangs)) as run:
        hangs.touch()
        watch.expect("PrismWaitingForDisk", run)
        run.process.send_signal(signal.SIGTERM)
        watch.expect("PrismStopHangs", run)
        hangs.unlink()
        assert run.process.wait(60) == 128 + signal.SIGTERM
