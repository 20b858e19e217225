"""The server in a process of its own: for benchmarks, where a thread would share the client's interpreter."""

import subprocess
import sys
from types import TracebackType
from typing import Self

__all__ = ["ModelServerProcess"]


class ModelServerProcess:
    """`python -m actors.testing` with these options, for `with`. It keeps its port over restarts."""

    def __init__(self, *options: str, port: int = 0) -> None:
        self.port = port
        self._options = options
        self._process: subprocess.Popen[str] | None = None

    @property
    def url(self) -> str:
        """The base address, without a slash at its end."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, and wait until it listens."""
        command = [sys.executable, "-m", "actors.testing", *self._options, "--port", str(self.port)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603 - this interpreter
        if self._process.stdout is not None:
            self.port = int(self._process.stdout.readline().rsplit(":", 1)[1])

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
