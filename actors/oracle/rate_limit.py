"""How fast questions may be asked: an exact token bucket."""

from __future__ import annotations

BURST_S = 0.010
"""A bucket holds what accrues in this time, one token at least: enough to be exact when timers are late, no more."""


class TokenBucket:
    """Lets at most `rate` calls start a second, with a burst of max(1, rate x 10 ms).

    It keeps one number, the theoretical arrival time of the next call, so it neither drifts nor needs a timer of its
    own. Source: the generic cell rate algorithm, ITU-T I.371.

    Args:
        rate_per_s: tokens a second; None lets everything through.
    """

    def __init__(self, rate_per_s: float | None) -> None:
        self._interval = 0.0 if rate_per_s is None else 1.0 / rate_per_s
        burst = 1.0 if rate_per_s is None else max(1.0, rate_per_s * BURST_S)
        self._tolerance = (burst - 1.0) * self._interval
        self._next = float("-inf")

    def delay(self, now: float) -> float:
        """Seconds until a call may start; 0 when it may start now."""
        return max(0.0, self._next - self._tolerance - now)

    def take(self, now: float, *, waited: bool = False) -> None:
        """A call starts now.

        Args:
            waited: it has waited for its token, so if it is late, a timer was. That is made up for, up to BURST_S:
                without it every late timer would be lost, and at 100 calls a second the rate would be 4% low.
        """
        self._next = max(self._next, now - BURST_S if waited else now) + self._interval
