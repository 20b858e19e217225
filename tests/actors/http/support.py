"""Clients that ask an HTTP server over real sockets, and an application for it."""

import http.client
import socket
import ssl
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Protocol

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from actors.http.server import Server, ServerOptions
from tests.patience import HANG_S

OPTIONS = ServerOptions(name="test", always=frozenset({"/probe"}))
Serve = Callable[..., Server]
Page = Callable[[Request], Response]


class Listening(Protocol):
    """A server that listens on a port."""

    port: int


def site(page: Page = lambda _: PlainTextResponse("here")) -> Starlette:
    """Return an application with a page that is made in a thread, a probe, and a page that fails."""

    async def probe(_: Request) -> Response:
        return PlainTextResponse("alive")

    async def fails(_: Request) -> Response:
        raise RuntimeError("a fault of the page")

    return Starlette(routes=[Route("/", page), Route("/probe", probe), Route("/fails", fails)])


class Answer(msgspec.Struct, frozen=True):
    status: int
    headers: dict[str, str]
    body: str


def ask(
    server: Listening, path: str = "/", method: str = "GET", tls: ssl.SSLContext | None = None, **headers: str
) -> Answer:
    """Return the answer to one request; names of headers are in lower case."""
    connection: http.client.HTTPConnection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=HANG_S)
    if tls is not None:
        connection = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=HANG_S, context=tls)
    with closing(connection):
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        return Answer(answer.status, {name.lower(): text for name, text in answer.getheaders()}, answer.read().decode())


def send(server: Listening, request: bytes) -> bytes:
    """Return the response to these bytes."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=HANG_S) as client:
        client.sendall(request)
        received = b""
        with suppress(OSError):  # it may have hung up on us already
            client.shutdown(socket.SHUT_WR)
            while part := client.recv(65_536):
                received += part
        return received


def context_of(certificate: tuple[Path, Path]) -> ssl.SSLContext:
    """Return the context of a server with this certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    return context
