"""One client of a server: uvicorn's connection, with limits on its time, and on the number of its kind.

Anyone who can reach the port can open connections and send nothing, or read nothing of an answer. uvicorn waits for
such clients for ever, and each uses a file descriptor of the process. So a client has a few seconds to send its
request, and if too many clients have sent none, the oldest is dropped; a client must also read its answer in time.
"""

from __future__ import annotations

import asyncio
import ssl
from asyncio.sslproto import SSLProtocol
from typing import Any, NamedTuple

from starlette.requests import ClientDisconnect
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from actors.logs.failure_log import log_failure

REQUEST_MAX_S = 10.0
"""The time that a client gets for the head of its request, the handshake of TLS included."""

SILENCE_MAX_S = 10.0
"""The time after which a client that takes nothing of its answer is dropped."""


class ServerOptions(NamedTuple):
    """The options of a server.

    Args:
        name: the name of its thread, and of the actor in its log lines.
        workers: threads for the endpoints that are not coroutines.
        waiting_max: clients that have not sent the head of a request. With one more, the oldest of them is dropped.
        answered_max: clients that get an answer. One more is told to come later; None is no limit.
        answer_max_s: the time that an answer may take until it is sent; None is no limit.
        always: paths that are answered however many clients there are.
        keep_alive_s: the time that a connection stays open for the next request; None closes it after each answer.
        headers: of every answer.
    """

    name: str
    workers: int = 2
    waiting_max: int = 128
    answered_max: int | None = 32
    answer_max_s: float | None = 30.0
    always: frozenset[str] = frozenset()
    keep_alive_s: float | None = None
    headers: tuple[tuple[str, str], ...] = ()


class Clients:
    """The clients of one server.

    Args:
        tls: encrypts their connections; None if they are not encrypted.
    """

    def __init__(self, options: ServerOptions, tls: ssl.SSLContext | None) -> None:
        self.options = options
        self._tls = tls
        self.waiting: dict[Client, None] = {}
        """Those that have not sent the head of a request, the oldest first."""
        self.answered: set[Client] = set()

    def new(self, **given: Any) -> asyncio.BaseProtocol:
        """Return the protocol of a new connection: what uvicorn calls."""
        client = Client(self, **given)
        return client if self._tls is None else _Handshake(client, self._tls)

    def drop_oldest(self) -> None:
        """Drop the client that has not asked for the longest time."""
        if self.waiting:
            next(iter(self.waiting)).drop()

    def drop_waiting(self) -> None:
        for client in list(self.waiting):
            client.drop()

    def drop_all(self) -> None:
        for client in [*self.waiting, *self.answered]:
            client.drop()


class Client(H11Protocol):
    """One client."""

    def __init__(self, clients: Clients, **given: Any) -> None:
        super().__init__(**given)
        self._clients = clients
        self._application, self.app = self.app, self._answer
        self._socket: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._asked: object = None
        """The latest cycle of a request and its answer."""

    def arrive(self, transport: asyncio.BaseTransport) -> None:
        """Take a place among those that have not asked yet."""
        if not isinstance(transport, asyncio.Transport):
            raise TypeError(transport)
        self._socket = transport
        if len(self._clients.waiting) >= self._clients.options.waiting_max:
            self._clients.drop_oldest()
        self._clients.waiting[self] = None
        self._timer = self.loop.call_later(REQUEST_MAX_S, self.drop)

    def leave(self) -> None:
        self._clients.waiting.pop(self, None)
        self._clients.answered.discard(self)
        if self._timer is not None:
            self._timer.cancel()

    def drop(self) -> None:
        """Close the connection at once."""
        self.leave()
        if self._socket is not None:
            self._socket.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if self._socket is None:
            self.arrive(transport)
        super().connection_made(transport)  # type: ignore[arg-type]

    def connection_lost(self, exc: Exception | None) -> None:
        self.leave()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """Read what has come. Once the head of a request is there, the time for its answer begins."""
        super().handle_events()
        if self.cycle is not self._asked:  # both are None at first
            self._asked = self.cycle
            self.leave()
            self._clients.answered.add(self)
            if (longest_s := self._clients.options.answer_max_s) is not None:
                self._watch(0, self.loop.time() + longest_s)

    def _watch(self, unsent: int, until: float) -> None:
        """Drop the client if it has read nothing of its answer since so many bytes were left, or if it is too late."""
        left = 0 if self._socket is None else self._socket.get_write_buffer_size()
        if (left and left == unsent) or self.loop.time() >= until:
            self.drop()
        else:
            self._timer = self.loop.call_later(SILENCE_MAX_S, self._watch, left, until)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or tell the client to come later: an ASGI application."""
        options = self._clients.options
        is_full = options.answered_max is not None and len(self._clients.answered) > options.answered_max
        answer: ASGIApp = _busy if is_full and scope["path"] not in options.always else self._application
        try:
            await answer(scope, receive, send)
        except ClientDisconnect:
            return
        except Exception as error:  # noqa: BLE001  # one request's error must not end the server
            log_failure(f"{options.name}_request_failed", error, options.name)


class _Handshake(SSLProtocol):
    """The handshake of TLS, during which a client has its place among those that have not asked yet."""

    max_size = 32_768  # bytes in the buffer of each connection; 256 kB take longer to make than the rest of an arrival

    def __init__(self, client: Client, tls: ssl.SSLContext) -> None:
        nobody: Any = None  # waits for the end of the handshake
        longest_s: Any = REQUEST_MAX_S  # annotated as a whole number there
        super().__init__(client.loop, client, tls, nobody, server_side=True, ssl_handshake_timeout=longest_s)
        self._client = client

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._client.arrive(transport)
        super().connection_made(transport)

    def connection_lost(self, exc: BaseException | None) -> None:
        self._client.leave()
        super().connection_lost(exc)


_busy = PlainTextResponse("too many requests at once; come again in a second\n", 503)
