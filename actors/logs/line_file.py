"""A text file that a thread writes line by line, so that a slow disk does not hold up the event loop."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from io import TextIOWrapper
from logging import LogRecord, makeLogRecord
from logging.handlers import QueueListener, RotatingFileHandler
from pathlib import Path
from queue import SimpleQueue

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
        self._file = _File(path, size_max)
        self._lines: SimpleQueue[LogRecord] = SimpleQueue()
        self._listener = QueueListener(self._lines, self._file)
        self._listener.start()

    def put(self, line: str) -> None:
        """Give the thread a line to append."""
        self._lines.put(makeLogRecord({"msg": line}))

    def close(self) -> None:
        """Wait until the last line is written, and close the file."""
        self._listener.stop()
        with suppress(OSError):  # the thread has reported it
            self._file.close()


class _File(RotatingFileHandler):
    """The standard library's rotating file, of a run's own, that ends at its first error."""

    def __init__(self, path: Path, size_max: int) -> None:
        self._has_ended = False
        super().__init__(path, maxBytes=size_max, backupCount=KEPT, encoding="utf-8", errors="backslashreplace")

    def emit(self, record: LogRecord) -> None:
        if not self._has_ended:
            super().emit(record)

    def handleError(self, record: LogRecord) -> None:  # noqa: ARG002, N802  # the library's name
        self._has_ended = True
        error = sys.exc_info()[1]
        say(f"{Path(self.baseFilename).name} ends here: {getattr(error, 'strerror', error)}", level="error")

    def _open(self) -> TextIOWrapper:
        """Open the file for appending, at the beginning of a line."""
        path = Path(self.baseFilename)
        descriptor = open_own(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        file = TextIOWrapper(os.fdopen(descriptor, "ab"), encoding=self.encoding, errors=self.errors)
        if file.tell():
            with path.open("rb") as reader:
                reader.seek(-1, os.SEEK_END)
                if reader.read(1) != b"\n":
                    file.write("\n")
        return file
