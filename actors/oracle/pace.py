"""The limits on calls to a server: how many may be under way, and how many may start in a second."""

from __future__ import annotations

BURST_S = 0.010
"""A bucket holds the tokens of this time, at least one token: enough to keep the rate when timers are late."""


class TokenBucket:
    """A bucket that lets at most `rate` calls start in a second, with a burst of max(1, rate x 10 ms).

    It keeps one number, the theoretical arrival time of the next call, so it has no drift and needs no timer. Source:
    the generic cell rate algorithm, ITU-T I.371.

    Args:
        rate_per_s: tokens a second; None is no limit.
    """

    def __init__(self, rate_per_s: float | None) -> None:
        self._next = float("-inf")
        self.set_rate(rate_per_s)

    def set_rate(self, rate_per_s: float | None) -> None:
        """Set the rate from the next call on."""
        self._interval = 0.0 if rate_per_s is None else 1.0 / rate_per_s
        burst = 1.0 if rate_per_s is None else max(1.0, rate_per_s * BURST_S)
        self._tolerance = (burst - 1.0) * self._interval

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


class Pace:
    """The most calls under way and their rate: both halved by a refusal (429, 503), and won back with each answer.

    Source: additive increase, multiplicative decrease; Jacobson, "Congestion avoidance and control" (1988).

    Args:
        most: the most calls under way.
        rate_per_s: the most calls started in a second; None for no limit.
    """

    LEAST_SHARE, LARGEST_STEP = 1 / 64, 1 / 50

    def __init__(self, most: int, rate_per_s: float | None = None) -> None:
        self._most, self._rate_per_s = most, rate_per_s
        self._share = 1.0
        """The share of both limits that holds now."""
        self._step = min(self.LARGEST_STEP, 0.5 / most)  # at most one call more after two answers
        self._bucket = TokenBucket(rate_per_s)
        self._paused_until = self._halved_at = float("-inf")

    @property
    def limit(self) -> int:
        """The most calls that may be under way now."""
        return max(1, round(self._share * self._most))

    def delay(self, now: float) -> float:
        """Return the seconds until a call may start."""
        return max(0.0, self._paused_until - now, self._bucket.delay(now))

    def take(self, now: float, *, waited: bool = False) -> None:
        """Take the token of a call that starts now; `waited` as in `TokenBucket`."""
        self._bucket.take(now, waited=waited)

    def pause(self, now: float, pause_s: float) -> None:
        """Start no call for the time that the server asks for."""
        self._paused_until = max(self._paused_until, now + pause_s)

    def ended(self, reason: str | None, begun: float, now: float) -> None:
        """Note that a call ended.

        Args:
            reason: why it failed; None for an answer.
            begun: the time of its start.
        """
        if reason is None:
            self._set(min(1.0, self._share + self._step))
        elif reason == "overloaded" and begun > self._halved_at:  # older calls were refused in the same overload
            self._set(max(min(self.LEAST_SHARE, 1 / self._most), self._share / 2))
            self._halved_at = now

    def _set(self, share: float) -> None:
        if share != self._share:
            self._share = share
            self._bucket.set_rate(self._rate_per_s and share * self._rate_per_s)
