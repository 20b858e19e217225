"""Limits on repeated log lines: a few of a kind in a minute, and a count of the rest.

A fault of every agent is one fault, and should not fill the log.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from threading import Lock
from typing import Any

import msgspec
import structlog
from structlog.typing import EventDict, WrappedLogger

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


class LineCounts:
    """Counts of log lines by kind, each over the minute from its first line. For any thread.

    Args:
        lines_max: lines of a kind in a minute.
        clock: seconds, from any start.
    """

    def __init__(self, lines_max: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.lines_max = lines_max
        self._clock = clock
        self._windows: dict[str, _Window] = {}
        self._lock = Lock()
        """Events come from the run's thread and from the threads that serve its metrics."""

    def count(self, kind: str, *, is_limited: bool) -> tuple[bool, dict[str, int]]:
        """Count a line; return whether it may be logged, and `{kind: lines left out}` of kinds whose minute is over."""
        now = self._clock()
        with self._lock:
            ended = self._end([name for name, window in self._windows.items() if now - window.begun >= PERIOD_S])
            return not is_limited or self._admit(kind, now), ended

    def end_all(self) -> dict[str, int]:
        """End every kind's minute; return `{kind: lines left out}` of those that had any."""
        with self._lock:
            return self._end(list(self._windows))

    def end(self, kind: str) -> int:
        """End one kind's minute; return how many of its lines were left out."""
        with self._lock:
            return self._end([kind]).get(kind, 0)

    def _admit(self, kind: str, now: float) -> bool:
        window = self._windows.setdefault(kind, _Window(now))
        if window.logged < self.lines_max:
            window.logged += 1
            return True
        window.left_out += 1
        return False

    def _end(self, kinds: list[str]) -> dict[str, int]:
        ended = {kind: self._windows.pop(kind).left_out for kind in kinds if kind in self._windows}
        return {kind: count for kind, count in ended.items() if count}


class LogLimit:
    """A structlog processor that drops warnings and errors of one name beyond the first 20 of a minute.

    A line `log_lines_left_out` gives the number of dropped lines, at the first event after the minute, or at the end.

    Args:
        clock: seconds, from any start.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._counts = LineCounts(LINES_MAX, clock)

    def __call__(self, _: WrappedLogger, method: str, event: EventDict) -> EventDict:
        """Return the event, unless it is over the limit."""
        # The text of a library's line differs each time, so its lines are counted by its logger.
        name = str(event.get("logger") or event.get("event"))
        if name == LEFT_OUT:
            return event
        is_logged, ended = self._counts.count(name, is_limited=method in LIMITED)
        _report(ended)
        if not is_logged:
            raise structlog.DropEvent
        return event

    def flush(self) -> None:
        """Log how many lines have been left out so far."""
        _report(self._counts.end_all())


def limit_text(lines_max: int) -> str:
    """Return a limit as log lines give it, such as `20 in 60 s`."""
    return f"{lines_max} in {PERIOD_S:.0f} s"


def _report(left_out: dict[str, Any]) -> None:
    for name, count in left_out.items():
        structlog.get_logger().warning(LEFT_OUT, of=name, lines=count, limit=limit_text(LINES_MAX))


SHOWN = 3
"""Lines of a kind that are shown in a minute."""
LEVELS = frozenset({"info", "warning"})

Render = Callable[[WrappedLogger, str, EventDict], str]


class TerminalLog:
    """The last structlog processor where the log goes to a terminal.

    It counts lines of `prism` and of libraries by their logger, errors aside. `LogLimit` counts those of the actors.

    Args:
        render: turns an event into a line.
        clock: seconds, from any start.
    """

    def __init__(self, render: Render, clock: Callable[[], float] = time.monotonic) -> None:
        self._render = render
        self._counts = LineCounts(SHOWN, clock)
        self._stamp = structlog.processors.TimeStamper(fmt="iso", utc=True)

    def __call__(self, logger: WrappedLogger, method: str, event: EventDict) -> str:
        """Return the event's line, after a line for each kind whose minute is over and that had lines left out."""
        if event.get("event") == LEFT_OUT and (more := self._counts.end(str(event.get("of")))):
            event = {**event, "lines": event["lines"] + more, "limit": limit_text(SHOWN)}
        kind = event.get("logger")
        is_shown, ended = self._counts.count(str(kind), is_limited=kind is not None and method in LEVELS)
        lines = self._left_out(ended)
        if is_shown:
            lines.append(self._render(logger, method, event))
        if not lines:
            raise structlog.DropEvent
        return "\n".join(lines)

    def remaining(self) -> str:
        """Return the lines that are still to be shown at the end, each with its line end."""
        return "".join(f"{line}\n" for line in self._left_out(self._counts.end_all()))

    def _left_out(self, counts: dict[str, int]) -> list[str]:
        level, limit = "info", limit_text(SHOWN)
        events: Iterator[EventDict] = (
            {"event": LEFT_OUT, "of": kind, "lines": count, "level": level, "limit": limit}
            for kind, count in counts.items()
        )
        return [self._render(None, level, self._stamp(None, level, event)) for event in events]
