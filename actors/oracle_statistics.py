"""What the oracle has done, for the summary, the progress display and the log."""

from __future__ import annotations

from collections import Counter, deque

import msgspec
import structlog

from actors.messages import Decided
from prism.agents import FALLBACKS

log = structlog.get_logger(__name__)

WARN_EVERY_S = 10.0
LATENCIES_KEPT = 10_000


UNASKED = frozenset({"breaker_open", "deadline", "spent"})
"""Reasons of fallbacks for which the oracle may never have been called."""


class OracleState(msgspec.Struct, frozen=True, kw_only=True):
    """The counts that a checkpoint keeps. Latencies are of one process, and are not among them."""

    answered: int = 0
    calls: int = 0
    coalesced: int = 0
    fallbacks: dict[str, int] = {}
    tokens: int = 0


class OracleStatistics:
    """Counts of answers and fallbacks, and a warning about the latter now and then instead of one for each."""

    def __init__(self) -> None:
        self.answered = 0
        self.calls = 0
        """Questions that were put to the oracle itself."""
        self.coalesced = 0
        """Questions that shared the answer of an identical one."""
        self.fallbacks: Counter[str] = Counter()
        """`{reason: how often}`."""
        self.concurrency_max = 0
        self.latencies_s: deque[float] = deque(maxlen=LATENCIES_KEPT)
        """The latest answers' latencies, from arrival to answer; fallbacks do not count."""
        self._unreported: Counter[str] = Counter()
        self._detail = ""
        self._reported_at = float("-inf")

    def noted(self, decided: Decided, now: float, detail: str = "") -> None:
        """A question has been answered, one way or another; `detail` says more of a failure."""
        self.answered += 1
        if decided.source not in FALLBACKS:
            self.latencies_s.append(decided.latency_s)
            return
        self.fallbacks[decided.reason] += 1
        self._unreported[decided.reason] += 1
        self._detail = detail or self._detail
        if now - self._reported_at >= WARN_EVERY_S:
            self.report(now)

    def known(self, decided: Decided) -> None:
        """A question was answered in an earlier life: its call is counted, its latency is not."""
        self.answered += 1
        self.calls += decided.reason not in UNASKED
        if decided.source in FALLBACKS:
            self.fallbacks[decided.reason] += 1

    def state(self, tokens: int) -> OracleState:
        """The counts so far."""
        return OracleState(
            answered=self.answered,
            calls=self.calls,
            coalesced=self.coalesced,
            fallbacks=dict(self.fallbacks),
            tokens=tokens,
        )

    def restore(self, state: OracleState) -> None:
        """Count on from there."""
        self.answered, self.calls, self.coalesced = state.answered, state.calls, state.coalesced
        self.fallbacks = Counter(state.fallbacks)

    def report(self, now: float) -> None:
        """Log the fallbacks since the last report, if there were any: one line for all of them."""
        if self._unreported:
            latest = {"latest": self._detail[:200]} if self._detail else {}
            log.warning("oracle_fallbacks", actor="oracle", **dict(sorted(self._unreported.items())), **latest)
            self._unreported.clear()
            self._detail = ""
            self._reported_at = now
