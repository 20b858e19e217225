"""The server of the local page: it listens, prints its address, and ends at once on Ctrl-C.

Its connections are those of the metrics: clients that are slow, or send half a request, keep nobody out.
"""

from __future__ import annotations

import asyncio
import secrets
import signal
import socket
from collections.abc import Callable
from contextlib import closing
from functools import partial
from http import HTTPStatus
from threading import Event
from typing import Any, Final
from urllib.parse import quote, unquote

import h11
from starlette.types import ASGIApp, Message, Scope

from actors.core.errors import ViewAddressError
from actors.metrics.connections import REQUEST_MAX_BYTES, Connections, Make, ServerOptions, listen
from actors.metrics.failure_log import log_failure
from actors.view.access import TOKEN, Guard, is_loopback
from actors.view.app import Site

TOKEN_BYTES = 24
OPTIONS: Final = ServerOptions(name="view", workers=8, answer_max_s=600.0)
"""A browser asks for six files at once; the numbers of a large run over a slow line take minutes."""


def serve(site: Site, host: str, port: int, token: str, on_ready: Callable[[str], None]) -> None:
    """Serve the page until the process is interrupted.

    Args:
        site: what is served.
        port: 0 for any that is free.
        token: what an address that others can reach demands; empty for a random one.
        on_ready: called with the address, its token included, once it is listened on.

    Raises:
        ViewAddressError: the address cannot be listened on.
        KeyboardInterrupt: the process is interrupted. SIGTERM ends it.
    """
    listener = listen(host, port, ViewAddressError)
    taken = listener.getsockname()[1]
    secret = "" if is_loopback(host) else token or secrets.token_urlsafe(TOKEN_BYTES)
    guard = Guard(site.app(), host=host, port=taken, token=secret)
    name = {"0.0.0.0": socket.gethostname(), "::": socket.gethostname()}.get(host, host)  # noqa: S104  # a comparison
    shown = f"[{name}]" if ":" in name else name
    with (
        closing(site.explainer),
        closing(Connections(listener, None, partial(_respond, guard), _busy, OPTIONS)) as pages,
    ):
        terminated = Event()
        before = signal.signal(signal.SIGTERM, lambda *_: terminated.set())
        pages.start()
        on_ready(
            f"http://{shown}:{taken}/"
            + (f"?{TOKEN}={quote(secret, safe='', errors='surrogateescape')}" if secret else "")
        )
        terminated.wait()
    signal.signal(signal.SIGTERM, before)
    signal.raise_signal(signal.SIGTERM)


def _respond(app: ASGIApp, request: bytes) -> Make:
    return partial(answer, app, request)


def _busy() -> bytes:
    """Return the answer where too many requests are being answered."""
    problem = b"prism view: too many requests at once; come again in a second\n"
    return _written(h11.Connection(h11.SERVER), HTTPStatus.SERVICE_UNAVAILABLE, [], problem)


def answer(app: ASGIApp, request: bytes) -> bytes:
    """Return the answer of an application to the bytes of a request. A body is not read: no page takes one."""
    connection, status = h11.Connection(h11.SERVER, REQUEST_MAX_BYTES), HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
    connection.receive_data(request[:REQUEST_MAX_BYTES])
    asked: object = None
    try:
        asked = connection.next_event()
    except h11.RemoteProtocolError as error:
        status = HTTPStatus(error.error_status_hint)
    if not isinstance(asked, h11.Request):
        return _written(connection, status, [], f"prism view: {status.phrase.lower()}\n".encode())
    try:
        code, headers, body = asyncio.run(_asked(app, asked))
    except Exception as error:  # noqa: BLE001  # one request's error must not end the server
        log_failure("view_request_failed", error, OPTIONS.name)
        code, headers, body = HTTPStatus.INTERNAL_SERVER_ERROR, [], b"prism view: this cannot be shown\n"
    return _written(connection, code, headers, b"" if asked.method == b"HEAD" else body)


async def _asked(app: ASGIApp, asked: h11.Request) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
    """Return the status, the headers and the body of an application's answer."""
    path, _, query = asked.target.partition(b"?")
    scope: Scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": asked.http_version.decode(),
        "method": asked.method.decode(),
        "scheme": "http",
        "path": unquote(path.decode()),
        "raw_path": path,
        "query_string": query,
        "root_path": "",
        "headers": [*asked.headers],
        "client": None,
        "server": None,
    }
    sent: list[Any] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    await app(scope, receive, send)
    return sent[0]["status"], sent[0]["headers"], b"".join(message.get("body", b"") for message in sent[1:])


def _written(connection: h11.Connection, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> bytes:
    """Return the bytes of an answer, after which the connection is closed."""
    length = [] if any(name == b"content-length" for name, _ in headers) else [(b"content-length", b"%d" % len(body))]
    start = h11.Response(
        status_code=status, reason=HTTPStatus(status).phrase, headers=[*headers, *length, (b"connection", b"close")]
    )
    pieces = [connection.send(start), *([connection.send(h11.Data(data=body))] if body else [])]
    return b"".join(piece or b"" for piece in (*pieces, connection.send(h11.EndOfMessage())))
