"""Counts and latencies of the calls to a model, by outcome."""

from __future__ import annotations

from typing import Literal

import msgspec

from prism.latencies import Latencies
from prism.llm.failure import REASONS, Reason

Outcome = Literal["ok", "cancelled"] | Reason
OUTCOMES: tuple[Outcome, ...] = ("ok", *REASONS, "cancelled")
"""The outcomes of a call: an answer, a failure under its reason, or a call that was cancelled."""


class OracleStatistics(msgspec.Struct, frozen=True, kw_only=True):
    """The counts at one moment.

    Args:
        calls: calls by outcome; every outcome is there.
        latency_s: seconds spent on them, by outcome.
        latency_s_p50, latency_s_p95, latency_s_p99: of the calls that were answered; 0 if there were none.
        prompt_tokens, completion_tokens: tokens that the model read and wrote, also for unusable answers. The tokens of
            failed and cancelled calls are not known.
    """

    calls: dict[Outcome, int]
    latency_s: dict[Outcome, float]
    latency_s_p50: float
    latency_s_p95: float
    latency_s_p99: float
    prompt_tokens: int
    completion_tokens: int


class CallCounters:
    """Counters of calls, in memory that does not grow."""

    def __init__(self) -> None:
        self._calls: dict[Outcome, int] = dict.fromkeys(OUTCOMES, 0)
        self._latency_s: dict[Outcome, float] = dict.fromkeys(OUTCOMES, 0.0)
        self._latencies = Latencies()
        self._prompt_tokens = 0
        self._completion_tokens = 0

    def count(self, outcome: Outcome, latency_s: float, prompt_tokens: int = 0, completion_tokens: int = 0) -> None:
        """Add one call."""
        self._calls[outcome] += 1
        self._latency_s[outcome] += latency_s
        self._prompt_tokens += prompt_tokens
        self._completion_tokens += completion_tokens
        if outcome == "ok":
            self._latencies.add(latency_s)

    @property
    def tokens(self) -> int:
        """The tokens read and written."""
        return self._prompt_tokens + self._completion_tokens

    def statistics(self) -> OracleStatistics:
        """Return the counts now."""
        p50, p95, p99 = (self._latencies.percentile(share) for share in (0.50, 0.95, 0.99))
        return OracleStatistics(
            calls=dict(self._calls),
            latency_s=dict(self._latency_s),
            latency_s_p50=p50,
            latency_s_p95=p95,
            latency_s_p99=p99,
            prompt_tokens=self._prompt_tokens,
            completion_tokens=self._completion_tokens,
        )
