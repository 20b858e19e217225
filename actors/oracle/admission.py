"""Admission of questions to the oracle, and the fallback of a question that is refused.

A question is refused past its deadline, while the breaker is open, and once the spend cap is reached. Otherwise it
waits until concurrency and rate let it start.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from actors.oracle.call import Answer, fallback
from actors.oracle.circuit_breaker import CircuitBreaker
from actors.oracle.concurrency_limit import AdaptiveLimit, ConcurrencyLimit, FixedLimit
from actors.oracle.queue import WaitingQuestion
from actors.oracle.rate_limit import TokenBucket
from prism.agents import Source
from prism.config import OracleConfig
from prism.statechart import Oracle


class Admission:
    """The limits on calls, which follow how calls end.

    Args:
        config: the limits.
        oracle: the oracle that is asked.
        used: returns `(calls, tokens)` of the whole run so far.
        on_spent: called once when the spend cap is reached and the configuration says to stop.
    """

    def __init__(
        self,
        config: OracleConfig,
        oracle: Oracle[Any],
        used: Callable[[], tuple[int, int]],
        on_spent: Callable[[], None],
    ) -> None:
        self.breaker = CircuitBreaker()
        most = config.max_concurrency
        self.limit: ConcurrencyLimit = AdaptiveLimit(most) if config.concurrency == "adaptive" else FixedLimit(most)
        self._config = config
        self._counts_waiting = oracle.falls_back
        """True if waiting counts towards the deadline. It does not for an oracle without fallbacks: it must answer."""
        self._deadline_s = config.deadline_s if oracle.waits else math.inf
        self._used = used
        self._on_spent = on_spent
        self._is_spent = False
        self._bucket = TokenBucket(config.rate_per_s)
        self._has_waited = False
        """True if the next call has waited for the rate, and for nothing else."""

    def refusal(self, waiting: WaitingQuestion, now: float) -> Answer | None:
        """Return the fallback of a question that is refused: deadline, breaker or spend cap; None if it is admitted."""
        if self.expires(waiting, now) <= now:
            return fallback(waiting.question, Source.TIMEOUT, "deadline")
        if not self.breaker.allows(now):
            return fallback(waiting.question, Source.FALLBACK, "breaker_open")
        if not self._has_reached_cap():
            return None
        if not self._is_spent and self._config.when_spent == "stop":
            self._on_spent()
        self._is_spent = True
        return fallback(waiting.question, Source.FALLBACK, "spent")

    def expires(self, waiting: WaitingQuestion, now: float) -> float:
        """Return the time at which a question becomes a fallback."""
        return (waiting.arrived if self._counts_waiting else now) + self._deadline_s

    def delay(self, now: float) -> float:
        """Return the seconds until the rate lets a call start; 0 when it may start now."""
        return self._bucket.delay(now)

    def note_rate_wait(self) -> None:
        """Note that the next call waits for the rate."""
        self._has_waited = True

    def take_rate_wait(self) -> bool:
        """Return whether the next call has waited for the rate, and reset that."""
        waited, self._has_waited = self._has_waited, False
        return waited

    def begun(self, now: float, *, waited: bool) -> None:
        """Note that a call starts.

        Args:
            waited: True if it waited for the rate, and for nothing else.
        """
        self._bucket.take(now, waited=waited)
        self.breaker.begun()

    def ended(self, answer: Answer, within_s: float, under_way: int, now: float) -> None:
        """Note that a call has ended.

        Args:
            within_s: the time it was given.
            under_way: calls under way when it started, itself included.
        """
        failure = answer.reason or None
        if failure == "deadline" and within_s < self._deadline_s / 2:
            failure = "waited"  # most of its time went into waiting, so the backend is not to blame
        self.breaker.ended(failure, now)
        self.limit.ended(failure, under_way, now)

    def _has_reached_cap(self) -> bool:
        """Return whether a further call would exceed the spend cap. A call's tokens are counted only after its end."""
        (calls, tokens), config = self._used(), self._config
        return (config.max_calls is not None and calls >= config.max_calls) or (
            config.max_tokens is not None and tokens >= config.max_tokens
        )
