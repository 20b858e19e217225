"""The connections of the server, each with raw control of its socket."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections import deque
from http import HTTPStatus
from typing import cast

from tests.standin.app import App
from tests.standin.errors import BadFrameError
from tests.standin.wire import Request, RequestParser, bad_frame

MAX_PIPELINED = 16
"""The most waiting requests of one client; at this number, the server reads nothing more from it."""

_LINGER_0 = struct.pack("ii", 1, 0)


class Connections:
    """The connections open now, the counts, and the first error of the server itself."""

    def __init__(self) -> None:
        self.open: set[Connection] = set()
        self.accepted = 0
        self.refused = 0
        self.peak = 0
        self._crash: BaseException | None = None

    def add(self, connection: Connection) -> None:
        """Count a connection in."""
        self.open.add(connection)
        self.accepted += 1
        self.peak = max(self.peak, len(self.open))

    def crash(self, error: BaseException) -> None:
        """Keep the first error, so that it is raised where the test can see it."""
        self._crash = self._crash or error

    def take_crash(self) -> BaseException | None:
        """Return the error kept, once."""
        crash, self._crash = self._crash, None
        return crash


class Connection(asyncio.Protocol):
    """One client: its requests are answered in order; if it leaves, they are given up, as in Go."""

    def __init__(self, app: App, connections: Connections) -> None:
        self.closes = False
        self._app = app
        self._all = connections
        self._parser = RequestParser()
        self._waiting: deque[Request] = deque()
        self._task: asyncio.Task[None] | None = None
        self._transport: asyncio.Transport | None = None
        self._is_flooded = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Count the connection in, or refuse it where there are too many."""
        self._transport = cast("asyncio.Transport", transport)
        if len(self._all.open) >= self._app.settings.max_connections:
            self._all.refused += 1
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE)
            return
        self._all.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Count the connection out, and give up its requests."""
        self._all.open.discard(self)
        self._waiting.clear()
        if self._task is not None:
            self._task.cancel()

    def data_received(self, data: bytes) -> None:
        """Take in bytes, and begin with the first whole request."""
        if self._transport is None or self._transport.is_closing():
            return
        try:
            self._waiting += self._parser.feed(data)
        except BadFrameError as error:
            self._refuse(error.status)
            return
        if len(self._waiting) >= MAX_PIPELINED:
            self._transport.pause_reading()
        self._next()

    def pause_writing(self) -> None:
        """Start no further request: the client reads its answers too slowly."""
        self._is_flooded = True

    def resume_writing(self) -> None:
        """Go on with the requests."""
        self._is_flooded = False
        self._next()

    def write(self, data: bytes) -> None:
        """Send bytes, buffered if need be."""
        if self._transport is not None:
            self._transport.write(data)

    def close(self) -> None:
        """Send what is buffered, then close."""
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Close at once, losing what is buffered."""
        if self._transport is not None:
            self._transport.abort()

    def reset(self) -> None:
        """Drop the connection with an RST."""
        if self._transport is not None:
            self._transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_0)
            self._transport.abort()

    def _next(self) -> None:
        if self._task is not None or self._is_flooded or not self._waiting:
            return
        request = self._waiting.popleft()
        if self._transport is not None and len(self._waiting) < MAX_PIPELINED and not self._transport.is_closing():
            self._transport.resume_reading()
        self.closes = not request.keeps_alive
        self._task = asyncio.get_running_loop().create_task(self._app.handle(request, self))
        self._task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._task = None
        if not task.cancelled() and (error := task.exception()) is not None:
            self._all.crash(error)
            self.abort()
        self._next()

    def _refuse(self, status: HTTPStatus) -> None:
        self._waiting.clear()
        self.write(bad_frame(status))
        self.close()
