"""The pages that are served, and clients that ask for them."""

from __future__ import annotations

import http.client
import socket
import ssl
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from http import HTTPStatus
from pathlib import Path

import msgspec

from actors.metrics.http_server import Headers, MetricsServer, Page, Render, plain
from prism.config import MetricsConfig
from tests.patience import HANG_S

ANY = MetricsConfig(port=0)
Serve = Callable[..., MetricsServer]


def numbers(_: Headers) -> Page:
    return Page(HTTPStatus.OK, b"up 1\n", "text/plain; version=0.0.4; charset=utf-8")


def broken(_: Headers) -> Page:
    raise ValueError("a secret thing")


PAGES: Mapping[str, Render] = {
    "/metrics": numbers,
    "/healthz": lambda _: plain(HTTPStatus.SERVICE_UNAVAILABLE, "stuck"),
    "/accept": lambda headers: plain(HTTPStatus.OK, headers.get("Accept", "")),
    "/broken": broken,
}


class Answer(msgspec.Struct, frozen=True):
    status: int
    headers: dict[str, str]
    body: str


def ask(
    server: MetricsServer,
    path: str = "/metrics",
    method: str = "GET",
    tls: ssl.SSLContext | None = None,
    **headers: str,
) -> Answer:
    connection: http.client.HTTPConnection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=HANG_S)
    if tls is not None:
        connection = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=HANG_S, context=tls)
    with closing(connection):
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        return Answer(answer.status, dict(answer.getheaders()), answer.read().decode())


def send(server: MetricsServer, request: bytes) -> bytes:
    """Return the response to these bytes."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=HANG_S) as client:
        client.sendall(request)
        received = b""
        with suppress(OSError):  # it may have hung up on us already
            client.shutdown(socket.SHUT_WR)
            while part := client.recv(65_536):
                received += part
        return received


def over_tls(certificate: tuple[Path, Path]) -> MetricsConfig:
    return MetricsConfig(port=0, tls_cert=str(certificate[0]), tls_key=str(certificate[1]))
