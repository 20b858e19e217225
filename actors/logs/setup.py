"""Logging: events go to standard error, as text or as JSON, and to the run's file, as JSON. Decisions are no events.

Each event gets the tick and the actor that it belongs to, loses its secrets, and is dropped when it is repeated too
often. A terminal shows fewer events than the file has: of libraries and of `prism`, only warnings and errors.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from contextvars import ContextVar
from io import TextIOWrapper
from logging import LogRecord, makeLogRecord
from logging.handlers import QueueListener, RotatingFileHandler
from pathlib import Path
from queue import SimpleQueue
from threading import Lock
from typing import Any

import structlog
from anyio import to_thread
from structlog.typing import EventDict, Processor, WrappedLogger

from actors.core.events import FILE_ONLY
from actors.core.files import open_own
from actors.core.threads import in_threads
from actors.logs.output import is_shown, output, say, write_error
from prism.quoting import printable, printable_lines

SIZE_MAX = 100_000_000
"""The most bytes of a file, by default. A line that is longer has a file of its own."""
KEPT = 5
"""The number of earlier files that are kept, as `NAME.1` (the latest) to `NAME.5`."""


class LineFile:
    """A file to which a thread appends lines in the order of `put`, so that a slow disk holds up no event loop.

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
        self._lines.put(makeLogRecord({"msg": line}))

    def close(self) -> None:
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
        path = Path(self.baseFilename)
        descriptor = open_own(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        file = TextIOWrapper(os.fdopen(descriptor, "ab"), encoding=self.encoding, errors=self.errors)
        if file.tell():
            with path.open("rb") as reader:
                reader.seek(-1, os.SEEK_END)
                if reader.read(1) != b"\n":
                    file.write("\n")
        return file


HIDDEN = "[redacted]"
SECRET_CHARS_MIN = 8
"""The shortest secret that is redacted in any text: a shorter one occurs in ordinary words, and protects nothing."""

_SECRET_NAME = re.compile(
    r"(?:^|[._-])(?:password|passwd|passphrase|secret|token|authorization|cookie|credentials?|api_?key)(?:$|[._-])",
    re.IGNORECASE,
)


class Redaction:
    """A structlog processor that replaces secrets in an event by `[redacted]`.

    Args:
        environment: its variables with a secret's name hold secrets, such as `OPENAI_API_KEY`.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        secrets = {
            value for name, value in environment.items() if is_secret_name(name) and len(value) >= SECRET_CHARS_MIN
        }
        # The longest first: one secret may be part of another.
        pattern = "|".join(re.escape(secret) for secret in sorted(secrets, key=len, reverse=True))
        self._secrets = re.compile(pattern) if pattern else None

    def __call__(self, _: WrappedLogger, __: str, event: EventDict) -> EventDict:
        return {key: self._value(key, value) for key, value in event.items()}

    def _value(self, key: str, value: Any) -> Any:
        # Numbers under such names are counts, of tokens for instance.
        if is_secret_name(key) and isinstance(value, str | bytes):
            return HIDDEN
        return self._clean(value)

    def _clean(self, value: Any) -> Any:
        if value is None or isinstance(value, bool | int | float):
            return value
        if isinstance(value, dict):
            return {self._clean(key): self._value(str(key), item) for key, item in value.items()}
        if isinstance(value, list | tuple | set | frozenset):
            return [self._clean(item) for item in value]
        # Anything else is logged as its text, so the text must be clean.
        text = value if isinstance(value, str) else repr(value) if isinstance(value, bytes) else str(value)
        return text if self._secrets is None else self._secrets.sub(HIDDEN, text)


def is_secret_name(name: str) -> bool:
    return _SECRET_NAME.search(name) is not None


ERROR_CHARS = 200
"""The most characters of an error in the log."""

log = structlog.get_logger(__name__)


def log_failure(event: str, error: Exception, actor: str = "metrics") -> None:
    log.warning(event, actor=actor, error=f"{type(error).__name__}: {error}"[:ERROR_CHARS])


LEFT_OUT = "log_lines_left_out"
LIMITED = frozenset({"warning", "error", "critical"})
LINES_MAX = 20
"""Lines of a kind in one period."""
PERIOD_S = 60.0


class LogLimit:
    """A structlog processor that drops warnings and errors of one name beyond the first 20 of a minute.

    A line `log_lines_left_out` gives the number of dropped lines, at the first event after the minute, or at the end.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._counts: dict[str, tuple[float, int]] = {}
        """`{name: (the beginning of its minute, its events since)}`."""
        self._lock = Lock()
        """Events come from the run's thread and from the threads that serve its metrics."""

    def __call__(self, _: WrappedLogger, method: str, event: EventDict) -> EventDict:
        # The text of a library's line differs each time, so its lines are counted by its logger.
        name = str(event.get("logger") or event.get("event"))
        if name == LEFT_OUT:
            return event
        now = self._clock()
        self._end_minutes(now - PERIOD_S)
        if method in LIMITED:
            with self._lock:
                begun, count = self._counts.get(name, (now, 0))
                self._counts[name] = begun, count + 1
            if count >= LINES_MAX:
                raise structlog.DropEvent
        return event

    def flush(self) -> None:
        self._end_minutes(float("inf"))

    def _end_minutes(self, before: float) -> None:
        """End the minutes that have begun until then, and log how many lines each has left out."""
        with self._lock:
            ended = {name: count for name, (begun, count) in self._counts.items() if begun <= before}
            for name in ended:
                del self._counts[name]
        for name, count in ended.items():
            if count > LINES_MAX:
                limit = f"{LINES_MAX} in {PERIOD_S:.0f} s"
                structlog.get_logger().warning(LEFT_OUT, of=name, lines=count - LINES_MAX, limit=limit)


class _Forwarding(logging.Handler):
    """A handler that passes the standard library's log records, of libraries and of `prism`, to structlog."""

    def emit(self, record: logging.LogRecord) -> None:
        details = {"exc_info": record.exc_info} if record.exc_info else {}
        structlog.get_logger().log(record.levelno, record.getMessage(), logger=record.name, **details)


class RunLog:
    """The log of one run: the processors of its events, its file if it has a path, and its lines on standard error.

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
