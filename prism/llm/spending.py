"""The spending of a run: its calls to a model by outcome, with their tokens, and what these cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import msgspec

from prism.config.model import PricesConfig

USEFUL = "ok"
"""The outcome of the calls whose answer was used; the cost of the others was wasted."""

_PER = 1_000_000
"""The tokens that a price is for."""


class Spent(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The calls with one outcome.

    Args:
        outcome: `ok`, a reason of a failure, or `cancelled`.
        calls: their number; `latency_s`: the seconds that they took together.
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
        return Spent(
            self.outcome,
            self.calls + sign * other.calls,
            self.latency_s + sign * other.latency_s,
            self.prompt_tokens + sign * other.prompt_tokens,
            self.cached_tokens + sign * other.cached_tokens,
            self.completion_tokens + sign * other.completion_tokens,
        )


Spending = tuple[Spent, ...]
"""Calls by outcome, each outcome once."""


class Ledger:
    """A sum of spendings. It keeps one entry for each outcome, however many calls there are."""

    def __init__(self, spending: Iterable[Spent] = ()) -> None:
        self._entries: dict[str, Spent] = {}
        self.add(spending)

    def __iter__(self) -> Iterator[Spent]:
        return iter(tuple(self._entries.values()))

    def add(self, spending: Iterable[Spent]) -> None:
        for spent in spending:
            self._entries[spent.outcome] = self._entries.get(spent.outcome, Spent(spent.outcome)).plus(spent)

    def subtract(self, spending: Iterable[Spent]) -> None:
        """Take away the calls of a spending that was added before."""
        for spent in spending:
            left = self._entries[spent.outcome].plus(spent, -1)
            if left.calls:
                self._entries[spent.outcome] = left
            else:
                del self._entries[spent.outcome]

    @property
    def total(self) -> Spending:
        return tuple(self._entries.values())


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


def note(spent: Spent) -> None:
    """Add calls to the ledger of the `metered` context around, if there is one."""
    ledger = _METER.get()
    if ledger is not None:
        ledger.add((spent,))


def tokens_of(spending: Iterable[Spent]) -> int:
    return sum(spent.tokens for spent in spending)


def cost_usd(spending: Iterable[Spent], prices: PricesConfig) -> float | None:
    """Return the cost of calls in US dollars; None without prices.

    A server that does not tell its cached tokens is paid for all of them.
    """
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
        / _PER
    )


def wasted(spending: Iterable[Spent]) -> Spending:
    """Return the calls whose answer was not used."""
    return tuple(spent for spent in spending if spent.outcome != USEFUL)
