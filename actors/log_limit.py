"""Lets a warning be said a few times a minute, and counts the rest: a fault of every agent is one fault."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Lock
from typing import Any

import msgspec
import structlog
from structlog.typing import EventDict, WrappedLogger

LEFT_OUT = "log_lines_left_out"
LIMITED = frozenset({"warning", "error", "critical"})
MOST = 20
PERIOD_S = 60.0


class _Window(msgspec.Struct):
    """What has been said of one event since `begun`, and what has not."""

    begun: float
    said: int = 0
    left_out: int = 0


class LogLimit:
    """A structlog processor that drops warnings and errors of one name beyond the first 20 of a minute.

    How many were dropped is said, under `log_lines_left_out`, when the minute is over and anything is logged, or at
    the end.

    Args:
        clock: seconds, from any start.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._windows: dict[str, _Window] = {}
        self._lock = Lock()
        """Events come from the run's thread and from those that serve its metrics."""

    def __call__(self, _: WrappedLogger, method: str, event: EventDict) -> EventDict:
        """The event, unless it has been said often enough.

        Raises:
            DropEvent: it has.
        """
        # What a library says is different each time, so it is counted by who says it.
        name = str(event.get("logger") or event.get("event"))
        if name == LEFT_OUT:
            return event
        now = self._clock()
        with self._lock:
            ended = self._end([each for each, window in self._windows.items() if now - window.begun >= PERIOD_S])
            is_said = method not in LIMITED or self._admit(name, now)
        _report(ended)
        if not is_said:
            raise structlog.DropEvent
        return event

    def flush(self) -> None:
        """Say how many lines have been left out so far."""
        with self._lock:
            ended = self._end(list(self._windows))
        _report(ended)

    def _admit(self, name: str, now: float) -> bool:
        window = self._windows.setdefault(name, _Window(now))
        if window.said < MOST:
            window.said += 1
            return True
        window.left_out += 1
        return False

    def _end(self, names: list[str]) -> dict[str, int]:
        """Forget these windows; `{event: lines left out}` of those that had any."""
        ended = {name: self._windows.pop(name).left_out for name in names}
        return {name: count for name, count in ended.items() if count}


def _report(left_out: dict[str, Any]) -> None:
    for name, count in left_out.items():
        structlog.get_logger().warning(LEFT_OUT, of=name, lines=count, limit=f"{MOST} in {PERIOD_S:.0f} s")
