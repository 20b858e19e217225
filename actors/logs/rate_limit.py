"""Limits on repeated log lines: a few of a kind in a minute, and a count of the rest.

A fault of every agent is one fault, and should not fill the log. A failure beside a run, which does not end the run, is
logged in one line.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Lock

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


class LogLimit:
    """A structlog processor that drops warnings and errors of one name beyond the first 20 of a minute.

    A line `log_lines_left_out` gives the number of dropped lines, at the first event after the minute, or at the end.

    Args:
        clock: seconds, from any start.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._counts: dict[str, tuple[float, int]] = {}
        """`{name: (the beginning of its minute, its events since)}`."""
        self._lock = Lock()
        """Events come from the run's thread and from the threads that serve its metrics."""

    def __call__(self, _: WrappedLogger, method: str, event: EventDict) -> EventDict:
        """Return the event, unless it is over the limit."""
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
        """Log how many lines have been left out so far."""
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
