"""Where log events go: to standard error, readable on a terminal and JSON elsewhere, and as JSON lines to the run."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any, TextIO

import structlog
from structlog.typing import EventDict, WrappedLogger


class _CurrentStderr:
    """Standard error as it is now: a live display puts itself in its place while it runs."""

    def write(self, text: str) -> int:
        return sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()


class _JsonLines:
    """A processor that copies every event to a file and passes it on.

    A thread writes, because a slow disk must not hold up the event loop. A full disk ends the copy, not the run.
    """

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._lines: SimpleQueue[str | None] = SimpleQueue()
        self._render = structlog.processors.JSONRenderer(default=str)
        self._writer = Thread(target=self._write, name="log", daemon=True)
        self._writer.start()

    def __call__(self, logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
        self._lines.put(str(self._render(logger, method, dict(event))) + "\n")
        return event

    def close(self) -> None:
        """Write what is still to be written, and close the file."""
        self._lines.put(None)
        self._writer.join()
        with suppress(OSError):  # the thread has said so
            self._file.close()

    def _write(self) -> None:
        try:
            while (line := self._lines.get()) is not None:
                self._file.write(line)
                if self._lines.empty():
                    self._file.flush()
            self._file.flush()
        except OSError as error:
            sys.stderr.write(f"log.jsonl ends here: {error.strerror}\n")


class _Forwarding(logging.Handler):
    """Hands what libraries and `prism` log through the standard library to structlog."""

    def emit(self, record: logging.LogRecord) -> None:
        structlog.get_logger(record.name).log(record.levelno, record.getMessage())


@contextmanager
def logging_to(path: Path | None) -> Iterator[None]:
    """Send log events to standard error and, where a path is given, to that file, a JSON object a line."""
    lines = _JsonLines(path.open("a", encoding="utf-8")) if path is not None else None
    renderer: Any = (
        structlog.dev.ConsoleRenderer(colors=True) if sys.stderr.isatty() else structlog.processors.JSONRenderer()
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            *([lines] if lines is not None else []),
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(_CurrentStderr()),  # type: ignore[arg-type]  # it only writes
    )
    handler = _Forwarding(logging.WARNING)
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)
        structlog.reset_defaults()
        if lines is not None:
            lines.close()
