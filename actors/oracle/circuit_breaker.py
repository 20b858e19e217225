"""A circuit breaker: while a backend is down, it is not asked, and probed now and then.

Only signs that the backend is down count: timeouts, connection errors and server errors. An answer that cannot be
parsed is the model's fault; it opens the breaker only if the breaker holds questions and no other outcome comes for
long.
"""

from __future__ import annotations

import math
from collections import deque
from enum import StrEnum, unique

from prism.llm.failure import reasons_to

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
        """The number of times it has opened."""
        self._holds_after = holds_after
        is_held = holds_after is not None
        self._first_s, self._longest_s = (FIRST_HOLD_S, LONGEST_HOLD_S) if is_held else (FIRST_PAUSE_S, LONGEST_PAUSE_S)
        self._outcomes: deque[bool] = deque(maxlen=WINDOW)
        self._down_in_a_row = self._failed_in_a_row = 0
        self._pause_s = self._first_s
        self._until = 0.0

    @property
    def is_closed(self) -> bool:
        """True if every call is let through."""
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
        """Note that a call ended. A call from before the breaker opened changes nothing any more.

        Args:
            reason: why it failed; None for an answer.
            is_probe: True if it was the probe.
        """
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
        """Let the next probe start no later than this."""
        self._until = min(self._until, latest)

    def _open(self, now: float, pause_s: float) -> None:
        self.state = BreakerState.OPEN
        self.opened += 1
        self._pause_s = pause_s
        self._until = now + pause_s
