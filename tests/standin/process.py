"""The server in a process of its own: for benchmarks, where a thread would share the client's interpreter."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from types import TracebackType
from typing import Self

import msgspec

from actors.testing.settings import ModelServerError, ServerSettingsError
from tests.paths import ROOT
from tests.standin.server import ModelServer, Statistics
from tests.standin.settings import ServerSettings


class ServerProcessError(ModelServerError):
    """A server's process that ended before it listened, or that does not run."""

    def __init__(self, code: int) -> None:
        super().__init__(f"the process of the server ended with {code}")


class Start(msgspec.Struct, frozen=True, kw_only=True):
    """Orders of a server's process, as JSON in its one argument."""

    settings: ServerSettings
    host: str
    port: int


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
        self._process: subprocess.Popen[str] | None = None

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
        orders = msgspec.json.encode(Start(settings=self.settings, host=self.host, port=self.port)).decode()
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "tests.standin", orders],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="ascii",
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        port = process.stdout.readline() if process.stdout is not None else ""
        if not port:
            process.communicate()
            raise ServerProcessError(process.returncode)
        self.port = int(port)
        self._process = process

    def end(self) -> Statistics:
        """End it, and return its counts."""
        if self._process is None:
            raise ServerProcessError(0)
        counts, _ = self._process.communicate()
        self._process = None
        return msgspec.json.decode(counts, type=Statistics)

    def stop(self) -> None:
        """Kill it."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.stop()


def serve(orders: str) -> None:
    """Serve as ordered: print the port, and end with standard input, which ends with the parent."""
    start = msgspec.json.decode(orders, type=Start)
    # Nobody can look at the exchanges from here.
    settings = msgspec.structs.replace(start.settings, keeps=0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, with which this one ends
    with ModelServer(settings, host=start.host, port=start.port) as server:
        sys.stdout.write(f"{server.port}\n")
        sys.stdout.flush()
        sys.stdin.read()
        sys.stdout.write(msgspec.json.encode(server.statistics()).decode())
