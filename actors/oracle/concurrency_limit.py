"""The limit on calls under way: a fixed number, or one that adapts to the server.

Model servers queue without limit, so their refusals do not show the right number. It is the number beyond which goodput
(answers a second) no longer grows, and only latency does.
"""

from __future__ import annotations

import math
from collections import deque
from typing import Protocol

from prism.config import OracleConfig

OVERLOADED = frozenset({"timeout", "deadline", "overloaded"})
"""The reasons that are signs of too many calls. A plain 5xx is no sign: it comes at any number of calls."""


class ConcurrencyLimit(Protocol):
    """A limit on calls under way."""

    @property
    def limit(self) -> int:
        """The most calls that may be under way now."""

    def ended(self, reason: str | None, in_flight: int, begun: float, now: float) -> None:
        """Note that a call ended.

        Args:
            reason: why it failed; None for an answer.
            in_flight: calls under way when it started, itself included.
            begun: the time at which it started, in seconds.
            now: the time, in seconds.
        """


class FixedLimit:
    """A limit that never changes.

    Args:
        limit: the most calls under way.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit

    def ended(self, reason: str | None, in_flight: int, begun: float, now: float) -> None:
        """Ignore the call: the limit is fixed."""


class AdaptiveLimit:
    """A limit that rises while calls do not become slower, and falls where more calls only queue for longer.

    By Little's law n calls under way, of t seconds each, bring n / t answers a second. More calls bring more answers
    while the slope of log t over log n is below 1: it is 0 where the server has room, and 1 where calls only queue. The
    slope is fitted by least squares to the latest calls, and each answer adds GAIN * (ENOUGH - slope) to the limit. The
    limit has to move, or there would be no slope to see: it swings around the fewest calls that use the whole server.

    Calls that hang use a place of the limit but no capacity of the server. So the slope is that of the answered calls,
    times their share of the time of all calls: the rest of the time does not depend on n. Failures that grow in number
    with n add to the slope. Where nearly all calls fail, the limit is multiplied by BACKOFF.

    Source: Little, "A proof for the queuing formula L = lambda W" (1961); a limit that follows latency, Brakmo &
    Peterson, "TCP Vegas" (1995), and the concurrency-limits of Netflix (2018); multiplicative decrease, Jacobson,
    "Congestion avoidance and control" (1988).

    Args:
        limit_max: the highest limit.
        start: the first limit.
    """

    ENOUGH = 0.9
    """The slope at which the limit stays. At 1 it would keep any queue that it has built."""
    MOST_SLOPE = 1.2
    """A steeper slope counts as this one; else the limit would fall too far before newer calls show that it is low."""
    START_GAIN, GAIN = 1.0, 0.2
    """At the start the limit nearly doubles in the time of a call, until the slope is ENOUGH for the first time."""
    FAILURE = 1.5
    """The part of a failure in log t. Goodput is the share of answers times n / t, so 1 is right for few failures."""
    MEMORY, LEAST_MEMORY = 10, 20
    """The number of latest calls that count: a multiple of the limit, and the least number."""
    LEAST_SPREAD, MOST_SPREAD = 0.5, 3.0
    """Sums of squares of log n. Below the least, the slope counts as nearly 1: then the limit falls, and n varies.
    Above the most, old calls are forgotten sooner: their n is too far from the limit to show the slope there."""
    FLOOR, PROBE = -1.0, 1.75
    """With one call at a time there is no slope to see. So at the floor, which takes 40 answers or more to reach, the
    level rises to the probe, and two calls are under way for a while."""
    BACKOFF = 0.7
    LATEST, SIGNS = 20, 16
    """It backs off at 16 signs of overload in the latest 20 calls. A server that hangs in one call of ten, or refuses a
    few in a row now and then, does so at any number of calls: at signs that come by chance, such as 5 in 20 or 3 in a
    row, the limit would fall to 1, and stay there. An overloaded server refuses nearly all, because a refusal is quick.
    """

    def __init__(self, limit_max: int, start: int = 4) -> None:
        self._limit_max = limit_max
        self._level = float(min(start, limit_max))
        self._gain = self.START_GAIN
        self._grace = 0
        """Calls under way at the last back-off that have not ended: their failures come from the same overload."""
        self._latest: deque[bool] = deque(maxlen=self.LATEST)
        """True for each of the latest calls that was a sign of overload."""
        self._forget()
        self._xx = self.MOST_SPREAD  # as if there had been calls, and a slope of 0

    def _forget(self) -> None:
        self._calls = self._answered_s = self._all_s = 0.0
        self._mean_x = self._mean_y = self._xx = self._xy = 0.0
        """The fit of y = log t over x = log n: means, and sums of squares of x and of products about them."""

    @property
    def limit(self) -> int:
        """The most calls that may be under way now."""
        return max(1, min(self._limit_max, round(self._level)))

    def ended(self, reason: str | None, in_flight: int, begun: float, now: float) -> None:
        """Learn from a call that ended, and change the limit."""
        self._grace = max(0, self._grace - 1)
        is_sign = reason in OVERLOADED
        if not (is_sign and self._grace):
            self._latest.append(is_sign)
        if sum(self._latest) >= self.SIGNS:
            self._back_off(in_flight)
        elif (is_sign or reason is None) and now > begun and 2 * in_flight >= self.limit:
            # Calls that used less than half of the limit say nothing about it.
            self._fit(math.log(in_flight), now - begun, is_answer=not is_sign)
            if not is_sign:
                self._move()

    def _fit(self, x: float, took_s: float, *, is_answer: bool) -> None:
        """Add a call to the sums, in which earlier ones count a little less from then on."""
        memory = max(self.LEAST_MEMORY, self.MEMORY * self._level)
        keep = 1.0 - 1.0 / memory
        if self._xx > self.MOST_SPREAD:
            keep = min(keep, self.MOST_SPREAD / self._xx)
        self._calls = min(memory, self._calls + 1.0)
        self._answered_s = keep * self._answered_s + is_answer * took_s
        self._all_s = keep * self._all_s + took_s
        y = math.log(took_s) if is_answer else self._mean_y + self.FAILURE / self._answered_share
        off = x - self._mean_x
        self._mean_x += off / self._calls
        self._mean_y += (y - self._mean_y) / self._calls
        self._xx = keep * self._xx + off * (x - self._mean_x)
        self._xy = keep * self._xy + off * (y - self._mean_y)

    @property
    def _answered_share(self) -> float:
        """The share of answered calls in the time of all calls; at least a tenth."""
        return max(0.1, self._answered_s / self._all_s)

    def _move(self) -> None:
        slope = (self._answered_share * self._xy + self.LEAST_SPREAD) / (self._xx + self.LEAST_SPREAD)
        if slope > self.ENOUGH:
            self._gain = self.GAIN
        change = self._gain * (self.ENOUGH - min(slope, self.MOST_SLOPE))
        self._level = min(float(self._limit_max), self._level + change)
        if self._level <= self.FLOOR:
            self._level = min(float(self._limit_max), self.PROBE)

    def _back_off(self, in_flight: int) -> None:
        self._level = max(1.0, self._level * self.BACKOFF)
        self._gain = self.GAIN
        self._grace = in_flight
        self._latest.clear()
        self._forget()


def limit_of(config: OracleConfig) -> ConcurrencyLimit:
    """Return the configured limit. Each of several hosts has its own limit, and all together keep to the number."""
    most = config.max_concurrency
    return AdaptiveLimit(most) if config.concurrency == "adaptive" else FixedLimit(most)
