"""A circuit breaker: when a backend fails for everybody, stop asking it, and probe now and then whether it is back.

Only what says that the backend is down counts: timeouts, connections and server errors. An answer that cannot be parsed
is the model's fault and opens nothing.
"""

from __future__ import annotations

from collections import deque
from enum import StrEnum, unique

WINDOW = 20
"""The latest outcomes that are looked at."""
OPENS_AT = 0.5
"""The share of failures in a full window that opens the breaker."""
FIRST_PAUSE_S = 5.0
LONGEST_PAUSE_S = 60.0

FAILURES = frozenset({"timeout", "deadline", "connection_error", "overloaded", "server_error"})
"""The reasons that count against the backend."""


@unique
class BreakerState(StrEnum):
    """Closed lets everything through, open nothing, half-open one probe."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


class CircuitBreaker:
    """Decides whether a call may be made.

    It opens when half of the last 20 outcomes are failures. After a pause of 5 s, doubled at each failed probe up to
    60 s, one call is let through: its success closes the breaker, its failure opens it again.

    Source: Nygard, "Release It!" (2007).
    """

    def __init__(self) -> None:
        self.state = BreakerState.CLOSED
        self.opened = 0
        """How often it has opened."""
        self._outcomes: deque[bool] = deque(maxlen=WINDOW)
        self._pause_s = FIRST_PAUSE_S
        self._until = 0.0

    def allows(self, now: float) -> bool:
        """Whether a call may start. After a pause one may, until it has `begun`."""
        return self.state is BreakerState.CLOSED or (self.state is BreakerState.OPEN and now >= self._until)

    def begun(self) -> None:
        """A call has started. While the breaker is open it is the probe, and no other may start before it ends."""
        if self.state is BreakerState.OPEN:
            self.state = BreakerState.HALF_OPEN

    def abandoned(self) -> None:
        """Whoever made the calls under way has crashed. A probe among them will not end; the next call is one."""
        if self.state is BreakerState.HALF_OPEN:
            self.state = BreakerState.OPEN

    def ended(self, reason: str | None, now: float) -> None:
        """Note how a call ended.

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
