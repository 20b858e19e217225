"""The server under the endpoint: pages, some of which need the password."""

from __future__ import annotations

import base64
import hmac
import os
from collections.abc import Awaitable, Callable, Mapping
from functools import partial

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from actors.http.server import Server, ServerOptions, address_of, listen
from actors.metrics.access import read_credentials, read_tls
from prism.config import MetricsConfig

PROTECTED = "/metrics"
"""The page that needs the password."""
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
        pages: `{path: function that returns the page}`; a password protects `PROTECTED`, which is no coroutine.
        environment: the variables with the password.

    Raises:
        AddressError: the address cannot be listened on.
        ConfigError: the certificate cannot be used, or a password is missing.
    """

    def __init__(
        self, config: MetricsConfig, pages: Mapping[str, Render], environment: Mapping[str, str] = os.environ
    ) -> None:
        tls, credentials = read_tls(config), read_credentials(config, environment)
        listener = listen(config.host, config.port, "metrics", ("metrics.host", "metrics.port"))
        self._server = Server(_site(pages, credentials), listener, OPTIONS, tls)
        self.port = self._server.port
        local = "::1" if config.host == "::" else "127.0.0.1"
        self.url = address_of(config.host, self.port, local, "http" if tls is None else "https")
        """Its address for a client on this machine."""

    def close(self) -> None:
        self._server.close()


def _site(pages: Mapping[str, Render], credentials: bytes | None) -> Starlette:
    """Return the application; `credentials` are those for the page `PROTECTED`."""
    there_are = PlainTextResponse(f"there are only {', '.join(pages)}\n", 404)
    broken = PlainTextResponse("this page cannot be made; the run's log says why\n", 500)
    return Starlette(
        routes=[
            Route(path, page if credentials is None or path != PROTECTED else partial(_protected, page, credentials))
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
