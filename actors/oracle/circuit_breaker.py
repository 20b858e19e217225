"""A circuit breaker: while a backend is down, it is not asked, and probed now and then.

Only signs that the backend is down count: timeouts, connection errors and server errors. An answer that cannot be
parsed is the model's fault and does not open the breaker.
"""

from __future__ import annotations

from collections import deque
from enum import StrEnum, unique

WINDOW = 20
"""The number of latest outcomes that count."""
OPENS_AT = 0.5
"""The share of failures in a full window that opens the breaker."""
FIRST_PAUSE_S = 5.0
LONGEST_PAUSE_S = 60.0

FAILURES = frozenset({"timeout", "deadline", "connection_error", "overloaded", "server_error"})
"""The reasons that count against the backend."""


@unique
class BreakerState(StrEnum):
    """A breaker's state: closed lets every call through, open none, half-open one probe."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


class CircuitBreaker:
    """A circuit breaker of one backend.

    It opens when half of the last 20 outcomes are failures. After a pause of 5 s, doubled at each failed probe up to
    60 s, one call is let through: its success closes the breaker, its failure opens it again.

    Source: Nygard, "Release It!" (2007).
    """

    def __init__(self) -> None:
        self.state = BreakerState.CLOSED
        self.opened = 0
        """The number of times it has opened."""
        self._outcomes: deque[bool] = deque(maxlen=WINDOW)
        self._pause_s = FIRST_PAUSE_S
        self._until = 0.0

    def allows(self, now: float) -> bool:
        """Return whether a call may start. After a pause one call may, until it has `begun`."""
        return self.state is BreakerState.CLOSED or (self.state is BreakerState.OPEN and now >= self._until)

    def begun(self) -> None:
        """Note that a call has started. In an open breaker it is the probe: no other may start before it ends."""
        if self.state is BreakerState.OPEN:
            self.state = BreakerState.HALF_OPEN

    def abandoned(self) -> None:
        """Note that the calls under way were lost in a crash. If one was the probe, the next call is the probe."""
        if self.state is BreakerState.HALF_OPEN:
            self.state = BreakerState.OPEN

    def ended(self, reason: str | None, now: float) -> None:
        """Note that a call ended.

        Args:
            reason: why it failed; None for an answer.
        """
        failed = reason in FAILURES
        if self.state is BreakerState.HALF_OPEN:
            if failed:
                self._open(now, min(LONGEST_PAUSE_S, 2 * self._pause_s))
            else:
                self._close()
        elif self.state is BreakerState.CLOSED:
            self._outcomes.append(failed)
            if len(self._outcomes) == WINDOW and sum(self._outcomes) >= OPENS_AT * WINDOW:
                self._open(now, FIRST_PAUSE_S)

    def _open(self, now: float, pause_s: float) -> None:
        self.state = BreakerState.OPEN
        self.opened += 1
        self._pause_s = pause_s
        self._until = now + pause_s

    def _close(self) -> None:
        self.state = BreakerState.CLOSED
        self._pause_s = FIRST_PAUSE_S
        self._outcomes.clear()
