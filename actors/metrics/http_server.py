"""The HTTP server under the endpoint: connections, TLS and the password, in threads of its own.

No thread uses the event loop: a blocked loop does not block a scrape, and `/healthz` reports it. Connections are
limited in number and time, because anyone who can reach the port can open them.
"""

from __future__ import annotations

import base64
import hmac
import os
import socket
import ssl
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from socketserver import TCPServer, ThreadingMixIn
from threading import BoundedSemaphore, Thread
from time import monotonic
from typing import Any, NamedTuple

import structlog

from actors.core.errors import MetricsAddressError
from prism.config import MetricsConfig
from prism.errors import ConfigError

TEXT = "text/plain; charset=utf-8"


class Page(NamedTuple):
    """The answer to a request for a path."""

    status: HTTPStatus
    body: bytes
    kind: str = TEXT


OWN_CLIENT = "prism"
"""The beginning of the `User-Agent` of this project's own clients, which are no scrapers."""

Headers = Mapping[str, str]
Render = Callable[[Headers], Page]
"""A function that returns a page, given the headers of the request, named as in `User-Agent`."""


def plain(status: HTTPStatus, line: str) -> Page:
    """Return a page of one line."""
    return Page(status, f"{line}\n".encode())


log = structlog.get_logger(__name__)

PASSWORD = "PRISM_METRICS_PASSWORD"  # noqa: S105  # the name of the variable, not its value
PROTECTED = frozenset({"/metrics", "/events"})
"""The pages that need the password."""
CONNECTIONS_MAX = 32
SILENCE_MAX_S = 10.0
"""The time after which a connection that sends nothing is closed."""

CONNECTION_MAX_S = 30.0
"""The time after which any connection is closed: otherwise a byte now and then would keep its place for ever."""


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
        try:
            self._server = _Server(config, pages, credentials, tls)
        except (OSError, UnicodeError) as error:  # the latter for a host name that is not valid
            problem = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise MetricsAddressError(config.host, config.port, problem) from None
        self.port: int = self._server.server_address[1]
        self.url = f"{'http' if tls is None else 'https'}://{_reachable(config.host)}:{self.port}"
        """Its address for a client on this machine."""
        self._thread = Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, name="metrics", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Stop listening. Answers under way may be cut off."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


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


class _Server(ThreadingMixIn, TCPServer):
    """A server with a thread for each connection, and a limit on connections."""

    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(
        self, config: MetricsConfig, pages: Mapping[str, Render], credentials: bytes | None, tls: ssl.SSLContext | None
    ) -> None:
        self.pages = pages
        self.credentials = credentials
        self._places = BoundedSemaphore(CONNECTIONS_MAX)
        self._begun: dict[socket.socket, float] = {}
        """`{connection: time of its start}`."""
        addresses = socket.getaddrinfo(config.host, config.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        self.address_family, _, _, _, address = addresses[0]
        super().__init__((str(address[0]), config.port), _Handler)
        if tls is not None:
            # Each connection's own thread does the handshake: one silent client must not stop all others.
            self.socket = tls.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection in a thread of its own, or close it if there are too many."""
        if not self._places.acquire(blocking=False):
            self.shutdown_request(request)
            return
        with ExitStack() as unless_served:
            unless_served.callback(self._places.release)
            super().process_request(request, client_address)
            unless_served.pop_all()

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve a connection."""
        self._begun[request] = monotonic()
        try:
            super().process_request_thread(request, client_address)
        finally:
            del self._begun[request]
            self._places.release()

    def service_actions(self) -> None:
        """Close connections that have lasted too long. Called several times a second."""
        for request, begun in list(self._begun.items()):
            if monotonic() - begun > CONNECTION_MAX_S:
                with suppress(OSError):  # it has been closed meanwhile
                    socket.socket.shutdown(request, socket.SHUT_RDWR)  # without the closing messages of TLS

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002  # the base class's signature
        """Log the error, unless the client has closed the connection or does not use TLS."""
        error = sys.exception()
        if not isinstance(error, OSError):
            _log_failure("metrics_request_failed", error)


class _Handler(BaseHTTPRequestHandler):
    """A handler that answers one request, then closes the connection."""

    server: _Server
    timeout = SILENCE_MAX_S
    wbufsize = 2**20
    """Enough to send an answer in one call: each call releases the interpreter, and a busy loop returns it late."""
    server_version = "prism"
    sys_version = ""

    def do_GET(self) -> None:
        """Answer with the page."""
        self._answer(self._page())

    def do_HEAD(self) -> None:
        """Answer with the headers of the page."""
        self._answer(self._page())

    def _page(self) -> Page:
        pages = self.server.pages
        path = self.path.partition("?")[0]
        render = pages.get(path)
        if render is None:
            return plain(HTTPStatus.NOT_FOUND, f"there are only {', '.join(pages)}")
        if path in PROTECTED and not self._may_read():
            return plain(HTTPStatus.UNAUTHORIZED, "a user name and a password are needed")
        try:
            return render({name.title(): value for name, value in self.headers.items()})
        except Exception as error:  # noqa: BLE001  # whatever the error is, the reader gets one line
            _log_failure("metrics_page_failed", error)
            return plain(HTTPStatus.INTERNAL_SERVER_ERROR, "this page cannot be made; the run's log says why")

    def _may_read(self) -> bool:
        if self.server.credentials is None:
            return True
        scheme, _, encoded = self.headers.get("Authorization", "").partition(" ")
        try:
            given = base64.b64decode(encoded.strip(), validate=True)
        except ValueError:
            return False
        return scheme.lower() == "basic" and hmac.compare_digest(given, self.server.credentials)

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


def _log_failure(event: str, error: BaseException | None) -> None:
    log.warning(event, actor="metrics", error=f"{type(error).__name__}: {error}"[:200])
