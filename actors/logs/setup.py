"""Set-up of logging: events go to standard error, readable on a terminal and JSON elsewhere, and to the run's file.

Each event gets the tick and the actor that it belongs to, loses its secrets, and is dropped when it is repeated too
often. A terminal shows fewer events than the run's file has. Decisions are not events: they are in the journal.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import structlog
from structlog.typing import EventDict, WrappedLogger

from actors.logs.line_file import LineFile
from actors.logs.rate_limit import LogLimit
from actors.logs.redaction import Redaction
from actors.logs.terminal import TerminalLog


class _CurrentStderr:
    """The standard error of the moment: a live display replaces `sys.stderr` while it runs."""

    def write(self, text: str) -> int:
        return sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()


class _JsonLines:
    """A processor that copies every event to a file and passes it on."""

    def __init__(self, file: LineFile) -> None:
        self._file = file
        self._render = structlog.processors.JSONRenderer(default=str)

    def __call__(self, logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
        self._file.put(str(self._render(logger, method, dict(event))))
        return event


class _Forwarding(logging.Handler):
    """A handler that passes the standard library's log records, of libraries and of `prism`, to structlog."""

    def emit(self, record: logging.LogRecord) -> None:
        details = {"exc_info": record.exc_info} if record.exc_info else {}
        structlog.get_logger().log(record.levelno, record.getMessage(), logger=record.name, **details)


class LogContext:
    """A processor that adds the tick and the actor to every event of a run that does not give its own."""

    def __init__(self) -> None:
        self.tick: Callable[[], int] | None = None
        """Returns the tick that the run is in; None while there is no run."""

    def __call__(self, _: WrappedLogger, __: str, event: EventDict) -> EventDict:
        """Return the event with its tick and its actor."""
        if self.tick is not None:
            event.setdefault("tick", self.tick())
        event.setdefault("actor", "run")
        return event


@contextmanager
def logging_to(path: Path | None) -> Iterator[LogContext]:
    """Send log events to standard error and, if a path is given, to that file, one JSON object a line.

    Yields:
        The context, which needs to be given the run's tick.
    """
    context, limit = LogContext(), LogLimit()
    file = LineFile(path) if path is not None else None
    terminal = TerminalLog(structlog.dev.ConsoleRenderer(colors=_has_colors())) if sys.stderr.isatty() else None
    structlog.configure(
        processors=[
            limit,
            structlog.contextvars.merge_contextvars,
            context,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            Redaction(os.environ),
            *([_JsonLines(file)] if file is not None else []),
            terminal or structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(_CurrentStderr()),  # type: ignore[arg-type]  # it only writes
    )
    # Libraries log warnings only, which is their loggers' level; `prism` logs at INFO too.
    handler, own = _Forwarding(logging.INFO), logging.getLogger("prism")
    logging.getLogger().addHandler(handler)
    level = own.level
    own.setLevel(logging.INFO)
    try:
        yield context
    finally:
        limit.flush()
        if terminal is not None:
            sys.stderr.write(terminal.remaining())
        own.setLevel(level)
        logging.getLogger().removeHandler(handler)
        structlog.reset_defaults()
        if file is not None:
            file.close()


def _has_colors() -> bool:
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
