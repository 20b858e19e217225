"""A server in a thread: it does not use the event loop of a run, so a blocked loop does not block it."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from contextlib import ExitStack
from threading import Thread
from time import monotonic
from typing import Any, Final

import anyio.to_thread
import uvicorn
from starlette.types import ASGIApp

from actors.core.errors import AddressError
from actors.http.connection import Clients, ServerOptions
from actors.logs.failure_log import log_failure

HEAD_MAX_BYTES = 65_536
BACKLOG = 1024
"""Connections that the system keeps until they are accepted. Further clients have to wait a second."""
CLOSED_WITHIN_S = 2.0
"""The time for answers under way when the server is closed."""
NOTED_EVERY_S = 1.0
ANY: Final = frozenset({"0.0.0.0", "::", ""})  # noqa: S104  # for a comparison only
"""The addresses that stand for all addresses of this machine."""


class Server:
    """A server of an application, until it is closed.

    Args:
        app: what is served.
        listener: a socket that listens.
        tls: encrypts the connections; None if they are not encrypted.
    """

    def __init__(
        self, app: ASGIApp, listener: socket.socket, options: ServerOptions, tls: ssl.SSLContext | None = None
    ) -> None:
        self.port: int = listener.getsockname()[1]
        self._listener = listener
        self._options = options
        clients = Clients(options, tls)
        stays_open = options.keep_alive_s is not None
        http: Any = clients.new  # annotated as a class there, and only called
        config = uvicorn.Config(
            app,
            http=http,
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
        self._clients = clients
        self._noted_at = -NOTED_EVERY_S
        self._uvicorn = _Uvicorn(config, clients)
        self._thread = Thread(target=lambda: asyncio.run(self._serve()), name=options.name, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening. Answers under way get a moment."""
        self._uvicorn.should_exit = True
        self._thread.join(2 * CLOSED_WITHIN_S)  # longer only if the making of a page does not end

    async def _serve(self) -> None:
        asyncio.get_running_loop().set_exception_handler(self._note)
        anyio.to_thread.current_default_thread_limiter().total_tokens = self._options.workers
        await self._uvicorn.serve([self._listener])

    def _note(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Log an error that belongs to no request, such as too many open files to accept a client.

        asyncio tells that of each client in the queue.
        """
        if (now := monotonic()) - self._noted_at < NOTED_EVERY_S:
            return
        self._noted_at = now
        error = context.get("exception") or RuntimeError(context["message"])
        log_failure(f"{self._options.name}_request_failed", error, self._options.name)
        self._clients.drop_waiting()


class _Uvicorn(uvicorn.Server):
    """The server of uvicorn. It does not wait for ever for clients that do not take their answers."""

    def __init__(self, config: uvicorn.Config, clients: Clients) -> None:
        super().__init__(config)
        self._clients = clients

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        asyncio.get_running_loop().call_later(CLOSED_WITHIN_S, self._clients.drop_all)
        await super().shutdown(sockets)


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
    """Return the address of a server, without a path.

    Args:
        all_of_it: the name that replaces a host which stands for all addresses of this machine.
    """
    name = all_of_it if host in ANY else host
    return f"{scheme}://{f'[{name}]' if ':' in name else name}:{port}"
