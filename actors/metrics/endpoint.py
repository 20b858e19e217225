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
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import Event as Flag
from threading import current_thread, main_thread

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from actors.core.events import Event
from actors.core.phase import UNDER_WAY
from actors.http.server import Server, ServerOptions, address_of, listen
from actors.metrics.exposition import TEXT, Exposition, Lifecycle
from actors.metrics.observer import Metrics
from prism.config import Config, MetricsConfig
from prism.errors import ConfigError

PASSWORD = "PRISM_METRICS_PASSWORD"  # noqa: S105  # the name of the variable, not its value
WANTED = 2
"""The scrapes after the end: a single one may be lost."""


class Scrapes:
    """The times of the latest scrapes by Prometheus, or by a client that scrapes as it does. For any thread.

    Other clients may read the page only once, so nothing waits for them.

    Args:
        clock: seconds, from any start.
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
        """Wait for two more scrapes, at most `longest_s`. A signal ends the wait.

        Do not wait if nobody has scraped for that time.
        """
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

    Args:
        config: the run's configuration.
        environment: the variables with the password.

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
    """Return whether a request has the user and the password."""
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
