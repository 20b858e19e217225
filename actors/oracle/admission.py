"""When a question may be put to the oracle, and what stands in for an answer where it may not.

One is refused past its deadline, while the breaker is open, or when the money is spent. Else it waits for its turn, by
concurrency and rate.
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
    """Holds the limits, and learns from how calls end.

    Args:
        config: the limits.
        oracle: who is asked.
        used: `(calls, tokens)` of the whole run so far.
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
        """Whether waiting counts towards the deadline; not where there is no doing without an answer."""
        self._deadline_s = config.deadline_s if oracle.waits else math.inf
        self._used = used
        self._on_spent = on_spent
        self._is_spent = False
        self._bucket = TokenBucket(config.rate_per_s)
        self._has_waited = False
        """Whether the next call has waited for the rate, and for nothing else."""

    def refusal(self, waiting: WaitingQuestion, now: float) -> Answer | None:
        """The fallback of a question that may not be asked: too late, the backend is down, or the money is spent."""
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
        """When a question is given up."""
        return (waiting.arrived if self._counts_waiting else now) + self._deadline_s

    def delay(self, now: float) -> float:
        """Seconds until the rate lets a call start; 0 when it may start now."""
        return self._bucket.delay(now)

    def hold_back(self) -> None:
        """The next call has to wait for the rate."""
        self._has_waited = True

    def take_held_back(self) -> bool:
        """Whether the next call has waited for the rate; forgotten once it is asked for."""
        waited, self._has_waited = self._has_waited, False
        return waited

    def begun(self, now: float, *, waited: bool) -> None:
        """A call starts.

        Args:
            waited: it was held back by the rate alone.
        """
        self._bucket.take(now, waited=waited)
        self.breaker.begun()

    def ended(self, answer: Answer, within_s: float, under_way: int, now: float) -> None:
        """A call has ended.

        Args:
            within_s: the time it was given.
            under_way: calls that were, itself included, when it started.
        """
        failure = answer.reason or None
        if failure == "deadline" and within_s < self._deadline_s / 2:
            failure = "waited"  # it had waited so long that little time was left, which says nothing of the backend
        self.breaker.ended(failure, now)
        self.limit.ended(failure, under_way, now)

    def _has_reached_cap(self) -> bool:
        """Whether a further call would go over the spend cap. Tokens are known only once a call has ended."""
        (calls, tokens), config = self._used(), self._config
        return (config.max_calls is not None and calls >= config.max_calls) or (
            config.max_tokens is not None and tokens >= config.max_tokens
        )
