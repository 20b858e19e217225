"""The server as an object: its own thread and event loop, so that a client which blocks its loop never blocks it."""

import asyncio
import socket
import threading
from types import TracebackType
from typing import Self

import anyio.to_thread

from actors.testing.app import App
from actors.testing.connection import Connection, Connections
from actors.testing.log import Exchange, Statistics
from actors.testing.settings import ServerSettings

__all__ = ["ModelServer"]


class ModelServer:
    """A server on a real socket, for `with` or `async with`. Port 0 picks a free one and keeps it over restarts."""

    def __init__(self, settings: ServerSettings | None = None, *, host: str = "127.0.0.1", port: int = 0) -> None:
        self.host = host
        self.port = port
        self._app = App(settings or ServerSettings())
        self._connections = Connections()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._stopping = asyncio.Event()

    @property
    def url(self) -> str:
        """The base address, without a slash at its end."""
        return f"http://{self.host}:{self.port}"

    @property
    def settings(self) -> ServerSettings:
        """The behaviour; assign another to change it while the server runs."""
        return self._app.settings

    @settings.setter
    def settings(self, settings: ServerSettings) -> None:
        self._app.settings = settings

    @property
    def requests(self) -> list[Exchange]:
        """All requests so far, in the order of their arrival."""
        return list(self._app.requests)

    @property
    def calls(self) -> list[Exchange]:
        """The inference calls so far, in the order of their arrival."""
        return [exchange for exchange in self.requests if exchange.call is not None]

    def statistics(self) -> Statistics:
        """The counts now."""
        app = self._app
        return Statistics(
            open_connections=len(self._connections.open),
            peak_connections=self._connections.peak,
            accepted_connections=self._connections.accepted,
            calls=app.calls,
            loads=app.loads,
            in_flight=app.in_flight,
            peak_in_flight=app.peak_in_flight,
            busy=app.slots.busy,
            peak_busy=app.slots.peak_busy,
            waiting=app.slots.waiting,
            peak_waiting=app.slots.peak_waiting,
        )

    def start(self) -> None:
        """Listen. The socket accepts from here on, even before the thread runs."""
        if self._thread is not None:
            return
        listener = socket.create_server((self.host, self.port), backlog=1024)  # with SO_REUSEADDR
        listener.setblocking(False)
        self.port = listener.getsockname()[1]
        self._app.restart()
        self._stopping = asyncio.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._run, args=(self._loop, listener), name="ollama-server", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Close the listener and every open connection at once, as a killed process would. Raises what crashed it."""
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
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: Connection(self._app, self._connections), sock=listener)
        await self._stopping.wait()
        server.close()
        while self._connections.open:
            for connection in list(self._connections.open):
                connection.abort()
            await asyncio.sleep(0)
        others = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.gather(*others, return_exceptions=True)
