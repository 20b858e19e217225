"""Counts and latencies of the calls to a model, by outcome."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from prism.config.model import PricesConfig
from prism.latencies import Latencies
from prism.llm.failure import REASONS, Reason, Usage
from prism.llm.spending import Ledger, Spent, cost_usd, note, tokens_of, wasted

Outcome = Literal["ok", "cancelled"] | Reason
OUTCOMES: tuple[Outcome, ...] = ("ok", *REASONS, "cancelled")
"""The outcomes of a call: an answer, a failure under its reason, or a call that was cancelled."""


class OracleStatistics(msgspec.Struct, frozen=True, kw_only=True):
    """The counts at one moment.

    Args:
        calls: calls by outcome; every outcome is there.
        latency_s: seconds spent on them, by outcome.
        latency_s_p50, latency_s_p95, latency_s_p99: of the calls that were answered; 0 if there were none.
        prompt_tokens, completion_tokens: tokens that the model read and wrote, also for unusable answers. Those of
            failed calls count as far as the server said; those of cancelled calls are not known.
        cached_tokens: those of the prompt tokens that were in the server's cache.
        wasted_tokens: tokens of the calls whose answer was not used.
        cost_usd, wasted_usd: the cost of all calls, and of the wasted ones; None without `llm.prices`.
    """

    calls: dict[Outcome, int]
    latency_s: dict[Outcome, float]
    latency_s_p50: float
    latency_s_p95: float
    latency_s_p99: float
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0
    wasted_tokens: int = 0
    cost_usd: float | None = None
    wasted_usd: float | None = None


class CallCounters:
    """Counters of calls, in memory that does not grow."""

    def __init__(self) -> None:
        self.spent = Ledger()
        self.latencies = Latencies()
        """Of the calls that were answered."""

    def count(self, outcome: Outcome, latency_s: float, usage: Usage = Usage()) -> None:  # noqa: B008  # never changes
        spent = Spent(outcome, 1, latency_s, usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens)
        self.spent.add((spent,))
        note(spent)
        if outcome == "ok":
            self.latencies.add(latency_s)

    @property
    def tokens(self) -> int:
        return tokens_of(self.spent)

    def statistics(self) -> OracleStatistics:
        return statistics_of(self.spent, self.latencies)


def statistics_of(
    spending: Iterable[Spent], latencies: Latencies, prices: PricesConfig | None = None
) -> OracleStatistics:
    """Return the statistics of calls.

    Args:
        spending: the calls, each outcome once.
        prices: of the model; None if they do not matter.
    """
    by_outcome = {spent.outcome: spent for spent in spending}
    unused = wasted(by_outcome.values())
    none = PricesConfig()
    p50, p95, p99 = (latencies.percentile(share) for share in (0.50, 0.95, 0.99))
    return OracleStatistics(
        calls={outcome: by_outcome[outcome].calls if outcome in by_outcome else 0 for outcome in OUTCOMES},
        latency_s={outcome: by_outcome[outcome].latency_s if outcome in by_outcome else 0.0 for outcome in OUTCOMES},
        latency_s_p50=p50,
        latency_s_p95=p95,
        latency_s_p99=p99,
        prompt_tokens=sum(spent.prompt_tokens for spent in by_outcome.values()),
        completion_tokens=sum(spent.completion_tokens for spent in by_outcome.values()),
        cached_tokens=sum(spent.cached_tokens for spent in by_outcome.values()),
        wasted_tokens=tokens_of(unused),
        cost_usd=cost_usd(by_outcome.values(), prices or none),
        wasted_usd=cost_usd(unused, prices or none),
    )
