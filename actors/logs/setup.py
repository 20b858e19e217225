"""Set-up of logging: events go to standard error, as text or as JSON, and to the run's file, as JSON.

Each event gets the tick and the actor that it belongs to, loses its secrets, and is dropped when it is repeated too
often. A terminal shows fewer events than the run's file has: of libraries and of `prism`, only warnings and errors.
Decisions are not events: they are in the journal.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from contextvars import ContextVar
from pathlib import Path
from threading import Lock
from typing import Any

import structlog
from anyio import to_thread
from structlog.typing import EventDict, Processor, WrappedLogger

from actors.core.events import FILE_ONLY
from actors.core.threads import in_threads
from actors.logs.line_file import SIZE_MAX, LineFile
from actors.logs.output import is_shown, output, write_error
from actors.logs.rate_limit import LogLimit
from actors.logs.redaction import Redaction
from prism.quoting import printable, printable_lines


class _Forwarding(logging.Handler):
    """A handler that passes the standard library's log records, of libraries and of `prism`, to structlog."""

    def emit(self, record: logging.LogRecord) -> None:
        details = {"exc_info": record.exc_info} if record.exc_info else {}
        structlog.get_logger().log(record.levelno, record.getMessage(), logger=record.name, **details)


class RunLog:
    """The log of one run: the processors of its events, its file, and its lines on standard error.

    Args:
        path: the file; none for a run in memory.
        size_max: the bytes at which the file is set aside.
        clock: seconds, from any start.

    Raises:
        OSError: the file cannot be opened.
    """

    def __init__(
        self, path: Path | None, size_max: int = SIZE_MAX, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.tick: Callable[[], int] | None = None
        """Returns the tick that the run is in; None while there is no run."""
        self.run_id: str | None = None
        """The run's name; None for a run without one."""
        self._limit = LogLimit(clock)
        self._file = LineFile(path, size_max) if path is not None else None
        self._json = structlog.processors.JSONRenderer(default=str)
        self._render = structlog.processors.JSONRenderer() if output.is_json else _text()
        self._processors: list[Processor] = [
            self._limit,
            structlog.contextvars.merge_contextvars,
            self._add_context,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            Redaction(os.environ),
            self._write,
        ]

    def _add_context(self, _: WrappedLogger, __: str, event: EventDict) -> EventDict:
        """Add the run, the tick and the actor to an event that does not give its own."""
        if self.run_id is not None:
            event.setdefault("run_id", self.run_id)
        if self.tick is not None:
            event.setdefault("tick", self.tick())
        event.setdefault("actor", "run")
        return event

    def _write(self, logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
        """Write an event to the file, if there is one, and print it, unless it is for the file only."""
        if self._file is not None:
            self._file.put(str(self._json(logger, method, dict(event))))
        is_of_library = method == "info" and "logger" in event and is_shown() and not output.is_json
        if event.get("event") not in FILE_ONLY and not is_of_library:
            write_error(f"{self._render(logger, method, event)!s}\n")
        raise structlog.DropEvent

    def process(self, logger: WrappedLogger, method: str, event: EventDict) -> Any:
        processed: Any = event
        for processor in self._processors:
            processed = processor(logger, method, processed)
        return processed

    @contextmanager
    def active(self) -> Iterator[RunLog]:
        """Log the events of the block, and of the tasks and threads that it starts.

        Of several runs in one process each logs its own events. What logging was before comes back after the last.
        """
        _logging.enter(self)
        token = _current.set(self)
        try:
            yield self
        finally:
            self._limit.flush()
            _current.reset(token)
            _logging.leave(self)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


_current: ContextVar[RunLog] = ContextVar("_current")


class _Logging:
    """The logging of the process while at least one run logs. Several may: each task has the log of its own run."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._logs: list[RunLog] = []
        self._handler = _Forwarding()
        self._before: dict[str, Any] | None = None
        self._level = logging.NOTSET

    def enter(self, log: RunLog) -> None:
        with self._lock:
            self._logs.append(log)
            if len(self._logs) > 1:
                return
            self._before = structlog.get_config() if structlog.is_configured() else None
            structlog.configure(
                processors=[self.process],
                wrapper_class=structlog.make_filtering_bound_logger(output.level),
                logger_factory=structlog.ReturnLoggerFactory(),  # `RunLog` prints, and standard output may be closed
            )
            # Libraries log warnings only, by the level of their loggers: some of them log headers at lower levels.
            own = logging.getLogger("prism")
            self._level = own.level
            own.setLevel(output.level)
            self._handler.setLevel(output.level)
            logging.getLogger().addHandler(self._handler)

    def leave(self, log: RunLog) -> None:
        """Stop logging a run. After the last run the process logs as it did before the first."""
        with self._lock:
            self._logs.remove(log)
            if self._logs:
                return
            logging.getLogger().removeHandler(self._handler)
            logging.getLogger("prism").setLevel(self._level)
            structlog.reset_defaults()
            if self._before is not None:
                structlog.configure(**self._before)

    def process(self, logger: WrappedLogger, method: str, event: EventDict) -> Any:
        if not self._logs:
            raise structlog.DropEvent
        return _current.get(self._logs[-1]).process(logger, method, event)


_logging = _Logging()


@contextmanager
def logging_to(path: Path | None) -> Iterator[RunLog]:
    """Send the events of the block to standard error and, if a path is given, to that file, one JSON object a line."""
    with closing(RunLog(path)) as log, log.active():
        yield log


@asynccontextmanager
async def open_log(path: Path | None, size_max: int = SIZE_MAX) -> AsyncIterator[RunLog]:
    """Do the same as `logging_to` in a task, by the clock of its loop, and open and close the file in a thread."""
    clock = asyncio.get_running_loop().time
    async with in_threads(closing(await to_thread.run_sync(RunLog, path, size_max, clock))) as log:
        with log.active():
            yield log


def _text() -> Processor:
    """Return the last processor for lines of text, which have colours on a terminal."""
    is_terminal = sys.stderr is not None and sys.stderr.isatty()
    has_colors = is_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    render = structlog.dev.ConsoleRenderer(colors=has_colors)

    def rendered(logger: WrappedLogger, method: str, event: EventDict) -> str:
        # Texts are escaped; other values are shown by `repr`, which escapes as much.
        texts = {name: printable(value) for name, value in event.items() if isinstance(value, str)}
        if isinstance(lines := event.get("exception"), str):
            texts["exception"] = printable_lines(lines)
        return str(render(logger, method, {**event, **texts}))

    return rendered
