"""A real Prometheus with the shipped rules, sixty times as fast, over runs in real trouble."""

import signal
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from deploy.prometheus_process import Prometheus, prometheus
from tests.deploy.tools import descriptions, firing, needs
from tests.deploy.watched_runs import WatchedRun, slow_disk, watched_run
from tests.paths import ROOT
from tests.patience import wait_until
from tests.standin import Fault, FaultPlan, Latency, ModelServer, ServerSettings

CONFIG = ROOT / "configs" / "friends.yaml"
Settings = Mapping[str, object]
SOCIAL: Settings = {
    "simulation.rounds": 100000,
    "population.size": 100,
    "run.tick_s": 0.05,
    "run.checkpoint_every_ticks": 100,
}
HANGS = ServerSettings(faults=FaultPlan(shares={Fault.HANG: 1.0}))

pytestmark = [needs("prometheus"), pytest.mark.slow]


class Watch(NamedTuple):
    """A Prometheus, and the directory of the runs that it watches."""

    server: Prometheus
    directory: Path
    targets: list[str]

    def has_fired(self, alert: str, run: WatchedRun) -> bool:
        """Return whether the alert fires for this run."""
        return (alert, run.target) in firing(self.server)

    def expect(self, alert: str, run: WatchedRun) -> None:
        """Wait until the alert fires for this run."""
        wait_until(lambda: self.has_fired(alert, run), None, f"{alert} of {run.path.name}")

    @contextmanager
    def run(
        self, name: str, settings: Settings | None = None, environment: Mapping[str, str] | None = None
    ) -> Iterator[WatchedRun]:
        """Provide a run that is under way, and is scraped until the end of the block."""
        with watched_run(self.directory / name, CONFIG, {**SOCIAL, **(settings or {})}, environment) as run:
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


def asks(server: ModelServer, settings: Settings | None = None) -> Settings:
    """Return the settings of a run that asks this server."""
    return {"oracle.backend": "ollama", "llm.host": server.url, **(settings or {})}


def test_a_run_that_is_not_there_any_more_is_gone(watch: Watch) -> None:
    with watch.run("frozen") as run:
        assert not watch.has_fired("PrismRunGone", run)
        run.process.send_signal(signal.SIGSTOP)
        watch.expect("PrismRunGone", run)


def test_a_run_waits_for_a_server_that_does_not_answer_and_for_one_that_is_away(
    watch: Watch, model: ModelServer
) -> None:
    away = ModelServer()
    with ExitStack() as stack:
        stack.enter_context(away)
        slow = asks(model, {"llm.timeout_s": 600, "oracle.deadline_s": 600})
        waits = stack.enter_context(watch.run("waits", slow))
        left = stack.enter_context(watch.run("left", asks(away)))
        model.settings = HANGS
        away.__exit__(None, None, None)
        watch.expect("PrismWaitingForOracle", waits)
        watch.expect("PrismWaitingForOracle", left)
        said = descriptions(watch.server, "PrismWaitingForOracle")
        assert said[waits.target].endswith("The server is there, and an answer takes long.")
        assert said[left.target].endswith("The server is away: connection_error.")
        assert not watch.has_fired("PrismRunStalled", waits)
        assert not watch.has_fired("PrismBreakerOpen", left)


def test_a_run_whose_server_stays_away_has_ended_early(watch: Watch) -> None:
    away = ModelServer()
    with away, watch.run("outage", asks(away, {"oracle.outage_patience_s": 3})) as run:
        away.__exit__(None, None, None)
        watch.expect("PrismRunEndedEarly", run)
        assert run.process.wait(60) != 0
        assert (
            watch.server.query(f'ALERTS{{alertname="PrismRunEndedEarly", instance="{run.target}"}}')[0].labels["reason"]
            == "outage"
        )
        assert not watch.has_fired("PrismRunGone", run)


@needs("cc")
def test_a_run_waits_for_a_disk_that_hangs_and_does_not_stop_while_it_does(watch: Watch, tmp_path: Path) -> None:
    hangs = tmp_path / "hangs"
    environment = {**slow_disk(tmp_path), "DISK_HANGS_WHILE": str(hangs)}
    with watch.run("hung-disk", environment=environment) as run:
        hangs.touch()
        watch.expect("PrismWaitingForDisk", run)
        run.process.send_signal(signal.SIGTERM)
        watch.expect("PrismStopHangs", run)
        hangs.unlink()
        assert run.process.wait(60) == 128 + signal.SIGTERM
