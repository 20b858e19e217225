"""The server as an object: a thread and an event loop, so a client that blocks does not block the server."""

from __future__ import annotations

import asyncio
import errno
import math
import os
import socket
import threading
from collections.abc import Iterator, Sequence
from itertools import count
from types import TracebackType
from typing import Self

import anyio.to_thread

from actors.testing.server import ServerAddressError
from tests.standin.app import App, OnExchange
from tests.standin.connection import Connection, Connections
from tests.standin.exchange import Exchange
from tests.standin.server_statistics import Statistics
from tests.standin.settings import ServerSettings
from tests.standin.spells import Spell, SpellKind


class ModelServer:
    """A model server on a real socket, for `with` or `async with`. It may be stopped and started again.

    Args:
        settings: the behaviour, by default a server that answers at once and never fails.
        host: the address to listen on.
        port: the port; 0 picks a free one, which is kept over restarts.
        on_exchange: gets each ended exchange, in the server's thread.
    """

    def __init__(
        self,
        settings: ServerSettings | None = None,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        on_exchange: OnExchange | None = None,
    ) -> None:
        self.host = host
        self.port = port
        self._app = App(settings or ServerSettings(), on_exchange)
        self._connections = Connections()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._stopping = asyncio.Event()

    @property
    def url(self) -> str:
        """The base address, without a slash at its end."""
        return url_of(self.host, self.port)

    @property
    def settings(self) -> ServerSettings:
        """The behaviour; assign another to change it while the server runs."""
        return self._app.settings

    @settings.setter
    def settings(self, settings: ServerSettings) -> None:
        self._app.settings = settings

    @property
    def requests(self) -> list[Exchange]:
        """The latest requests, in the order of their arrival: as many as `settings.keeps`."""
        return list(self._app.exchanges)

    @property
    def calls(self) -> list[Exchange]:
        """The inference calls among `requests`."""
        return [exchange for exchange in self.requests if exchange.call is not None]

    def statistics(self) -> Statistics:
        """Return the counts now."""
        app, connections = self._app, self._connections
        return Statistics(
            requests=app.requests,
            calls=app.calls,
            abandoned=app.counters.abandoned,
            faults=dict(app.counters.faults),
            statuses=dict(app.counters.statuses),
            spells=dict(app.counters.spells),
            outages=app.outages,
            loads=app.loads,
            in_flight=app.in_flight,
            peak_in_flight=app.peak_in_flight,
            busy=app.slots.busy,
            peak_busy=app.slots.peak_busy,
            waiting=app.slots.waiting,
            peak_waiting=app.slots.peak_waiting,
            open_connections=len(connections.open),
            peak_connections=connections.peak,
            accepted_connections=connections.accepted,
            refused_connections=connections.refused,
        )

    def start(self) -> None:
        """Listen. The socket accepts from here on, even before the thread runs.

        Raises:
            ServerAddressError: the address cannot be listened on.
        """
        if self._thread is not None:
            return
        listener = _listener(self.host, self.port)
        self.port = listener.getsockname()[1]
        self._app.restart()
        self._stopping = asyncio.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, args=(self._loop, listener), name="model-server", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Close the listener and every open connection at once, as a killed process would.

        Raises:
            Exception: the error that has crashed the server.
        """
        if self._thread is None or self._loop is None:
            return
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join()
        self._thread = self._loop = None
        if (crash := self._connections.take_crash()) is not None:
            raise crash

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.stop()

    async def __aenter__(self) -> Self:
        await anyio.to_thread.run_sync(self.start)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(self.stop)

    def _run(self, loop: asyncio.AbstractEventLoop, listener: socket.socket) -> None:
        try:
            loop.run_until_complete(self._serve(listener))
        finally:
            loop.close()

    async def _serve(self, listener: socket.socket) -> None:
        stopped = asyncio.create_task(self._stopping.wait())
        for begin_s, end_s in _outages(self._app.settings.spells, asyncio.get_running_loop().time()):
            server = await self._listen(listener)
            await _until(begin_s, stopped)
            await self._go_away(server)
            if stopped.done():
                break
            self._app.outages += 1
            await _until(end_s, stopped)
            if stopped.done():
                break
            listener = _listener(self.host, self.port)
        others = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.gather(*others, return_exceptions=True)

    async def _listen(self, listener: socket.socket) -> asyncio.Server:
        return await asyncio.get_running_loop().create_server(
            lambda: Connection(self._app, self._connections), sock=listener
        )

    async def _go_away(self, server: asyncio.Server) -> None:
        """Close the listener and every open connection."""
        server.close()
        while self._connections.open:
            for connection in list(self._connections.open):
                connection.abort()
            await asyncio.sleep(0)


async def _until(time_s: float, stopped: asyncio.Task[bool]) -> None:
    """Wait until this time of the loop, or until the server is to stop."""
    left_s = None if time_s == math.inf else max(0.0, time_s - asyncio.get_running_loop().time())
    await asyncio.wait([stopped], timeout=left_s)


def _outages(spells: Sequence[Spell], begun_s: float) -> Iterator[tuple[float, float]]:
    """Yield the begin and the end of each outage, on the server's clock; the last of them never comes."""
    for spell in spells:
        if spell.kind is SpellKind.OUTAGE:
            yield from ((begun_s + begin_s, begun_s + end_s) for begin_s, end_s in map(spell.span, count()))
    yield math.inf, math.inf


def url_of(host: str, port: int) -> str:
    """Return the base address of a server that listens there."""
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _listener(host: str, port: int) -> socket.socket:
    if not 0 <= port < 1 << 16:
        raise ServerAddressError(host, port, "a port is 0 to 65535", is_port=True)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=1024)  # with SO_REUSEADDR
    except OSError as error:
        # create_server puts the address into the message; an unknown name has a number of its own, below 0.
        is_named = error.errno is not None and error.errno > 0
        problem = os.strerror(error.errno or 0) if is_named else str(error)
        is_port = error.errno in {errno.EADDRINUSE, errno.EACCES}
        raise ServerAddressError(host, port, problem, is_port=is_port) from None
    listener.setblocking(False)
    return listener
