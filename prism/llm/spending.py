"""The spending of a run: its calls to a model by outcome, with their latencies and tokens, and what these cost."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import reduce
from time import perf_counter
from typing import Final, Literal

import anyio
import msgspec

from prism.config.model import PricesConfig
from prism.llm.failure import REASONS, LLMFailureException, Reason, Usage

_LEAST_S, _MOST_S = 1e-3, 2_097.152
_STEPS_PER_DOUBLING = 16
"""Buckets from 1 ms to 21 doublings of it, so a percentile is off by 2.2% at most."""


class Latencies:
    """Durations in seconds, counted in logarithmic buckets from 1 ms to 35 minutes."""

    def __init__(self, durations: Iterable[float] = ()) -> None:
        self._buckets: Counter[int] = Counter()
        for each in durations:
            self.add(each)

    def add(self, latency_s: float, number: int = 1) -> None:
        within_s = min(max(latency_s, _LEAST_S), _MOST_S)
        self._buckets[math.ceil(math.log2(within_s / _LEAST_S) * _STEPS_PER_DOUBLING)] += number

    def percentile(self, share: float) -> float:
        """Return the duration that this share, above 0, does not exceed (nearest rank); 0 where there are none."""
        left = math.ceil(share * self._buckets.total())
        for bucket, count in sorted(self._buckets.items()):
            left -= count
            if left <= 0:
                # The geometric middle of a bucket, which halves the largest error.
                return _LEAST_S * math.exp2(max(0.0, bucket - 0.5) / _STEPS_PER_DOUBLING)
        return 0.0


Outcome = Literal["ok", "cancelled"] | Reason
OUTCOMES: Final[tuple[Outcome, ...]] = ("ok", *REASONS, "cancelled")
USEFUL: Final = "ok"
"""The outcome of the calls whose answer was used; the cost of the others was wasted."""
PRICED_TOKENS: Final = 1_000_000


class Spent(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The calls with one outcome: `ok`, a reason of a failure, or `cancelled`.

    Args:
        latency_s: the seconds that they took together.
        prompt_tokens: tokens read, with those in the server's cache; `cached_tokens`: those alone.
    """

    outcome: str
    calls: int = 0
    latency_s: float = 0.0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    def plus(self, other: Spent, sign: int = 1) -> Spent:
        """Return the sum of two; with sign -1 the difference."""
        _, *own = msgspec.structs.astuple(self)
        _, *more = msgspec.structs.astuple(other)
        return Spent(self.outcome, *(mine + sign * each for mine, each in zip(own, more, strict=True)))


_NONE: Final = Spent("")
Spending = tuple[Spent, ...]
"""Calls by outcome, each outcome once."""


class Ledger:
    """A sum of spendings. It keeps one entry for each outcome, however many calls there are."""

    def __init__(self, spending: Iterable[Spent] = ()) -> None:
        self._entries: dict[str, Spent] = {}
        self.answered_s: list[float] = []
        """The latencies of the answered calls that were counted one by one."""
        self.add(spending)

    def __iter__(self) -> Iterator[Spent]:
        return iter(tuple(self._entries.values()))

    def add(self, spending: Iterable[Spent], sign: int = 1) -> None:
        """Add the calls of a spending; with sign -1 take away those that were added before."""
        for spent in spending:
            self._entries[spent.outcome] = self._entries.get(spent.outcome, Spent(spent.outcome)).plus(spent, sign)

    @property
    def total(self) -> Spending:
        return tuple(spent for spent in self if spent.calls)


_METER: ContextVar[Ledger | None] = ContextVar("_METER", default=None)


@contextmanager
def metered() -> Iterator[Ledger]:
    """Return a context with a ledger of all calls that are counted in it, also in tasks that begin in it."""
    ledger = Ledger()
    token = _METER.set(ledger)
    try:
        yield ledger
    finally:
        _METER.reset(token)


def count_call(outcome: Outcome, latency_s: float, usage: Usage = Usage()) -> None:  # noqa: B008  # never changes
    """Count a call to a model, for those who asked the question that it is made for."""
    if (ledger := _METER.get()) is None:
        return
    ledger.add((Spent(outcome, 1, latency_s, usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens),))
    if outcome == USEFUL:
        ledger.answered_s.append(latency_s)


@contextmanager
def counting_failures() -> Iterator[None]:
    """Return a context of one call: if it fails or is cancelled, it is counted so."""
    begun_s = perf_counter()
    try:
        yield
    except LLMFailureException as error:
        count_call(error.reason, error.latency_s, error.usage)
        raise
    except anyio.get_cancelled_exc_class():
        # At its deadline, or at the end of the run. The tokens that the server spent on it are not known.
        count_call("cancelled", perf_counter() - begun_s)
        raise


def tokens_of(spending: Iterable[Spent]) -> int:
    return sum(spent.tokens for spent in spending)


def cost_usd(spending: Iterable[Spent], prices: PricesConfig) -> float | None:
    """Return the cost of calls in US dollars; None without prices. Cached tokens that are not told are paid in full."""
    if prices.input is None or prices.output is None:
        return None
    cached = prices.input if prices.cached is None else prices.cached
    return (
        sum(
            (spent.prompt_tokens - spent.cached_tokens) * prices.input
            + spent.cached_tokens * cached
            + spent.completion_tokens * prices.output
            for spent in spending
        )
        / PRICED_TOKENS
    )


def wasted(spending: Iterable[Spent]) -> Spending:
    return tuple(spent for spent in spending if spent.outcome != USEFUL)


class OracleStatistics(msgspec.Struct, frozen=True, kw_only=True):
    """The counts at one moment.

    Args:
        calls, latency_s: calls and the seconds that they took by outcome; every outcome is there.
        latency_s_p50, latency_s_p95, latency_s_p99: of the calls that were answered; 0 if there were none.
        prompt_tokens, completion_tokens: tokens that the model read and wrote, also for unusable answers. Those of
            failed calls count as far as the server said; those of cancelled calls are not known.
        cached_tokens: those of the prompt tokens that were in the server's cache.
        wasted_tokens, wasted_usd: of the calls whose answer was not used.
        cost_usd: None without `llm.prices`.
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


def statistics_of(
    spending: Iterable[Spent], latencies: Latencies, prices: PricesConfig | None = None
) -> OracleStatistics:
    """Return the statistics of calls, each outcome of which is in `spending` once."""
    found, priced = {spent.outcome: spent for spent in spending}, prices or PricesConfig()
    whole, unused = reduce(Spent.plus, found.values(), _NONE), wasted(found.values())
    p50, p95, p99 = (latencies.percentile(share) for share in (0.50, 0.95, 0.99))
    return OracleStatistics(
        calls={outcome: found.get(outcome, _NONE).calls for outcome in OUTCOMES},
        latency_s={outcome: found.get(outcome, _NONE).latency_s for outcome in OUTCOMES},
        latency_s_p50=p50,
        latency_s_p95=p95,
        latency_s_p99=p99,
        prompt_tokens=whole.prompt_tokens,
        completion_tokens=whole.completion_tokens,
        cached_tokens=whole.cached_tokens,
        wasted_tokens=tokens_of(unused),
        cost_usd=cost_usd(found.values(), priced),
        wasted_usd=cost_usd(unused, priced),
    )
