"""Set-up of logging: events go to standard error, readable on a terminal and JSON elsewhere, and to the run's file.

Each event gets the tick and the actor that it belongs to, loses its secrets, and is dropped when it is repeated too
often. A terminal shows fewer events than the run's file has. Decisions are not events: they are in the journal.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from contextvars import ContextVar
from pathlib import Path
from threading import Lock
from typing import Any

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from actors.core.events import FILE_ONLY
from actors.core.notebook import in_notebook
from actors.core.threads import in_threads
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


def _drop_file_only(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    """Return the event, unless only the file has events like it."""
    if event.get("event") in FILE_ONLY:
        raise structlog.DropEvent
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
        self.run_id: str | None = None
        """The run's name; None for a run without one."""

    def __call__(self, _: WrappedLogger, __: str, event: EventDict) -> EventDict:
        """Return the event with its run, its tick and its actor."""
        if self.run_id is not None:
            event.setdefault("run_id", self.run_id)
        if self.tick is not None:
            event.setdefault("tick", self.tick())
        event.setdefault("actor", "run")
        return event


class RunLog:
    """The log of one run: the processors of its events, its file, and its lines on a terminal.

    Args:
        path: the file; none for a run in memory.

    Raises:
        OSError: the file cannot be opened.
    """

    def __init__(self, path: Path | None) -> None:
        self.context = LogContext()
        self._limit = LogLimit()
        self._file = LineFile(path) if path is not None else None
        self._terminal = TerminalLog(structlog.dev.ConsoleRenderer(colors=_has_colors())) if is_shown() else None
        self._processors: list[Processor] = [
            self._limit,
            structlog.contextvars.merge_contextvars,
            self.context,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            Redaction(os.environ),
            *([_JsonLines(self._file)] if self._file is not None else []),
            _drop_file_only,
            self._terminal or structlog.processors.JSONRenderer(),
        ]

    def process(self, logger: WrappedLogger, method: str, event: EventDict) -> Any:
        """Return an event as the line to print."""
        processed: Any = event
        for processor in self._processors:
            processed = processor(logger, method, processed)
        return processed

    @contextmanager
    def active(self) -> Iterator[LogContext]:
        """Log the events of the block, and of the tasks and threads that it starts.

        Of several runs in one process each logs its own events. What logging was before comes back after the last.

        Yields:
            The context, which needs to be given the run's tick.
        """
        _logging.enter(self)
        token = _current.set(self)
        try:
            yield self.context
        finally:
            self._limit.flush()
            if self._terminal is not None:
                sys.stderr.write(self._terminal.remaining())
            _current.reset(token)
            _logging.leave(self)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()


_current: ContextVar[RunLog] = ContextVar("_current")


class _Logging:
    """The logging of the process while at least one run logs. Several may: each task has the log of its own run."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._logs: list[RunLog] = []
        self._handler = _Forwarding(logging.INFO)
        self._before: dict[str, Any] | None = None
        self._level = logging.NOTSET

    def enter(self, log: RunLog) -> None:
        """Log a run, too."""
        with self._lock:
            self._logs.append(log)
            if len(self._logs) == 1:
                self._install()

    def leave(self, log: RunLog) -> None:
        """Log it no more. After the last run the process logs as it did before the first."""
        with self._lock:
            self._logs.remove(log)
            if not self._logs:
                self._uninstall()

    def process(self, logger: WrappedLogger, method: str, event: EventDict) -> Any:
        """Return an event as its run prints it. In a thread that is no run's own it belongs to the latest run.

        Raises:
            DropEvent: no run logs any more.
        """
        if not self._logs:
            raise structlog.DropEvent
        return _current.get(self._logs[-1]).process(logger, method, event)

    def _install(self) -> None:
        self._before = structlog.get_config() if structlog.is_configured() else None
        structlog.configure(
            processors=[self.process],
            wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
            logger_factory=structlog.PrintLoggerFactory(_CurrentStderr()),  # type: ignore[arg-type]  # it only writes
        )
        # Libraries log warnings only, which is their loggers' level; `prism` logs at INFO too.
        own = logging.getLogger("prism")
        self._level = own.level
        own.setLevel(logging.INFO)
        logging.getLogger().addHandler(self._handler)

    def _uninstall(self) -> None:
        logging.getLogger().removeHandler(self._handler)
        logging.getLogger("prism").setLevel(self._level)
        structlog.reset_defaults()
        if self._before is not None:
            structlog.configure(**self._before)


_logging = _Logging()


@contextmanager
def logging_to(path: Path | None) -> Iterator[LogContext]:
    """Send the events of the block to standard error and, if a path is given, to that file, one JSON object a line.

    Yields:
        The context, which needs to be given the run's tick.
    """
    with closing(RunLog(path)) as log, log.active() as context:
        yield context


@asynccontextmanager
async def open_log(path: Path | None) -> AsyncIterator[LogContext]:
    """Do the same as `logging_to` in a task, and open and close the file in a thread."""
    async with in_threads(closing(RunLog(path))) as log:
        with log.active() as context:
            yield context


def is_shown() -> bool:
    """Return whether somebody reads standard error as it is written: on a terminal, or below a notebook's cell."""
    return sys.stderr.isatty() or in_notebook()


def _has_colors() -> bool:
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb" and sys.stderr.isatty()
