"""The limit on the rate of calls: an exact token bucket."""

from __future__ import annotations

BURST_S = 0.010
"""The time whose tokens a bucket holds, at least one: no more than it needs to be exact when timers are late."""


class TokenBucket:
    """A bucket that lets at most `rate` calls start a second, with a burst of max(1, rate x 10 ms).

    It keeps one number, the theoretical arrival time of the next call, so it neither drifts nor needs a timer of its
    own. Source: the generic cell rate algorithm, ITU-T I.371.

    Args:
        rate_per_s: tokens a second; None is no limit.
    """

    def __init__(self, rate_per_s: float | None) -> None:
        self._interval = 0.0 if rate_per_s is None else 1.0 / rate_per_s
        burst = 1.0 if rate_per_s is None else max(1.0, rate_per_s * BURST_S)
        self._tolerance = (burst - 1.0) * self._interval
        self._next = float("-inf")

    def delay(self, now: float) -> float:
        """Return the seconds until a call may start; 0 when it may start now."""
        return max(0.0, self._next - self._tolerance - now)

    def take(self, now: float, *, waited: bool = False) -> None:
        """Take the token of a call that starts now.

        Args:
            waited: True if the call waited for its token. If it is late, then the timer was late, and the lost time is
                made up for, up to BURST_S. Without that, the rate would be 4% too low at 100 calls a second.
        """
        self._next = max(self._next, now - BURST_S if waited else now) + self._interval
