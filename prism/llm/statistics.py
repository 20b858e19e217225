"""Counts of what became of the calls to a model."""

from __future__ import annotations

from typing import Literal

import msgspec

from prism.latencies import Latencies
from prism.llm.failure import REASONS, Reason

Outcome = Literal["ok", "cancelled"] | Reason
OUTCOMES: tuple[Outcome, ...] = ("ok", *REASONS, "cancelled")
"""What may become of a call: an answer, a failure under its reason, or that nobody waited for its end any longer."""


class OracleStatistics(msgspec.Struct, frozen=True, kw_only=True):
    """Counts at one moment.

    Args:
        calls: calls by outcome; every outcome is there.
        latency_s: seconds spent on them, by outcome.
        latency_s_p50, latency_s_p95, latency_s_p99: of the calls that were answered; 0 if there were none.
        prompt_tokens, completion_tokens: what the model read and wrote, unusable answers included. What it spent on
            failed and cancelled calls is known to nobody.
    """

    calls: dict[Outcome, int]
    latency_s: dict[Outcome, float]
    latency_s_p50: float
    latency_s_p95: float
    latency_s_p99: float
    prompt_tokens: int
    completion_tokens: int


class CallCounters:
    """Adds calls up, in memory that does not grow."""

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
        """Tokens read and written."""
        return self._prompt_tokens + self._completion_tokens

    def statistics(self) -> OracleStatistics:
        """The counts now."""
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
