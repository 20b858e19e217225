"""A server in a thread: uvicorn, with limits on clients that are slow or too many.

It does not use the event loop of a run, so a blocked loop does not block it. Anyone who can reach the port can open
connections and send nothing, or read nothing of an answer. uvicorn waits for such clients for ever, and each uses a
file descriptor of the process. So all clients are looked at four times a second, and those that take too long are
dropped.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from contextlib import ExitStack
from threading import Thread
from time import monotonic
from typing import Any, Final, NamedTuple

import anyio.to_thread
import uvicorn
from starlette.requests import ClientDisconnect
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from actors.core.errors import AddressError
from actors.logs.setup import log_failure

HEAD_MAX_BYTES = 65_536
BACKLOG = 1024
"""Connections that the system keeps until they are accepted. Further clients have to wait a second."""
LOOK_EVERY_S = 0.25
REQUEST_MAX_S = 10.0
"""The time that a client gets for the head of its request."""
SILENCE_MAX_S = 10.0
"""The time after which a client that takes nothing of its answer is dropped."""
CLOSED_WITHIN_S = 2.0
"""The time for answers under way when the server is closed."""
NOTED_EVERY_S = 1.0
ANY: Final = frozenset({"0.0.0.0", "::", ""})  # noqa: S104  # for a comparison only
"""The addresses that stand for all addresses of this machine."""


class ServerOptions(NamedTuple):
    """The options of a server.

    Args:
        name: the name of its thread, and of the actor in its log lines.
        workers: threads for the endpoints that are not coroutines.
        waiting_max: clients that have not sent the head of a request. If there are more, some are dropped.
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


class Server:
    """A server of an application, until it is closed."""

    def __init__(
        self, app: ASGIApp, listener: socket.socket, options: ServerOptions, tls: ssl.SSLContext | None = None
    ) -> None:
        self.port: int = listener.getsockname()[1]
        self._app = app
        self._listener = listener
        self._options = options
        self._answered = 0
        self._noted_at = -NOTED_EVERY_S
        stays_open = options.keep_alive_s is not None
        config = uvicorn.Config(
            self._answer,
            interface="asgi3",
            http="h11",
            ws="none",
            log_config=None,
            log_level=logging.CRITICAL,  # errors are logged where they are caught
            access_log=False,
            proxy_headers=False,
            server_header=False,
            date_header=False,
            backlog=BACKLOG,
            h11_max_incomplete_event_size=HEAD_MAX_BYTES,
            timeout_keep_alive=int(options.keep_alive_s or 0),
            timeout_graceful_shutdown=int(CLOSED_WITHIN_S),
            headers=[*options.headers, *([] if stays_open else [("Connection", "close")])],
        )
        config.load()
        config.ssl = tls
        self._uvicorn = uvicorn.Server(config)
        self._clients = Clients(self._uvicorn.server_state.connections, options)
        self._thread = Thread(target=lambda: asyncio.run(self._serve()), name=options.name, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening. Answers under way get a moment."""
        self._uvicorn.should_exit = True
        self._thread.join(2 * CLOSED_WITHIN_S)  # longer only if the making of a page does not end

    async def _serve(self) -> None:
        asyncio.get_running_loop().set_exception_handler(self._note)
        anyio.to_thread.current_default_thread_limiter().total_tokens = self._options.workers
        served = asyncio.create_task(self._uvicorn.serve([self._listener]))
        while not served.done():
            await asyncio.wait([served], timeout=LOOK_EVERY_S)
            self._clients.look()
        self._clients.drop()  # those that do not take their answers
        for _ in range(2):  # the loop closes their sockets
            await asyncio.sleep(0)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or tell the client to come later: an ASGI application."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        most, name = self._options.answered_max, self._options.name
        is_full = most is not None and self._answered >= most and scope["path"] not in self._options.always
        self._answered += 1
        try:
            await (BUSY if is_full else self._app)(scope, receive, send)
        except ClientDisconnect:
            return
        except Exception as error:  # noqa: BLE001  # one request's error must not end the server
            log_failure(f"{name}_request_failed", error, name)
        finally:
            self._answered -= 1

    def _note(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Log an error of no request, such as too many open files, which asyncio tells of each client in the queue."""
        if (now := monotonic()) - self._noted_at < NOTED_EVERY_S:
            return
        self._noted_at = now
        error = context.get("exception") or RuntimeError(context["message"])
        log_failure(f"{self._options.name}_request_failed", error, self._options.name)
        self._clients.drop(are_waiting=True)


BUSY = PlainTextResponse("too many requests at once; come again in a second\n", 503)


class Clients:
    """The clients of one server, looked at from time to time; `connections` are uvicorn's protocols, one for each."""

    def __init__(self, connections: set[Any], options: ServerOptions) -> None:
        self._connections = connections
        self._options = options
        self._seen: dict[Any, tuple[object, int, float, float]] = {}
        """`{client: (its request, unsent bytes of the answer, since when each has been so)}`, the oldest first."""

    def look(self) -> None:
        """Drop the clients that have been silent for too long, whose answer takes too long, or that are too many."""
        now, longest_s = monotonic(), self._options.answer_max_s or float("inf")
        latest = {}
        for client in [*(each for each in self._seen if each in self._connections), *self._connections]:
            request = getattr(client, "cycle", None)
            unsent = client.transport.get_write_buffer_size()
            before, left, asked_at, moved_at = self._seen.get(client, (request, unsent, now, now))
            asked_at = asked_at if request is before else now
            moved_at = moved_at if unsent and unsent == left and request is before else now
            latest[client] = request, unsent, asked_at, moved_at
        waiting = [client for client, (request, *_) in latest.items() if request is None]
        too_many = max(0, len(waiting) - self._options.waiting_max)
        # Those that have come since the last look stay: uvicorn keeps them in no order, and one of them may be honest.
        late = [client for client in waiting if client in self._seen][:too_many]
        self._seen = latest
        for client, (request, _, asked_at, moved_at) in latest.items():
            is_answered = request is not None and getattr(request, "response_complete", False)
            most_s = REQUEST_MAX_S if request is None else float("inf") if is_answered else longest_s
            if client in late or now - asked_at > most_s or now - moved_at >= SILENCE_MAX_S:
                client.transport.abort()

    def drop(self, *, are_waiting: bool = False) -> None:
        for client in list(self._connections):
            if client.cycle is None or not are_waiting:
                client.transport.abort()


def listen(host: str, port: int, use: str, names: tuple[str, str]) -> socket.socket:
    """Return a socket that listens.

    Args:
        port: 0 for any that is free.
        use: what listens there; `names`: what gives the host and the port. Both are for the error.

    Raises:
        AddressError: the address cannot be listened on.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        with ExitStack() as unless_bound:
            listener = unless_bound.enter_context(socket.socket(family, socket.SOCK_STREAM))
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(BACKLOG)
            unless_bound.pop_all()
    except (OSError, UnicodeError) as error:  # the latter for a host name that is not valid
        raise AddressError(use, host, port, error, names) from None
    return listener


def address_of(host: str, port: int, all_of_it: str, scheme: str = "http") -> str:
    """Return the address of a server; `all_of_it` replaces a host that stands for all addresses of this machine."""
    name = all_of_it if host in ANY else host
    return f"{scheme}://{f'[{name}]' if ':' in name else name}:{port}"
