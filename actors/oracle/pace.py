"""The limits on calls to a server: how many may be under way, and how many may start in a second."""

from __future__ import annotations

BURST_S = 0.010
"""The calls of this time may start at once, and one at least: enough to keep the rate when timers are late."""
LEAST_SHARE, LARGEST_STEP = 1 / 64, 1 / 50
"""The least share of the calls under way, and the largest part of it that an answer wins back."""


class Pace:
    """The most calls under way, halved by a 429 or 503 and won back by answers, and their rate.

    Sources: additive increase, multiplicative decrease (Jacobson, "Congestion avoidance and control", 1988); for the
    rate the generic cell rate algorithm (ITU-T I.371): the theoretical arrival time of the next call is one number,
    without drift and timers.

    Args:
        most: the most calls under way.
        rate_per_s: the most calls started in a second; None for no limit.
    """

    def __init__(self, most: int, rate_per_s: float | None = None) -> None:
        self._most, self._rate = most, rate_per_s
        self._share = 1.0
        """The share of the calls under way that holds now."""
        self._step = min(LARGEST_STEP, 0.5 / most)  # at most one call more after two answers
        self._next = self._paused_until = self._lowered_at = float("-inf")

    @property
    def limit(self) -> int:
        """The most calls that may be under way now."""
        return max(1, round(self._share * self._most))

    def delay(self, now: float) -> float:
        """Return the seconds until a call may start."""
        if self._rate is None:
            return max(0.0, self._paused_until - now)
        tolerance_s = max(0.0, BURST_S - 1.0 / self._rate)
        return max(0.0, self._paused_until - now, self._next - tolerance_s - now)

    def take(self, now: float, *, waited: bool = False) -> None:
        """Note that a call starts now.

        Args:
            waited: True if the call waited for the rate. If it is late, then the timer was late, and the lost time is
                made up for, up to BURST_S. Without that, the rate would be 4% too low at 100 calls a second.
        """
        if self._rate is not None:
            self._next = max(self._next, now - BURST_S if waited else now) + 1.0 / self._rate

    def pause(self, now: float, pause_s: float) -> None:
        """Start no call for the time that the server asks for."""
        self._paused_until = max(self._paused_until, now + pause_s)

    def ended(self, reason: str | None, begun: float, now: float) -> None:
        """Note that a call ended; `reason`: why it failed, None for an answer."""
        if reason is None:
            self._share = min(1.0, self._share + self._step)
        elif reason == "overloaded" and begun > self._lowered_at:  # older calls were refused in the same overload
            self._share = max(min(LEAST_SHARE, 1 / self._most), self._share / 2)
            self._lowered_at = now
