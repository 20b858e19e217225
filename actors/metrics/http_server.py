"""The server under the endpoint: its pages, TLS and the password."""

from __future__ import annotations

import base64
import hmac
import os
import ssl
from collections.abc import Awaitable, Callable, Mapping
from functools import partial

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from actors.core.errors import MetricsAddressError
from actors.http.connection import ServerOptions
from actors.http.server import Server, address_of, listen
from prism.config import MetricsConfig
from prism.errors import ConfigError

PASSWORD = "PRISM_METRICS_PASSWORD"  # noqa: S105  # the name of the variable, not its value
PROTECTED = frozenset({"/metrics", "/events"})
"""The pages that need the password."""
PROBES = frozenset({"/healthz", "/readyz"})
"""The pages that are answered however many clients there are: they only look at a few numbers."""
OPTIONS = ServerOptions(
    name="metrics", always=PROBES, headers=(("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"))
)

Render = Callable[[Request], Response | Awaitable[Response]]
"""A function that returns a page; one that takes a while is no coroutine, and is called in another thread."""


class MetricsServer:
    """A server of pages, until it is closed.

    Args:
        config: the address, TLS and the user.
        pages: `{path: function that returns the page}`; a password protects those of `PROTECTED`, which are no
            coroutines.
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
        self._server = Server(_site(pages, credentials), listener, OPTIONS, tls)
        self.port = self._server.port
        local = "::1" if config.host == "::" else "127.0.0.1"
        self.url = address_of(config.host, self.port, local, "http" if tls is None else "https")
        """Its address for a client on this machine."""

    def close(self) -> None:
        """Stop listening. Answers under way get a moment."""
        self._server.close()


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


def _site(pages: Mapping[str, Render], credentials: bytes | None) -> Starlette:
    """Return the application; `credentials` are those for the pages of `PROTECTED`."""
    there_are = PlainTextResponse(f"there are only {', '.join(pages)}\n", 404)
    broken = PlainTextResponse("this page cannot be made; the run's log says why\n", 500)
    return Starlette(
        routes=[
            Route(
                path, page if credentials is None or path not in PROTECTED else partial(_protected, page, credentials)
            )
            for path, page in pages.items()
        ],
        exception_handlers={404: lambda *_: there_are, Exception: lambda *_: broken},
    )


def _protected(page: Render, credentials: bytes, request: Request) -> Response | Awaitable[Response]:
    """Return the page, or ask for the password."""
    scheme, _, encoded = request.headers.get("Authorization", "").partition(" ")
    try:
        given = base64.b64decode(encoded.strip(), validate=True)
    except ValueError:
        given = b""
    if scheme.lower() == "basic" and hmac.compare_digest(given, credentials):
        return page(request)
    line = "a user name and a password are needed\n"
    return PlainTextResponse(line, 401, {"WWW-Authenticate": 'Basic realm="prism"'})
