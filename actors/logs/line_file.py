"""A text file that a thread writes line by line, so that a slow disk does not hold up the event loop."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import IO

from actors.core.files import open_own
from actors.logs.output import say

SIZE_MAX = 100_000_000
"""The most bytes of a file, by default. A line that is longer has a file of its own."""
KEPT = 5
"""The number of earlier files that are kept, as `NAME.1` (the latest) to `NAME.5`."""


class LineFile:
    """A file to which lines are appended in the order of `put`.

    A full disk ends the file and not the run; one line on standard error says so.

    Args:
        path: the file; created if it does not exist. A missing line end, as after a crash, is added.
        size_max: the bytes at which it is set aside, and a new file is begun.

    Raises:
        OSError: it cannot be opened.
    """

    def __init__(self, path: Path, size_max: int = SIZE_MAX) -> None:
        self._path = path
        self._size_max = size_max
        self._file = _open(path)
        self._size = self._file.tell()
        self._lines: SimpleQueue[bytes | None] = SimpleQueue()
        self._writer = Thread(target=self._write_all, name=f"writer of {path.name}", daemon=True)
        self._writer.start()

    def put(self, line: str) -> None:
        """Give the thread a line to append."""
        self._lines.put(line.encode("utf-8", "backslashreplace") + b"\n")

    def close(self) -> None:
        """Wait until the last line is written, and close the file."""
        self._lines.put(None)
        self._writer.join()
        with suppress(OSError):  # the thread has reported it
            self._file.close()

    def _write_all(self) -> None:
        line: bytes | None = b""
        try:
            while (line := self._lines.get()) is not None:
                self._write(line)
                if self._lines.empty():
                    self._file.flush()
            self._file.flush()
        except OSError as error:
            say(f"{self._path.name} ends here: {error.strerror}", level="error")
            while line is not None:  # a queue that nobody reads would grow for the rest of the run
                line = self._lines.get()

    def _write(self, line: bytes) -> None:
        if self._size and self._size + len(line) > self._size_max:
            self._set_aside()
        self._file.write(line)
        self._size += len(line)

    def _set_aside(self) -> None:
        """Begin a new file. The oldest file is removed first, so that a crash in between loses no other file."""
        self._file.close()
        numbered = [self._path, *(self._path.with_name(f"{self._path.name}.{number + 1}") for number in range(KEPT))]
        numbered[-1].unlink(missing_ok=True)
        for older, newer in zip(reversed(numbered[1:]), reversed(numbered[:-1]), strict=True):
            if newer.exists():
                newer.rename(older)
        self._file, self._size = _open(self._path), 0


def _open(path: Path) -> IO[bytes]:
    """Open a file for appending, at the beginning of a line."""
    file = os.fdopen(open_own(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT), "ab")
    if file.tell():
        with path.open("rb") as reader:
            reader.seek(-1, os.SEEK_END)
            if reader.read(1) != b"\n":
                file.write(b"\n")
    return file
