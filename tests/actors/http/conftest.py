"""The fixtures of the tests of HTTP: a server."""

import ssl
from collections.abc import Iterator
from contextlib import ExitStack, closing

import pytest
from starlette.types import ASGIApp

from actors.http.server import Server, ServerOptions, listen
from tests.actors.http.support import OPTIONS, Serve, site


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Return a function that starts a server, which ends with the test."""
    with ExitStack() as servers:

        def start(
            app: ASGIApp | None = None, options: ServerOptions = OPTIONS, tls: ssl.SSLContext | None = None
        ) -> Server:
            listener = listen("127.0.0.1", 0, "test", ("host", "port"))
            return servers.enter_context(closing(Server(app or site(), listener, options, tls)))

        yield start
