"""The limits on calls to a server: how many are under way, how many start in a second, and none while it is down.

Only signs that the backend is down count for the breaker: timeouts, connection errors and server errors. An answer that
cannot be parsed is the model's fault; it opens only a breaker that holds questions, if no other outcome comes for long.
"""

from __future__ import annotations

import math
from collections import deque
from enum import StrEnum, unique

from prism.llm.failure import reasons_to

BURST_S = 0.010
"""The calls of this time may start at once, and one at least: enough to keep the rate when timers are late."""
WINDOW = 20
"""The number of latest outcomes that count."""
OPENS_AT = 0.5
"""The share of failures in a full window that opens the breaker."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 5.0, 60.0
"""The shortest and the longest pause of a breaker whose questions become fallbacks."""
FIRST_HOLD_S, LONGEST_HOLD_S = 0.5, 30.0
"""The shortest and the longest pause of a breaker that holds questions: the run waits until the server is back."""
FAILURES_IN_A_ROW = 10
"""The number of failures in a row, of any kind, that open a breaker that holds questions."""

UNUSABLE = reasons_to("hold", "retry") | {"deadline"}
"""The reasons that count where questions are held: a model that answers nothing but nonsense is of no use either.

`not_an_option` is not among them: only an oracle in this process, with a mistake, returns such a value, and no server
that comes back mends it."""
FAILURES = UNUSABLE - {"invalid_response"}
"""The reasons that count against the backend."""
REFUSED = "refused"
"""A server's refusal of one question. It says nothing about other questions, so the breaker waits for one of them."""
WAITED = "waited"
"""A deadline that passed during a call, after most of it was spent in the queue: the backend is not to blame."""


class Pace:
    """The most calls under way, halved by a 429 or 503, and their rate, lowered by a 429. Answers win both back.

    Sources: additive increase, multiplicative decrease (Jacobson, "Congestion avoidance and control", 1988); for the
    rate the generic cell rate algorithm (ITU-T I.371): the theoretical arrival time of the next call is one number,
    without drift and timers.
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
        """Note that a call ended; `is_limited` by too many calls in a time (429): a busy server (503) has no rate."""
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


@unique
class BreakerState(StrEnum):
    """A breaker's state. A closed breaker lets every call through, an open one no call, a half-open one a probe."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


class CircuitBreaker:
    """A circuit breaker of one backend.

    It opens when half of the last 20 outcomes are failures. After a pause, doubled at each failed probe, one call is
    let through: its success closes the breaker, its failure opens it again. If it holds questions, it opens sooner,
    its pauses are shorter, and only an answer closes it.

    Source: Nygard, "Release It!" (2007).

    Args:
        holds_after: the failures in a row, of the kinds that count against the backend, at which a breaker that holds
            questions opens; None for a breaker whose questions become fallbacks.
    """

    def __init__(self, holds_after: int | None = None) -> None:
        self.state = BreakerState.CLOSED
        self.opened = 0
        self._holds_after = holds_after
        is_held = holds_after is not None
        self._first_s, self._longest_s = (FIRST_HOLD_S, LONGEST_HOLD_S) if is_held else (FIRST_PAUSE_S, LONGEST_PAUSE_S)
        self._outcomes: deque[bool] = deque(maxlen=WINDOW)
        self._down_in_a_row = self._failed_in_a_row = 0
        self._pause_s = self._first_s
        self._until = 0.0

    @property
    def is_closed(self) -> bool:
        return self.state is BreakerState.CLOSED

    def allows(self, now: float) -> bool:
        """Return whether a call may start. After a pause one call may, until it has `begun`."""
        return self.delay(now) == 0.0

    def delay(self, now: float) -> float:
        """Return the seconds until a call may start; infinite while a probe is under way."""
        if self.state is BreakerState.HALF_OPEN:
            return math.inf
        return 0.0 if self.is_closed else max(0.0, self._until - now)

    def begun(self) -> bool:
        """Note that a call has started; return whether it is the probe: no other may start before the probe ends."""
        if self.state is not BreakerState.OPEN:
            return False
        self.state = BreakerState.HALF_OPEN
        return True

    def abandoned(self) -> None:
        """Note that the calls under way were lost in a crash. If one was the probe, the next call is the probe."""
        if self.state is BreakerState.HALF_OPEN:
            self.state = BreakerState.OPEN

    def ended(self, reason: str | None, now: float, *, is_probe: bool = False) -> None:
        """Note that a call ended. A call from before the breaker opened changes nothing any more."""
        if reason == REFUSED:
            if is_probe:
                self.state, self._until = BreakerState.OPEN, now
        elif is_probe:
            if reason in FAILURES or (self._holds_after is not None and reason is not None):
                self._open(now, min(self._longest_s, 2 * self._pause_s))
            else:
                self.state = BreakerState.CLOSED
                self._pause_s = self._first_s
                self._outcomes.clear()
                self._down_in_a_row = self._failed_in_a_row = 0
        elif self.is_closed:
            self._outcomes.append(reason in FAILURES)
            if reason is None:
                self._down_in_a_row = self._failed_in_a_row = 0
            elif reason in UNUSABLE:
                self._down_in_a_row = self._down_in_a_row + 1 if reason in FAILURES else 0
                self._failed_in_a_row += 1
            is_down = len(self._outcomes) == WINDOW and sum(self._outcomes) >= OPENS_AT * WINDOW
            if self._holds_after is not None:
                is_down |= self._down_in_a_row >= self._holds_after or self._failed_in_a_row >= FAILURES_IN_A_ROW
            if is_down:
                self._open(now, self._first_s)

    def doubt(self, now: float) -> None:
        """Open, unless it is open, and let a probe start at once: the latest failures may be the backend's."""
        if self.is_closed:
            self._open(now, self._first_s)
            self._until = now

    def probe_by(self, latest: float) -> None:
        self._until = min(self._until, latest)

    def _open(self, now: float, pause_s: float) -> None:
        self.state = BreakerState.OPEN
        self.opened += 1
        self._pause_s = pause_s
        self._until = now + pause_s
