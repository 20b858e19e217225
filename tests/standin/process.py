"""The server in a process of its own, where a thread would share the client's interpreter, or die with it."""

import multiprocessing
import signal
from multiprocessing.connection import Connection
from typing import Self

import msgspec

from tests.standin.server import ModelServer, Statistics
from tests.standin.settings import ServerSettings


class ModelServerProcess:
    """A model server in a process of its own, for `with`. It keeps its port over restarts, and ends with its parent.

    Its settings have no `reply`, which cannot cross to another process; a port of 0 is one that is free.
    """

    def __init__(self, settings: ServerSettings | None = None, *, port: int = 0) -> None:
        # Nobody can look at the exchanges from here.
        self._settings = msgspec.structs.replace(settings or ServerSettings(), keeps=0)
        self.port = port

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, and wait until it listens."""
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(self._settings, self.port, theirs), daemon=True)
        self._process.start()
        theirs.close()
        self.port = self._pipe.recv()

    def end(self) -> Statistics:
        """End it, and return its counts."""
        self._pipe.send(None)
        counts: Statistics = self._pipe.recv()
        self.stop()
        return counts

    def stop(self) -> None:
        """Kill it."""
        self._process.kill()
        self._process.join()
        self._pipe.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def _serve(settings: ServerSettings, port: int, pipe: Connection) -> None:
    """Serve until the parent wants the counts, or is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, with which this one ends
    with ModelServer(settings, port=port) as server:
        pipe.send(server.port)
        try:
            pipe.recv()
        except EOFError:
            return
        pipe.send(server.statistics())
