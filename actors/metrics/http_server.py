"""The HTTP server under the endpoint: requests, answers, TLS and the password, in threads of its own.

No thread uses the event loop: a blocked loop does not block a scrape, and `/healthz` reports it.
"""

from __future__ import annotations

import base64
import hmac
import os
import ssl
from collections.abc import Callable, Mapping
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from io import BytesIO
from typing import Any, NamedTuple

from actors.core.errors import MetricsAddressError
from actors.metrics.connections import REQUEST_MAX_BYTES, Connections, Make, listen
from actors.metrics.failure_log import log_failure
from prism.config import MetricsConfig
from prism.errors import ConfigError

TEXT = "text/plain; charset=utf-8"


class Page(NamedTuple):
    """The answer to a request for a path."""

    status: HTTPStatus
    body: bytes
    kind: str = TEXT


Headers = Mapping[str, str]
Render = Callable[[Headers], Page]
"""A function that returns a page, given the headers of the request, named as in `User-Agent`."""


def plain(status: HTTPStatus, line: str) -> Page:
    """Return a page of one line."""
    return Page(status, f"{line}\n".encode())


PASSWORD = "PRISM_METRICS_PASSWORD"  # noqa: S105  # the name of the variable, not its value
PROTECTED = frozenset({"/metrics", "/events"})
"""The pages that need the password."""
PROBES = frozenset({"/healthz", "/readyz"})
"""The pages that are made at once, by the thread that serves the connections: they only look at a few numbers."""


class MetricsServer:
    """A server of pages, until it is closed.

    Args:
        config: the address, TLS and the user.
        pages: `{path: function that returns the page}`, called from any thread; a password protects
            those of `PROTECTED`.
        environment: the variables with the password.

    Raises:
        MetricsAddressError: the address cannot be listened on.
        ConfigError: the certificate cannot be used, or a password is missing.
    """

    def __init__(
        self, config: MetricsConfig, pages: Mapping[str, Render], environment: Mapping[str, str] = os.environ
    ) -> None:
        tls = _tls(config)
        credentials = _credentials(config, environment)
        listener = listen(config.host, config.port, MetricsAddressError)
        self.port: int = listener.getsockname()[1]
        self.url = f"{'http' if tls is None else 'https'}://{_reachable(config.host)}:{self.port}"
        """Its address for a client on this machine."""
        site = _Site(pages, credentials)
        self._connections = Connections(listener, tls, partial(_respond, site), partial(_busy, site))
        self._connections.start()

    def close(self) -> None:
        """Stop listening. Answers under way get a moment."""
        self._connections.close()


def _reachable(host: str) -> str:
    if host in {"0.0.0.0", ""}:  # noqa: S104  # for a comparison only
        return "127.0.0.1"
    if host == "::":
        return "[::1]"
    return f"[{host}]" if ":" in host else host


def check_access(config: MetricsConfig, environment: Mapping[str, str] = os.environ) -> None:
    """Check the certificate and the password, without listening.

    Raises:
        ConfigError: the certificate cannot be used, or a password is missing.
    """
    _tls(config)
    _credentials(config, environment)


def _tls(config: MetricsConfig) -> ssl.SSLContext | None:
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
    except OSError as error:  # also what OpenSSL raises
        reason = getattr(error, "reason", None) or error.strerror or "not a certificate and its key"
        raise ConfigError(
            "configuration", f"{certificate} and {key} cannot be used for TLS: {reason}", key="metrics.tls_cert"
        ) from None
    return context


def _credentials(config: MetricsConfig, environment: Mapping[str, str]) -> bytes | None:
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


class _Site(NamedTuple):
    """The pages, and the credentials for those of `PROTECTED`."""

    pages: Mapping[str, Render]
    credentials: bytes | None


def _respond(site: _Site, request: bytes) -> bytes | Make:
    """Return the answer to a request, or a function that makes it where that takes long."""
    handler = _Handler(site, request)
    if handler.is_long:
        return handler.answer
    return handler.answer()


def _busy(site: _Site) -> bytes:
    """Return the answer where too many pages are asked for at once."""
    line = "too many requests at once; come again in a second"
    return _Handler(site, b"GET / HTTP/1.1\r\n\r\n").answer(plain(HTTPStatus.SERVICE_UNAVAILABLE, line))


class _Handler(BaseHTTPRequestHandler):
    """The handler of one request, whose bytes are all there, and whose answer is bytes. It has no socket."""

    server_version = "prism"
    sys_version = ""

    def __init__(self, site: _Site, request: bytes) -> None:
        self._site = site
        self._answered = BytesIO()
        self.rfile, self.wfile = BytesIO(request), self._answered
        self.requestline, self.request_version, self.command = "", "", ""
        self.raw_requestline = self.rfile.readline(REQUEST_MAX_BYTES + 1)
        if len(request) > REQUEST_MAX_BYTES:
            self._is_valid = False
            self.send_error(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        else:
            self._is_valid = self.parse_request()  # it answers a request that is not valid

    @property
    def is_long(self) -> bool:
        """True if the page may take long to make."""
        path = self._path()
        is_read = self.command in {"GET", "HEAD"} and path in self._site.pages and path not in PROBES
        return is_read and (path not in PROTECTED or self._may_read())

    def answer(self, page: Page | None = None) -> bytes:
        """Return the answer: the page, or that which is asked for."""
        if page is not None:
            self._answer(page)
        elif self._is_valid:
            method = getattr(self, f"do_{self.command}", None)
            if method is None:
                self.send_error(HTTPStatus.NOT_IMPLEMENTED)
            else:
                method()
        return self._answered.getvalue()

    def _path(self) -> str:
        return self.path.partition("?")[0] if self._is_valid else ""

    def do_GET(self) -> None:
        """Answer with the page."""
        self._answer(self._page())

    def do_HEAD(self) -> None:
        """Answer with the headers of the page."""
        self._answer(self._page())

    def _page(self) -> Page:
        pages, path = self._site.pages, self._path()
        render = pages.get(path)
        if render is None:
            return plain(HTTPStatus.NOT_FOUND, f"there are only {', '.join(pages)}")
        if path in PROTECTED and not self._may_read():
            return plain(HTTPStatus.UNAUTHORIZED, "a user name and a password are needed")
        try:
            return render({name.title(): value for name, value in self.headers.items()})
        except Exception as error:  # noqa: BLE001  # whatever the error is, the reader gets one line
            log_failure("metrics_page_failed", error)
            return plain(HTTPStatus.INTERNAL_SERVER_ERROR, "this page cannot be made; the run's log says why")

    def _may_read(self) -> bool:
        if self._site.credentials is None:
            return True
        scheme, _, encoded = self.headers.get("Authorization", "").partition(" ")
        try:
            given = base64.b64decode(encoded.strip(), validate=True)
        except ValueError:
            return False
        return scheme.lower() == "basic" and hmac.compare_digest(given, self._site.credentials)

    def _answer(self, page: Page) -> None:
        self.send_response(page.status)
        self.send_header("Content-Type", page.kind)
        self.send_header("Content-Length", str(len(page.body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        if page.status is HTTPStatus.UNAUTHORIZED:
            self.send_header("WWW-Authenticate", 'Basic realm="prism"')
        if page.status is HTTPStatus.METHOD_NOT_ALLOWED:
            self.send_header("Allow", "GET, HEAD")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(page.body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002
        """Answer a request that cannot be parsed, or whose method is not supported, with one line."""
        status = HTTPStatus.METHOD_NOT_ALLOWED if code == HTTPStatus.NOT_IMPLEMENTED else HTTPStatus(code)
        self._answer(plain(status, status.phrase.lower()))

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the base class's name
        """Log nothing: there is a scrape every few seconds."""
