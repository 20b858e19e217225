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
    """What has been said of one kind since `begun`, and what has not."""

    begun: float
    said: int = 0
    left_out: int = 0


class Windows:
    """How often each kind of line has been said in the minute since its first one. For any thread.

    Args:
        most: lines of a kind in a minute.
        clock: seconds, from any start.
    """

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.most = most
        self._clock = clock
        self._windows: dict[str, _Window] = {}
        self._lock = Lock()
        """Events come from the run's thread and from those that serve its metrics."""

    def say(self, kind: str, *, is_limited: bool) -> tuple[bool, dict[str, int]]:
        """Whether this line may be said, and `{kind: lines left out}` of those kinds whose minute is over."""
        now = self._clock()
        with self._lock:
            ended = self._end([each for each, window in self._windows.items() if now - window.begun >= PERIOD_S])
            return not is_limited or self._admit(kind, now), ended

    def end(self) -> dict[str, int]:
        """Forget all; `{kind: lines left out}` of those that had any."""
        with self._lock:
            return self._end(list(self._windows))

    def forget(self, kind: str) -> int:
        """Forget one; how many lines of it were left out."""
        with self._lock:
            return self._end([kind]).get(kind, 0)

    def _admit(self, kind: str, now: float) -> bool:
        window = self._windows.setdefault(kind, _Window(now))
        if window.said < self.most:
            window.said += 1
            return True
        window.left_out += 1
        return False

    def _end(self, kinds: list[str]) -> dict[str, int]:
        ended = {kind: self._windows.pop(kind).left_out for kind in kinds if kind in self._windows}
        return {kind: count for kind, count in ended.items() if count}


class LogLimit:
    """A structlog processor that drops warnings and errors of one name beyond the first 20 of a minute.

    How many were dropped is said, under `log_lines_left_out`, when the minute is over and anything is logged, or at
    the end.

    Args:
        clock: seconds, from any start.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._windows = Windows(MOST, clock)

    def __call__(self, _: WrappedLogger, method: str, event: EventDict) -> EventDict:
        """The event, unless it has been said often enough.

        Raises:
            DropEvent: it has.
        """
        # What a library says is different each time, so it is counted by who says it.
        name = str(event.get("logger") or event.get("event"))
        if name == LEFT_OUT:
            return event
        is_said, ended = self._windows.say(name, is_limited=method in LIMITED)
        _report(ended)
        if not is_said:
            raise structlog.DropEvent
        return event

    def flush(self) -> None:
        """Say how many lines have been left out so far."""
        _report(self._windows.end())


def limit_text(most: int) -> str:
    """A limit as a line says it."""
    return f"{most} in {PERIOD_S:.0f} s"


def _report(left_out: dict[str, Any]) -> None:
    for name, count in left_out.items():
        structlog.get_logger().warning(LEFT_OUT, of=name, lines=count, limit=limit_text(MOST))
