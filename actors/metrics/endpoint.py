"""The HTTP endpoint of a run: `/metrics`, `/healthz` (is it alive?), `/readyz` (is it ready?).

The port is taken before anything is written, so a port in use ends a run before it has begun. From then on the page has
the phase of the run. After the end it is served until the scraper has seen the end twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from prometheus_client import CollectorRegistry
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from actors.core.events import Event
from actors.core.phase import UNDER_WAY
from actors.core.ports import Address
from actors.metrics.exposition import TEXT, Exposition
from actors.metrics.http_server import MetricsServer, Render
from actors.metrics.lifecycle import Lifecycle
from actors.metrics.observer import Metrics
from actors.metrics.scrapes import Scrapes
from prism.config import Config

OF_PROMETHEUS = "X-Prometheus-Scrape-Timeout-Seconds"
"""A header that Prometheus and compatible scrapers send with each scrape; a browser or curl does not."""

STUCK_S = 10.0
"""The age of the last sign of the event loop at which a run counts as stuck."""


class Endpoint:
    """An endpoint that serves a run's metrics and its health.

    Args:
        config: the run's configuration.

    Raises:
        AddressError: the address cannot be listened on.
        ConfigError: the certificate cannot be used, or a password is missing.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        self._lifecycle = Lifecycle()
        self._scrapes = Scrapes()
        self._exposition = Exposition(CollectorRegistry(), self._lifecycle)
        self._metrics: Metrics | None = None
        pages: dict[str, Render] = {
            "/metrics": self._scrape,
            "/healthz": self._health,
            "/readyz": self._readiness,
        }
        self._server = MetricsServer(config.metrics, pages)

    @property
    def url(self) -> str:
        """Its address, without a path."""
        return self._server.url

    @property
    def address(self) -> Address:
        """Its address, for `metrics.json` in the run's directory."""
        settings = self._config.metrics
        certificate = None if settings.tls_cert is None else str(Path(settings.tls_cert).resolve())
        return Address(url=self.url, username=settings.username, tls_cert=certificate)

    @contextmanager
    def observing(self, run_id: str) -> Iterator[Metrics]:
        """Provide the observer of a run, whose metrics are served from then on."""
        metrics = Metrics(self._config, run_id)
        self._exposition.add_run(metrics)
        self._metrics = metrics
        yield metrics

    def hear(self, event: Event) -> None:
        self._lifecycle.hear(event)

    def close(self) -> None:
        """Stop serving, once the scraper has seen the end of the run."""
        if self._lifecycle.now.ended:
            self._scrapes.wait_for(self._config.metrics.linger_s)
        self._server.close()

    def _scrape(self, request: Request) -> Response:
        body = self._exposition.render()
        if OF_PROMETHEUS in request.headers:
            self._scrapes.add()
        return Response(body, headers={"Content-Type": TEXT})

    async def _health(self, _: Request) -> Response:
        metrics = self._metrics
        age_s = metrics.lag.age_s if metrics is not None and metrics.is_under_way else None
        if age_s is None:
            return PlainTextResponse("starting\n")
        if age_s < STUCK_S:
            return PlainTextResponse("ok\n")
        return PlainTextResponse(f"the event loop has been stuck for {age_s:.1f} s\n", 503)

    async def _readiness(self, _: Request) -> Response:
        now = self._lifecycle.now
        text = f"{now.phase} ({now.reason})" if now.reason else now.phase.value
        return PlainTextResponse(f"{text}\n", 200 if now.phase in UNDER_WAY else 503)
