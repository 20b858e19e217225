"""A real Prometheus over healthy runs: two that end, are resumed, forked, interrupted, paused. No alert fires."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from subprocess import Popen

import pytest

from deploy.prometheus_process import Prometheus, prometheus
from tests.deploy.tools import eventually, firing, lasting_port, needs
from tests.deploy.watched_runs import options, prism
from tests.paths import ROOT

pytestmark = [needs("prometheus"), pytest.mark.slow]

RUNS = 1
SPEED = 10
"""A minute in the rules takes six seconds: even on a busy machine a scrape or a start is quick beside its limit."""
PAUSE_S = 2.0
CONFIG = str(ROOT / "configs" / "friends.yaml")
SHORT = {
    "simulation.rounds": 2,
    "population.size": 50,
    "run.tick_s": 0.1,
    "run.checkpoint_every_ticks": 5,
    "metrics.enabled": "true",
}
"""Five seconds: an end that nobody has scraped before cannot be told from a run that was never there."""
LONG = {**SHORT, "simulation.rounds": 100000, "run.tick_s": 0.05}
OF_MACHINE = {"PrismEventLoopLagging"}
"""Alerts that a busy machine may cause. Their metric looks back for a minute, however quick the rules are."""


class Chain:
    """Healthy runs, one after the other, that serve their metrics on one port.

    Args:
        place: the directory of their directories.
        server: the Prometheus that watches them.
    """

    def __init__(self, place: Path, server: Prometheus) -> None:
        place.mkdir()
        self._place = place
        self._server = server
        self._port = lasting_port()

    @property
    def target(self) -> str:
        """Their address."""
        return f"127.0.0.1:{self._port}"

    @contextmanager
    def start(self, *arguments: str, **settings: object) -> Iterator[Popen[bytes]]:
        chosen = options(
            {"metrics.port": self._port, **{key.replace("__", "."): value for key, value in settings.items()}}
        )
        with prism(self._place / "errors", *arguments, "--quiet", *chosen) as process:
            yield process

    def ended(self, process: Popen[bytes], code: int = 0) -> None:
        assert process.wait(300) == code, (self._place / "errors").read_text()

    def path(self, number: int, name: str = "run") -> str:
        return str(self._place / f"{name}-{number}")

    def begin(self, number: int, settings: dict[str, object]) -> list[str]:
        return ["run", CONFIG, "--out", self.path(number), *options(settings)]

    def is_seen(self) -> bool:
        """Return whether the latest scrape has found a run that is under way."""
        return bool(self._server.query(f'prism_run_phase{{phase="running", instance="{self.target}"}} == 1'))

    def interrupt(self, number: int, kind: signal.Signals) -> None:
        with self.start(*self.begin(number, LONG)) as process:
            eventually(self.is_seen, "a scrape of a run that is under way")
            process.send_signal(kind)
            self.ended(process, 128 + kind)

    def end(self, number: int) -> None:
        with self.start(*self.begin(number, SHORT)) as process:
            self.ended(process)

    def stop(self, number: int) -> None:
        self.interrupt(number, signal.SIGINT)

    def resume(self, number: int) -> None:
        self.interrupt(number, signal.SIGTERM)
        more = ["--accept-settings", "--ticks", "2000"]
        with self.start("resume", self.path(number), *more, run__tick_s=0) as process:
            self.ended(process)

    def fork(self, number: int) -> None:
        self.end(number)
        with self.start("fork", self.path(number), "--at", "20", "--out", self.path(number, "fork")) as process:
            self.ended(process)

    def pause(self, number: int) -> None:
        with self.start(*self.begin(number, {**SHORT, "simulation.ticks": 3, "run.tick_s": PAUSE_S})) as process:
            self.ended(process)


KINDS: tuple[Callable[[Chain, int], None], ...] = (Chain.end, Chain.stop, Chain.resume, Chain.fork, Chain.pause)


@pytest.mark.timeout(1800)
def test_no_alert_fires_over_healthy_runs_of_each_kind_and_one_does_when_a_run_is_killed(tmp_path: Path) -> None:
    def live(kind: Callable[[Chain, int], None]) -> None:
        for number in range(RUNS):
            kind(chains[kind], number)

    with prometheus(tmp_path, [], quick=True, speed=SPEED) as server:
        eventually(server.is_ready, "Prometheus")
        chains = {kind: Chain(tmp_path / kind.__name__, server) for kind in KINDS}
        last = Chain(tmp_path / "killed", server)
        server.scrape([chain.target for chain in (*chains.values(), last)])
        with ThreadPoolExecutor(len(KINDS)) as threads:
            list(threads.map(live, KINDS))
        # What would fire because the last runs have gone fires before this one, which is killed after them.
        with last.start(*last.begin(0, LONG)) as process:
            eventually(last.is_seen, "a scrape of a run that is under way")
            process.kill()
            eventually(lambda: ("PrismRunGone", last.target) in firing(server), "PrismRunGone")
        fired = {(alert, target) for alert, target in server.ever_fired("2h") if alert not in OF_MACHINE}
        reasons = server.query("last_over_time(prism_run_ended[2h]) == 1")
        assert fired == {("PrismRunGone", last.target)}, [each.labels for each in reasons]
        for kind, chain in chains.items():
            ends = f'max_over_time(prism_run_phase{{phase="ended", instance="{chain.target}"}}[2h])'
            assert [each.value for each in server.query(ends)] == [1.0], kind.__name__
