"""A text file that a thread writes line by line, so that a slow disk does not hold up the event loop."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from threading import Thread


def _opened(path: str, flags: int) -> int:
    """Open a file; a named pipe in its place is refused, where it would otherwise wait for a reader."""
    return os.open(path, flags | os.O_NONBLOCK, 0o644)


class LineFile:
    """A file to which lines are appended in the order of `put`.

    A full disk ends the file and not the run; one line on standard error says so.

    Args:
        path: the file; created where there is none.

    Raises:
        OSError: it cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self._name = path.name
        self._file = open(path, "a", encoding="utf-8", opener=_opened)  # noqa: SIM115  # closed in `close`
        self._lines: SimpleQueue[str | None] = SimpleQueue()
        self._writer = Thread(target=self._write, name=f"writer of {path.name}", daemon=True)
        self._writer.start()

    def put(self, line: str) -> None:
        """Give the thread a line to append."""
        self._lines.put(line + "\n")

    def close(self) -> None:
        """Wait until the last line is written, and close the file."""
        self._lines.put(None)
        self._writer.join()
        with suppress(OSError):  # the thread has reported it
            self._file.close()

    def _write(self) -> None:
        try:
            while (line := self._lines.get()) is not None:
                self._file.write(line)
                if self._lines.empty():
                    self._file.flush()
            self._file.flush()
        except OSError as error:
            sys.stderr.write(f"{self._name} ends here: {error.strerror}\n")
