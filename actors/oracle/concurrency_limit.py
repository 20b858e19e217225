"""The limit on calls under way: a fixed number, or one that adapts to the server.

Model servers queue without limit, so their refusals do not show the right number. It is the number beyond which goodput
(answers a second) no longer grows, and only latency does.
"""

from __future__ import annotations

from collections import deque
from typing import Protocol

from prism.config import OracleConfig

OVERLOADED = frozenset({"timeout", "deadline", "overloaded"})
"""The reasons that are signs of too many calls. A plain 5xx is none: it comes at any number of calls."""


class ConcurrencyLimit(Protocol):
    """A limit on calls under way."""

    @property
    def limit(self) -> int:
        """The most calls that may be under way now."""

    def ended(self, reason: str | None, in_flight: int, now: float) -> None:
        """Note that a call ended.

        Args:
            reason: why it failed; None for an answer.
            in_flight: calls under way when it started, itself included.
            now: the time, in seconds.
        """


class FixedLimit:
    """A limit that never changes.

    Args:
        limit: the most calls under way.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit

    def ended(self, reason: str | None, in_flight: int, now: float) -> None:
        """Ignore the call: the limit is fixed."""


class AdaptiveLimit:
    """A limit that rises while goodput rises with it, and falls while goodput does not suffer.

    It measures goodput over windows of calls, changes the limit by a quarter, and compares. A step up is kept, and
    another tried, if goodput grows by the factor UP_GAIN; a step down if it grows by DOWN_GAIN. Where goodput is flat,
    chance alone brings DOWN_GAIN now and then, so the limit falls there, and latency with it. A step that is not kept
    is undone, and after a pause the other direction is tried. Timeouts, 503s and 429s multiply the limit by BACKOFF,
    unless they are isolated.

    Source: hill climbing on throughput, Heiss & Wagner, "Adaptive load control in transaction processing systems"
    (1991); multiplicative decrease, Jacobson, "Congestion avoidance and control" (1988).

    Args:
        limit_max: the highest limit.
        start: the first limit.
    """

    STEP = 1.25
    UP_GAIN = 1.02
    DOWN_GAIN = 1.01
    BACKOFF = 0.7
    SAMPLES = 40
    """The fewest answers in a window. It is at least twice the limit too, so every slot is used about twice."""
    LATEST, SIGNS = 20, 16
    """It backs off at 16 signs of overload in the latest 20 calls. A server that hangs in one call of ten, or refuses a
    few in a row now and then, does so at any number of calls: at signs that come by chance, such as 5 in 20 or 3 in a
    row, the limit would fall to 1, and stay there. An overloaded server refuses nearly all, because a refusal is quick.
    """
    PAUSE_WINDOWS = 3
    """Windows between a step that was undone and the next one."""

    def __init__(self, limit_max: int, start: int = 4) -> None:
        self._limit_max = limit_max
        self._level = float(min(start, limit_max))
        self._upwards = True
        self._before: float | None = None
        """The goodput before the step that is being tried; None while none is."""
        self._pause = 0
        """Windows left of the pause after a step that was undone."""
        self._grace = 0
        """Calls under way at the last back-off that have not ended: their failures come from the same overload."""
        self._latest: deque[bool] = deque(maxlen=self.LATEST)
        """True for each of the latest calls that was a sign of overload."""
        self._answers = 0
        self._saturated = 0
        self._begun: float | None = None

    @property
    def limit(self) -> int:
        """The most calls that may be under way now."""
        return max(1, min(self._limit_max, round(self._level)))

    def ended(self, reason: str | None, in_flight: int, now: float) -> None:
        """Count a call that ended, and at the end of a window change the limit."""
        if self._begun is None:
            self._begun = now
        self._grace = max(0, self._grace - 1)
        if reason in OVERLOADED:
            if not self._grace:
                self._latest.append(True)
                if self._is_overloaded():
                    self._back_off(in_flight, now)
            return
        self._latest.append(False)
        self._answers += reason is None
        self._saturated += in_flight >= self.limit
        if self._answers >= max(self.SAMPLES, 2 * self.limit) and now > self._begun:
            # Calls in a window that did not use the limit say nothing about it.
            if 2 * self._saturated >= self._answers:
                self._move(self._answers / (now - self._begun))
            self._open_window(now)

    def _is_overloaded(self) -> bool:
        return sum(self._latest) >= self.SIGNS

    def _move(self, goodput: float) -> None:
        if self._pause > 0:
            self._pause -= 1
            return
        if self._before is not None and goodput < self._before * (self.UP_GAIN if self._upwards else self.DOWN_GAIN):
            self._level = self._step(not self._upwards)
            self._reverse()
            return
        wanted = self._step(self._upwards)
        if wanted == self._level:
            self._reverse()
            return
        self._before, self._level = goodput, wanted

    def _step(self, upwards: bool) -> float:
        """Return the level one step up or down, within bounds; a step is at least one call."""
        if upwards:
            return min(float(self._limit_max), max(self._level + 1.0, self._level * self.STEP))
        return max(1.0, min(self._level - 1.0, self._level / self.STEP))

    def _reverse(self) -> None:
        self._upwards = not self._upwards
        self._before, self._pause = None, self.PAUSE_WINDOWS

    def _back_off(self, in_flight: int, now: float) -> None:
        self._level = max(1.0, self._level * self.BACKOFF)
        self._grace = in_flight
        self._latest.clear()
        self._before, self._pause, self._upwards = None, self.PAUSE_WINDOWS, True
        self._open_window(now)

    def _open_window(self, now: float) -> None:
        self._answers = self._saturated = 0
        self._begun = now


def limit_of(config: OracleConfig) -> ConcurrencyLimit:
    """Return the configured limit. Each of several hosts has one of its own, and all together keep to the number."""
    most = config.max_concurrency
    return AdaptiveLimit(most) if config.concurrency == "adaptive" else FixedLimit(most)
