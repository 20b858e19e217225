"""The limits on calls to a server: how many may be under way, and how many may start in a second."""

from __future__ import annotations

from collections import deque

BURST_S = 0.010
"""The calls of this time may start at once, and one at least: enough to keep the rate when timers are late."""


class Pace:
    """The most calls under way, halved by a 429 or 503, and their rate, lowered by a 429. Answers win both back.

    Sources: additive increase, multiplicative decrease (Jacobson, "Congestion avoidance and control", 1988); for the
    rate the generic cell rate algorithm (ITU-T I.371): the theoretical arrival time of the next call is one number,
    without drift and timers.

    Args:
        most: the most calls under way.
        rate_per_s: the most calls started in a second; None for no limit.
    """

    LEAST_SHARE, LARGEST_STEP = 1 / 64, 1 / 50
    LOWERED, NEAR = 0.9, 1.05
    CAREFUL, BOLD = 1.003, 1.1
    """The growth of the rate with an answer: up to `NEAR` the rate that was refused, and elsewhere. So a server
    of 5 calls a second gets 4 to 4.8 of them, also if it asks for a pause of a second after each refusal."""

    def __init__(self, most: int, rate_per_s: float | None = None) -> None:
        self._most, self._rate_per_s = most, rate_per_s
        self._share = 1.0
        """The share of the calls under way that holds now."""
        self._step = min(self.LARGEST_STEP, 0.5 / most)  # at most one call more after two answers
        self._rate = rate_per_s
        """The rate that holds now: without a configured one, none until the first refusal."""
        self._refused = 0.0
        """The rate at the latest refusal."""
        self._answers: deque[float] = deque()
        """The times of the answers in the latest second."""
        self._next = self._paused_until = self._lowered_at = float("-inf")

    @property
    def limit(self) -> int:
        """The most calls that may be under way now."""
        return max(1, round(self._share * self._most))

    def delay(self, now: float) -> float:
        """Return the seconds until a call may start."""
        return max(0.0, self._paused_until - now, self._next - now)

    def take(self, now: float) -> None:
        """Note that a call starts now."""
        if self._rate is None:
            return
        # A call that is a little late was kept by its timer, and the lost time is made up for: else the rate would be
        # 4% too low at 100 calls a second.
        if now - self._next > BURST_S:
            self._next = now - max(0.0, BURST_S - 1.0 / self._rate)
        self._next += 1.0 / self._rate

    def pause(self, now: float, pause_s: float) -> None:
        """Start no call for the time that the server asks for."""
        self._paused_until = max(self._paused_until, now + pause_s)

    def ended(self, reason: str | None, begun: float, now: float, *, is_limited: bool = False) -> None:
        """Note that a call ended.

        Args:
            reason: why it failed; None for an answer.
            is_limited: True if the server said that there were too many calls in a time (429): a busy one (503) has
                no rate.
        """
        while self._answers and self._answers[0] < now - 1.0:
            self._answers.popleft()
        if reason is None:
            self._answers.append(now)
            self._share = min(1.0, self._share + self._step)
            if self._rate is not None:
                is_near = self._rate < self.NEAR * self._refused
                grown = self._rate * (self.CAREFUL if is_near else self.BOLD)
                self._rate = min(grown, self._rate_per_s or grown)
        elif reason == "overloaded" and begun > self._lowered_at:  # older calls were refused in the same overload
            self._share = max(min(self.LEAST_SHARE, 1 / self._most), self._share / 2)
            self._lowered_at = now
            if is_limited:
                # The server takes about as many calls in a second as it has answered in the latest one.
                answered = float(max(1, len(self._answers)))
                if self._rate is None:
                    self._rate = answered
                else:
                    self._refused = min(self._rate, 1.25 * answered)
                    self._rate = self.LOWERED * self._refused
