"""The HTTP endpoint of a run: `/metrics`, `/healthz` (is it alive?), `/readyz` (is it ready?).

The port is taken before anything is written, so a port in use ends a run before it has begun. From then on the page has
the phase of the run. After the end it is served until the scraper has seen the end twice.
"""

from __future__ import annotations

import base64
import hmac
import os
import signal
import ssl
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import accumulate
from threading import Event as Flag
from threading import current_thread, main_thread

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from actors.core.events import EVENTS, Event, PhaseChanged, RunEnded
from actors.core.phase import ENDS, UNDER_WAY, Phase
from actors.http.server import Server, ServerOptions, address_of, listen
from actors.metrics.instruments import INSTRUMENTS, TIMINGS, Counts, Series
from actors.metrics.observer import Metrics
from prism.config import Config, MetricsConfig
from prism.domain import Measure
from prism.errors import ConfigError


class Lifecycle:
    """A listener of a run that keeps its phase and its counts of events. Any thread may read it."""

    def __init__(self) -> None:
        self.phase, self.reason = Phase.STARTING, ""
        self.since = time.time()
        """Unix time at which the phase began."""
        self.ended = ""
        """Why the run has ended; empty until then."""
        self.events = {event.name(): 0 for event in EVENTS}
        """`{name: events so far}`, for every kind."""

    def hear(self, event: Event) -> None:
        self.events[event.name()] += 1
        if isinstance(event, PhaseChanged):
            self.phase, self.reason, self.since = event.phase, event.reason, time.time()
        elif isinstance(event, RunEnded):
            self.ended = event.reason


TEXT = "text/plain; version=0.0.4; charset=utf-8"


class Exposition(Collector):
    """The metrics of a run, of its process and of its interpreter, as text.

    The phase and the events of the run are there before it is built and after its end; its other metrics are those of
    the latest snapshot.
    """

    def __init__(self, lifecycle: Lifecycle) -> None:
        self._registry = CollectorRegistry()  # its own, not the client's global one
        self._lifecycle = lifecycle
        self._metrics: Metrics | None = None
        for collector in (ProcessCollector, PlatformCollector, GCCollector):
            collector(registry=self._registry)
        self._registry.register(self)

    def add_run(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def render(self) -> bytes:
        return generate_latest(self._registry)

    def describe(self) -> Sequence[Metric]:
        """Return nothing: otherwise the registry would render a snapshot only to learn the names."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Yield every metric of the run; only those of its phase and events before there is a simulation."""
        if self._metrics is not None and (now := self._metrics.snapshot) is not None:
            for metric in INSTRUMENTS:
                if (series := metric.series(now)) is not None:
                    yield _family(metric.name, metric.kind, metric.help, metric.labels, series)
            for timing in TIMINGS:
                yield histogram_family(timing.name, timing.help, timing.labels, now.timings[timing.name])
            # A world's measures as metrics, one for each name.
            measures = () if now.committed is None else now.committed.measures
            by_name: dict[str, list[Measure]] = {}
            for measure in measures:
                by_name.setdefault(measure.name, []).append(measure)
            for name, group in by_name.items():
                first = group[0]
                series = {tuple(measure.labels[label] for label in first.labels): measure.value for measure in group}
                yield _family(name, first.kind, first.help, tuple(first.labels), series)
            latest, longest = self._metrics.lag.now()
            yield GaugeMetricFamily("prism_event_loop_lag_seconds", "The lag of the event loop.", latest)
            yield GaugeMetricFamily("prism_event_loop_lag_seconds_max", "The longest lag of the last minute.", longest)
        moment = self._lifecycle
        now_in = moment.phase  # read once: another thread may change it meanwhile
        phases: Series = {(phase.value,): phase is now_in for phase in Phase}
        yield _family("prism_run_phase", "gauge", "1 for the phase that the run is in.", ["phase"], phases)
        began = "Start of the phase, Unix time."
        yield GaugeMetricFamily("prism_run_phase_since_timestamp_seconds", began, moment.since)
        ended: Series = {(reason,): reason == moment.ended for reason in ENDS}
        yield _family("prism_run_ended", "gauge", "1 for why the run has ended.", ["reason"], ended)
        events: Series = {(name,): count for name, count in moment.events.items()}
        yield _family("prism_events_total", "counter", "Events of the run.", ["event"], events)


def _family(name: str, kind: str, text: str, labels: Sequence[str], series: Series) -> Metric:
    make = CounterMetricFamily if kind == "counter" else GaugeMetricFamily
    family = make(name, text, labels=labels)
    for values, number in series.items():
        family.add_metric(values, float(number))
    return family


def histogram_family(name: str, text: str, labels: Sequence[str], series: Mapping[tuple[str, ...], Counts]) -> Metric:
    family = HistogramMetricFamily(name, text, labels=labels)
    for values, counts in series.items():
        bounds = [*map(repr, counts.bounds), "+Inf"]
        family.add_metric(values, [*zip(bounds, accumulate(counts.counts), strict=True)], counts.total)
    return family


PASSWORD = "PRISM_METRICS_PASSWORD"  # noqa: S105  # the name of the variable, not its value
WANTED = 2
"""The scrapes after the end: a single one may be lost."""


class Scrapes:
    """The latest scrapes by Prometheus, or by a client that scrapes as it does. For any thread.

    Other clients may read the page only once, so nothing waits for them.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._latest = float("-inf")
        self._left = WANTED
        self._enough = Flag()

    def add(self) -> None:
        self._latest = self._clock()
        self._left -= 1
        if self._left <= 0:
            self._enough.set()

    def wait_for(self, longest_s: float) -> None:
        """Wait for two more scrapes, at most `longest_s`, or a signal; not if nobody has scraped for that time."""
        self._left = WANTED
        self._enough.clear()
        if self._clock() - self._latest <= longest_s:
            with _on_signal(self._enough.set):
                self._enough.wait(longest_s)


@contextmanager
def _on_signal(function: Callable[[], None]) -> Iterator[None]:
    """Call a function at SIGINT and SIGTERM in the block; in a thread that gets no signals, do nothing."""
    if current_thread() is not main_thread():
        yield
        return
    kinds = (signal.SIGINT, signal.SIGTERM)
    before = {kind: signal.signal(kind, lambda *_: function()) for kind in kinds}
    try:
        yield
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)


OPTIONS = ServerOptions(
    name="metrics",
    # These only look at a few numbers, so they are answered however many clients there are.
    always=frozenset({"/healthz", "/readyz"}),
    headers=(("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff")),
)
OF_PROMETHEUS = "X-Prometheus-Scrape-Timeout-Seconds"
"""A header that Prometheus and compatible scrapers send with each scrape; a browser or curl does not."""

STUCK_S = 10.0
"""The age of the last sign of the event loop at which a run counts as stuck."""


class Endpoint:
    """An endpoint that serves a run's metrics and its health, until it is closed.

    Raises:
        AddressError: the address cannot be listened on.
        ConfigError: the certificate cannot be used, or a password is missing.
    """

    def __init__(self, config: Config, environment: Mapping[str, str] = os.environ) -> None:
        self._config, settings = config, config.metrics
        self._lifecycle, self._scrapes = Lifecycle(), Scrapes()
        self._exposition = Exposition(self._lifecycle)
        self._metrics: Metrics | None = None
        tls, self._credentials = read_tls(settings), read_credentials(settings, environment)
        pages = {"/metrics": self._scrape, "/healthz": self._health, "/readyz": self._readiness}
        there_are = PlainTextResponse(f"there are only {', '.join(pages)}\n", 404)
        broken = PlainTextResponse("this page cannot be made; the run's log says why\n", 500)
        site = Starlette(
            routes=[Route(path, page) for path, page in pages.items()],
            exception_handlers={404: lambda *_: there_are, Exception: lambda *_: broken},
        )
        listener = listen(settings.host, settings.port, "metrics", ("metrics.host", "metrics.port"))
        self._server = Server(site, listener, OPTIONS, tls)
        self.port = self._server.port
        local = "::1" if settings.host == "::" else "127.0.0.1"
        self.url = address_of(settings.host, self.port, local, "http" if tls is None else "https")
        """Its address for a client on this machine, without a path."""

    def observe(self, run_id: str) -> Metrics:
        """Return the observer of a run, whose metrics are served from then on."""
        self._metrics = Metrics(self._config, run_id)
        self._exposition.add_run(self._metrics)
        return self._metrics

    def hear(self, event: Event) -> None:
        self._lifecycle.hear(event)

    def close(self) -> None:
        """Stop serving, once the scraper has seen the end of the run."""
        if self._lifecycle.ended:
            self._scrapes.wait_for(self._config.metrics.linger_s)
        self._server.close()

    def _scrape(self, request: Request) -> Response:  # it takes a while, so it is no coroutine, but has a thread
        if self._credentials is not None and not _knows(request, self._credentials):
            line = "a user name and a password are needed\n"
            return PlainTextResponse(line, 401, {"WWW-Authenticate": 'Basic realm="prism"'})
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
        now = self._lifecycle
        text = f"{now.phase} ({now.reason})" if now.reason else now.phase.value
        return PlainTextResponse(f"{text}\n", 200 if now.phase in UNDER_WAY else 503)


def _knows(request: Request, credentials: bytes) -> bool:
    scheme, _, encoded = request.headers.get("Authorization", "").partition(" ")
    try:
        given = base64.b64decode(encoded.strip(), validate=True)
    except ValueError:
        return False
    return scheme.lower() == "basic" and hmac.compare_digest(given, credentials)


def read_tls(config: MetricsConfig) -> ssl.SSLContext | None:
    """Return what encrypts the connections; None without a certificate."""
    certificate, key = config.tls_cert, config.tls_key
    if certificate is None:
        if key is not None:
            raise ConfigError("configuration", "expected the certificate of this key, got null", key="metrics.tls_cert")
        return None
    if key is None:
        raise ConfigError("configuration", "expected the key of the certificate, got null", key="metrics.tls_key")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        # A key with a passphrase must be an error: a prompt would stop a run without a user at the terminal.
        context.load_cert_chain(certificate, key, password="")
    except OSError as error:  # OpenSSL's errors are OSErrors, too
        reason = getattr(error, "reason", None) or error.strerror or "not a certificate and its key"
        raise ConfigError(
            "configuration", f"{certificate} and {key} cannot be used for TLS: {reason}", key="metrics.tls_cert"
        ) from None
    return context


def read_credentials(config: MetricsConfig, environment: Mapping[str, str]) -> bytes | None:
    """Return the user and the password, as HTTP sends them; None without a user."""
    if config.username is None:
        return None
    password = environment.get(PASSWORD, "")
    if not password:
        raise ConfigError(
            "configuration",
            f"expected the password of {config.username!r} in ${PASSWORD}, got none",
            key="metrics.username",
        )
    return f"{config.username}:{password}".encode()
