"""Limits on repeated log lines: a few of a kind in a minute, and a count of the rest.

A fault of every agent is one fault, and should not fill the log. A failure beside a run, which does not end the run, is
logged in one line.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Lock

import msgspec
import structlog
from structlog.typing import EventDict, WrappedLogger

ERROR_CHARS = 200
"""The most characters of an error in the log."""

log = structlog.get_logger(__name__)


def log_failure(event: str, error: Exception, actor: str = "metrics") -> None:
    """Log a failure in one line."""
    log.warning(event, actor=actor, error=f"{type(error).__name__}: {error}"[:ERROR_CHARS])


LEFT_OUT = "log_lines_left_out"
LIMITED = frozenset({"warning", "error", "critical"})
LINES_MAX = 20
"""Lines of a kind in one period."""
PERIOD_S = 60.0


class _Window(msgspec.Struct):
    """The lines of one kind since `begun`: how many were logged, and how many were left out."""

    begun: float
    logged: int = 0
    left_out: int = 0


class LogLimit:
    """A structlog processor that drops warnings and errors of one name beyond the first 20 of a minute.

    A line `log_lines_left_out` gives the number of dropped lines, at the first event after the minute, or at the end.

    Args:
        clock: seconds, from any start.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._windows: dict[str, _Window] = {}
        self._lock = Lock()
        """Events come from the run's thread and from the threads that serve its metrics."""

    def __call__(self, _: WrappedLogger, method: str, event: EventDict) -> EventDict:
        """Return the event, unless it is over the limit."""
        # The text of a library's line differs each time, so its lines are counted by its logger.
        name = str(event.get("logger") or event.get("event"))
        if name == LEFT_OUT:
            return event
        now = self._clock()
        with self._lock:
            ended = self._end([each for each, window in self._windows.items() if now - window.begun >= PERIOD_S])
            is_logged = method not in LIMITED
            if not is_logged:
                window = self._windows.setdefault(name, _Window(now))
                is_logged = window.logged < LINES_MAX
                window.logged += is_logged
                window.left_out += not is_logged
        self._report(ended)
        if not is_logged:
            raise structlog.DropEvent
        return event

    def flush(self) -> None:
        """Log how many lines have been left out so far."""
        with self._lock:
            ended = self._end(list(self._windows))
        self._report(ended)

    def _end(self, names: list[str]) -> dict[str, int]:
        """End the minutes of these names; return `{name: lines left out}` of those that had any."""
        ended = {name: self._windows.pop(name).left_out for name in names}
        return {name: count for name, count in ended.items() if count}

    @staticmethod
    def _report(left_out: dict[str, int]) -> None:
        for name, count in left_out.items():
            limit = f"{LINES_MAX} in {PERIOD_S:.0f} s"
            structlog.get_logger().warning(LEFT_OUT, of=name, lines=count, limit=limit)
