"""How many calls may be under way at once: a fixed number, or one that finds its own level.

Model servers queue without limit, so the right number cannot be read off their refusals. It is where more concurrency
stops paying: there goodput (answers a second) no longer grows with the number of calls, only latency does.
"""

from __future__ import annotations

from typing import Protocol

OVERLOADED = frozenset({"timeout", "deadline", "overloaded"})
"""The reasons that mean too much was asked at once. A plain 5xx is no such sign: it comes at any number of calls."""


class ConcurrencyLimit(Protocol):
    """A limit on calls under way."""

    @property
    def limit(self) -> int:
        """The most calls that may be under way now."""

    def ended(self, reason: str | None, in_flight: int, now: float) -> None:
        """Note that a call ended: `reason` why it failed, or None; `in_flight` calls were under way with it."""


class FixedLimit:
    """A limit that stays.

    Args:
        limit: most calls at once.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit

    def ended(self, reason: str | None, in_flight: int, now: float) -> None:
        """Nothing changes."""


class AdaptiveLimit:
    """A limit that climbs while climbing pays, and comes down while that costs nothing.

    It watches goodput over windows of calls, tries a step of a quarter, and compares. A step up is kept, and the next
    one tried, if goodput grows by UP_PAYS; a step down if it grows by DOWN_PAYS, as it does by chance where it is flat,
    so there the limit sinks and latency with it. A step that does not pay is taken back, and after a rest the other
    direction is tried. A timeout, a 503 or a 429 multiplies the limit by BACKOFF.

    Source: hill climbing on throughput, Heiss & Wagner, "Adaptive load control in transaction processing systems"
    (1991); multiplicative decrease, Jacobson, "Congestion avoidance and control" (1988).

    Args:
        most: never above this.
        start: where it begins.
    """

    STEP = 1.25
    UP_PAYS = 1.02
    DOWN_PAYS = 1.01
    BACKOFF = 0.7
    SAMPLES = 40
    """Answers in one window at least; also twice the limit, so every slot is seen about twice."""
    REST = 3
    """Windows between a step that was taken back and the next try."""

    def __init__(self, most: int, start: int = 4) -> None:
        self._most = most
        self._level = float(min(start, most))
        self._upwards = True
        self._before: float | None = None
        """Goodput before the step that is being tried; None while none is."""
        self._resting = 0
        self._grace = 0
        """Calls yet to end that were under way at the last back-off: their failures are the same overload's."""
        self._answers = 0
        self._saturated = 0
        self._begun: float | None = None

    @property
    def limit(self) -> int:
        """The most calls that may be under way now."""
        return max(1, min(self._most, round(self._level)))

    def ended(self, reason: str | None, in_flight: int, now: float) -> None:
        """Note a call, and after a window of them move."""
        if self._begun is None:
            self._begun = now
        self._grace = max(0, self._grace - 1)
        if reason in OVERLOADED:
            if not self._grace:
                self._back_off(in_flight, now)
            return
        self._answers += reason is None
        self._saturated += in_flight >= self.limit
        if self._answers >= max(self.SAMPLES, 2 * self.limit) and now > self._begun:
            # A window that was not full says nothing about the limit.
            if 2 * self._saturated >= self._answers:
                self._move(self._answers / (now - self._begun))
            self._open_window(now)

    def _move(self, goodput: float) -> None:
        if self._resting > 0:
            self._resting -= 1
            return
        if self._before is not None and goodput < self._before * (self.UP_PAYS if self._upwards else self.DOWN_PAYS):
            self._level = self._step(not self._upwards)
            self._turn_around()
            return
        wanted = self._step(self._upwards)
        if wanted == self._level:
            self._turn_around()
            return
        self._before, self._level = goodput, wanted

    def _step(self, upwards: bool) -> float:
        """The level a step up or down from here, within bounds; a step is one call at least."""
        if upwards:
            return min(float(self._most), max(self._level + 1.0, self._level * self.STEP))
        return max(1.0, min(self._level - 1.0, self._level / self.STEP))

    def _turn_around(self) -> None:
        self._upwards = not self._upwards
        self._before, self._resting = None, self.REST

    def _back_off(self, in_flight: int, now: float) -> None:
        self._level = max(1.0, self._level * self.BACKOFF)
        self._grace = in_flight
        self._before, self._resting, self._upwards = None, self.REST, True
        self._open_window(now)

    def _open_window(self, now: float) -> None:
        self._answers = self._saturated = 0
        self._begun = now
