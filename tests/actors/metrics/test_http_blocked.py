"""The endpoint of a run whose event loop is blocked for real: a computation that never lets go of the loop."""

from __future__ import annotations

import time
from http.client import HTTPConnection
from pathlib import Path
from threading import Thread

import anyio
import msgspec
import pytest

from actors.core.events import PhaseChanged
from actors.core.phase import Phase
from actors.metrics.endpoint import Endpoint
from actors.runtime.simulation import Simulation
from deploy.scrape import Scrape
from prism.config import Config, MetricsConfig
from prism.social.domain import SocialDomain
from prism.social.people.population import build_population
from tests.actors.social_runs import SMALL, with_simulation
from tests.patience import HANG_S

LIMIT_S = 1.0
ENOUGH = 5
"""Rounds of all pages that end while the loop is blocked, all of them begun when it has been so for too long."""


class Visit(msgspec.Struct, frozen=True):
    """One round of all pages: when it began, and what was said."""

    began: float
    lag_s: float
    health: int
    ready: int


class Visitor:
    """Looks at a run's pages again and again, in a thread of its own."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.host = endpoint.url.removeprefix("http://")
        self.visits: list[Visit] = []
        self.is_done = False
        self.thread = Thread(target=self.run)

    def run(self) -> None:
        while not self.is_done:
            began = time.perf_counter()
            _, page = self.get("/metrics")
            lag = Scrape.parse(page, 0.0).value("prism_event_loop_lag_seconds")
            self.visits.append(Visit(began, lag, self.get("/healthz")[0], self.get("/readyz")[0]))
            time.sleep(0.05)

    def get(self, path: str) -> tuple[int, str]:
        connection = HTTPConnection(self.host, timeout=HANG_S)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()


@pytest.mark.slow
def test_a_blocked_event_loop_blocks_no_scrape_and_shows(tmp_path: Path) -> None:
    config: Config = msgspec.structs.replace(
        with_simulation(rounds=40), metrics=MetricsConfig(enabled=True, port=0, heartbeat_limit_s=LIMIT_S)
    )
    endpoint = Endpoint(config)
    visitor = Visitor(endpoint)
    late: list[Visit] = []

    def block_once(tick: int) -> None:
        """A computation in the middle of the run that ends when the pages have been seen often enough, or never are."""
        if tick == config.simulation.ticks_per_round:
            begun = time.perf_counter()
            while len(late) < ENOUGH and time.perf_counter() < begun + HANG_S:
                late[:] = [visit for visit in visitor.visits if visit.began > begun + LIMIT_S + 0.5]

    assert visitor.get("/readyz")[0] == 503
    assert visitor.get("/healthz") == (200, "starting\n")
    endpoint.hear(PhaseChanged(phase=Phase.RUNNING, before=Phase.STARTING, after_s=0.0))
    with endpoint.observing("run") as metrics:
        domain = SocialDomain(config, build_population(SMALL.population, SMALL.simulation.seed))
        simulation = Simulation(config, domain, observer=metrics)
        visitor.thread.start()
        anyio.run(simulation.run, block_once)
        visitor.is_done = True
        visitor.thread.join()
    endpoint.close()

    assert len(late) >= ENOUGH
    assert {visit.health for visit in late} == {503}
    assert min(visit.lag_s for visit in late) > LIMIT_S
    assert {visit.ready for visit in late} == {200}
