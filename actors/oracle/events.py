"""The events of the oracle's limits: listeners are told of changes, and not of every call."""

from __future__ import annotations

from typing import NamedTuple

from actors.core.events import BreakerClosed, BreakerOpened, LimitChanged, SpendWarning, emit
from actors.oracle.call import Answer
from prism.config import OracleConfig

WARN_AT = (0.5, 0.8, 0.95)
"""The shares of a spend cap at which there is a warning."""
LATEST_CHARS = 200


class Used(NamedTuple):
    """The use that a run has made of its spend caps: calls, tokens, and US dollars, which are None without prices."""

    calls: int
    tokens: int
    usd: float | None = None


def caps_of(config: OracleConfig) -> dict[str, float]:
    """Return `{field of Used: most}`, for each spend cap that is set."""
    caps = {"calls": config.max_calls, "tokens": config.max_tokens, "usd": config.max_usd}
    return {name: most for name, most in caps.items() if most is not None}


class AdmissionEvents:
    """The events of the breaker, the limit on calls and the spend caps.

    Args:
        config: has the caps, and the highest limit.
    """

    def __init__(self, config: OracleConfig) -> None:
        self._most = config.max_concurrency
        self._limit = config.max_concurrency
        """The limit as it was last told."""
        self._opened_at: float | None = None
        self._caps = caps_of(config)
        self._warned = dict.fromkeys(self._caps, 0)
        """`{cap: shares at which there was a warning}`."""

    def breaker(self, answer: Answer, now: float, *, is_closed: bool) -> None:
        """Tell that the breaker has opened or closed, if it has."""
        if is_closed == (self._opened_at is None):
            return
        if is_closed:
            emit(BreakerClosed(after_s=round(now - (self._opened_at or now), 3)))
            self._opened_at = None
        else:
            emit(BreakerOpened(reason=answer.reason, latest=answer.detail[:LATEST_CHARS]))
            self._opened_at = now

    def limit(self, limit: int) -> None:
        """Tell listeners if the limit has doubled or halved since the last event, or is at an end of its range."""
        if limit == self._limit:
            return
        is_end = limit in {1, self._most}
        if is_end or limit >= 2 * self._limit or 2 * limit <= self._limit:
            emit(LimitChanged(limit=limit, before=self._limit, most=self._most))
            self._limit = limit

    def spent(self, used: Used) -> None:
        """Warn once at each share of each cap."""
        for name, most in self._caps.items():
            amount = getattr(used, name) or 0.0
            reached = sum(amount >= share * most for share in WARN_AT)
            if reached > self._warned[name]:
                self._warned[name] = reached
                emit(SpendWarning(cap=f"oracle.max_{name}", share=round(amount / most, 3), used=amount, most=most))
