"""The limits on the rate of calls: an exact token bucket, and one whose rate is learned from a server's refusals."""

from __future__ import annotations

from collections import deque

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


WINDOW_S = 5.0
"""The time over which answers are counted to learn a server's rate."""
FEWEST_ANSWERS = 2
BELOW, FORGOTTEN_AFTER_S = 0.95, 60.0
GROWS_EVERY_S, GROWTH, MOST_GROWTH = 5.0, 0.1, 0.5
GUESS_GROWS_EVERY_S = 1.0
"""The first rate comes from a burst of calls and may be far too low, so it grows fast until the next refusal."""


class LearnedRate:
    """The rate of a server that refuses calls beyond it: learned from refusals, and forgotten after a while without.

    At a refusal it becomes 95% of the answers a second of the last 5 s, without the pauses that the server asked for.
    After 5 s it grows by a tenth, then every 5 s by twice as much, up to a half, until the next refusal; the first rate
    is a guess, and grows by a half every second. It is dropped 60 s after the last refusal.
    """

    def __init__(self) -> None:
        self.rate_per_s: float | None = None
        self._bucket = TokenBucket(None)
        self._answers: deque[float] = deque()
        self._pauses: deque[tuple[float, float]] = deque()
        self._paused_until = self._refused_at = self._changed_at = float("-inf")
        self._begun: float | None = None
        self._growth, self._grows_every_s = GROWTH, GROWS_EVERY_S

    def delay(self, now: float) -> float:
        """Return the seconds until a call may start."""
        self._grow(now)
        return max(0.0, self._paused_until - now, self._bucket.delay(now))

    def take(self, now: float, *, waited: bool) -> None:
        """Take the token of a call that starts now; `waited` as in `TokenBucket`."""
        if self._begun is None:
            self._begun = now
        self._bucket.take(now, waited=waited)

    def answered(self, now: float) -> None:
        """Count an answer."""
        self._answers.append(now)
        self._forget(now)

    def pause(self, now: float, pause_s: float) -> None:
        """Start no call for the time that the server asks for."""
        if now + pause_s > self._paused_until:
            self._pauses.append((max(now, self._paused_until), now + pause_s))
            self._paused_until = now + pause_s

    def refused(self, begun: float, now: float) -> None:
        """Learn from a refusal.

        Args:
            begun: the start of the call. Those from before the rate was last learned come from the same overload.
        """
        self._refused_at = now
        if begun <= self._changed_at:
            return
        self._forget(now)
        if len(self._answers) >= FEWEST_ANSWERS:
            is_guess = self.rate_per_s is None
            self._growth = MOST_GROWTH if is_guess else GROWTH
            self._grows_every_s = GUESS_GROWS_EVERY_S if is_guess else GROWS_EVERY_S
            measured = len(self._answers) / self._open_s(now)
            self._set(BELOW * min(measured, self.rate_per_s or measured), now)

    def _open_s(self, now: float) -> float:
        """Return the seconds of the window in which calls could start, at least one."""
        first = max(now - WINDOW_S, now if self._begun is None else self._begun)
        paused = sum(max(0.0, min(now, end) - max(first, begin)) for begin, end in self._pauses)
        return max(1.0, now - first - paused)

    def _grow(self, now: float) -> None:
        if self.rate_per_s is None:
            return
        if now - self._refused_at >= FORGOTTEN_AFTER_S:
            self.rate_per_s, self._bucket = None, TokenBucket(None)
        elif now - self._changed_at >= self._grows_every_s:
            self._set((1.0 + self._growth) * self.rate_per_s, now)
            self._growth = min(MOST_GROWTH, 2 * self._growth)

    def _set(self, rate_per_s: float, now: float) -> None:
        self.rate_per_s, self._changed_at = rate_per_s, now
        self._bucket.set_rate(rate_per_s)

    def _forget(self, now: float) -> None:
        """Forget what was before the window."""
        while self._answers and self._answers[0] < now - WINDOW_S:
            self._answers.popleft()
        while self._pauses and self._pauses[0][1] < now - WINDOW_S:
            self._pauses.popleft()
