"""The HTTP endpoint, over real sockets: what it answers to a request."""

from __future__ import annotations

import time

import httpx
import msgspec
from structlog.typing import EventDict

from actors.core.events import PhaseChanged
from actors.core.phase import Phase
from actors.metrics.endpoint import Endpoint
from prism.config import MetricsConfig
from tests.actors.http.support import ask, until
from tests.actors.metrics.pages import Serve
from tests.actors.social_runs import SMALL


def test_a_page_is_answered_as_it_is(serve: Serve) -> None:
    answer = ask(serve(), "/metrics")
    assert (answer.status, answer.body) == (200, "up 1\n")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert (answer.headers["cache-control"], answer.headers["x-content-type-options"]) == ("no-store", "nosniff")
    answer = ask(serve(), "/admin")
    assert (answer.status, answer.body) == (404, "there are only /metrics, /healthz, /broken\n")


def test_an_error_is_one_line_to_the_reader_and_its_cause_is_in_the_log(serve: Serve, logged: list[EventDict]) -> None:
    answer = ask(serve(), "/broken")
    assert (answer.status, answer.body) == (500, "this page cannot be made; the run's log says why\n")
    assert until(lambda: bool(logged))
    assert [(event["event"], event["error"]) for event in logged] == [
        ("metrics_request_failed", "ValueError: a secret thing")
    ]


def test_probes_say_whether_the_run_is_alive_and_ready() -> None:
    endpoint = Endpoint(msgspec.structs.replace(SMALL, metrics=MetricsConfig(enabled=True, port=0)))

    def asked() -> tuple[int, int]:
        health, ready = (httpx.get(f"{endpoint.url}{path}", trust_env=False) for path in ("/healthz", "/readyz"))
        return health.status_code, ready.status_code

    assert asked() == (200, 503)
    endpoint.hear(PhaseChanged(phase=Phase.RUNNING, before=Phase.STARTING, after_s=0.0))
    with endpoint.observing("run") as metrics:
        metrics.is_under_way = True
        metrics.lag.beat()
        assert asked() == (200, 200)
        metrics.lag._clock = lambda: time.monotonic() + 3600.0  # the event loop has been blocked for an hour
        assert asked() == (503, 200)
        metrics.is_under_way = False
        assert asked() == (200, 200)
    endpoint.close()
