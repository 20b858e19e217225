"""The server in a process of its own: for benchmarks, where a thread would share the client's interpreter."""

import multiprocessing
import signal
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Self

import msgspec

from actors.testing.settings import ModelServerError, ServerSettingsError
from tests.standin.server import ModelServer, Statistics
from tests.standin.settings import ServerSettings


class ServerProcessError(ModelServerError):
    """A server's process that ended before it listened, or that does not run."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"the process of the server {problem}")


class ModelServerProcess:
    """A model server in a process of its own, for `with`. It keeps its port over restarts, and ends with its parent.

    Args:
        settings: as for `ModelServer`, without a `reply` hook, which cannot cross to another process.
        host: the address to listen on.
        port: the port; 0 picks a free one.

    Raises:
        ServerSettingsError: there is a hook.
    """

    def __init__(self, settings: ServerSettings | None = None, *, host: str = "127.0.0.1", port: int = 0) -> None:
        self.settings = settings or ServerSettings()
        if self.settings.reply is not None:
            raise ServerSettingsError("reply", "cannot cross to another process; use ModelServer")
        self.host = host
        self.port = port
        self._process: multiprocessing.process.BaseProcess | None = None
        self._pipe: Connection | None = None

    @property
    def url(self) -> str:
        """The base address, without a slash at its end."""
        return f"http://{self.host}:{self.port}"

    def start(self) -> None:
        """Start it, and wait until it listens.

        Raises:
            ServerProcessError: it ended before it listened.
        """
        if self._process is not None:
            return
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        settings = msgspec.structs.replace(self.settings, keeps=0)  # nobody can look at the exchanges from here
        process = context.Process(target=_serve, args=(settings, self.host, self.port, theirs), daemon=True)
        process.start()
        theirs.close()
        try:
            self.port = ours.recv()
        except EOFError:
            process.join()
            raise ServerProcessError(f"ended with {process.exitcode}") from None
        self._process, self._pipe = process, ours

    def end(self) -> Statistics:
        """End it, and return its counts."""
        if self._pipe is None:
            raise ServerProcessError("does not run")
        self._pipe.send(None)
        counts: Statistics = self._pipe.recv()
        self.stop()
        return counts

    def stop(self) -> None:
        """Kill it."""
        if self._process is not None and self._pipe is not None:
            self._process.kill()
            self._process.join()
            self._pipe.close()
            self._process = self._pipe = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.stop()


def _serve(settings: ServerSettings, host: str, port: int, pipe: Connection) -> None:
    """Serve until the parent wants the counts, or is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, with which this one ends
    with ModelServer(settings, host=host, port=port) as server:
        pipe.send(server.port)
        try:
            pipe.recv()
        except EOFError:
            return
        pipe.send(server.statistics())
