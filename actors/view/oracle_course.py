"""The oracle's part in a run: its answers, their latencies and their cost, from its log."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from threading import Lock

import msgspec

from actors.core.messages import Retried
from actors.record.answers import logged_after
from prism.config import PricesConfig
from prism.llm.spending import Ledger, cost_usd
from prism.sharing.records import Judged

BINS = 64
"""Bins of the latencies over time; they get wider as a run grows."""
EDGES_S = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0)
"""Upper bounds of the bins of latencies, in seconds; the last bin has none."""


class Latencies(msgspec.Struct, kw_only=True):
    """The latencies of answers to questions of some ticks."""

    first: int
    count: int = 0
    total_s: float = 0.0
    slowest_s: float = 0.0


class OracleNow(msgspec.Struct, frozen=True, kw_only=True):
    """The counts of a log."""

    answers: int
    retries: int
    by_source: dict[str, int]  # by_source, by_method, by_reason: answers; the reasons are those of fallbacks
    by_method: dict[str, int]
    by_reason: dict[str, int]
    calls: dict[str, int]
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None  # None without prices
    edges_s: tuple[float, ...]
    histogram: list[int]  # answers by latency, one for each of `EDGES_S` and one for the longer ones
    bin_ticks: int  # the ticks of each entry of `over_time`
    over_time: list[Latencies]


class OracleCourse:
    """The oracle's log, read on as it grows."""

    def __init__(self, path: Path, prices: PricesConfig) -> None:
        self._path, self._prices, self._lock = path, prices, Lock()
        self._end = 0
        self._answers = self._retries = 0
        self._sources, self._methods, self._reasons = Counter[str](), Counter[str](), Counter[str]()
        self._ledger = Ledger()
        self._histogram = [0] * (len(EDGES_S) + 1)
        self._bin_ticks = 1
        self._bins: dict[int, Latencies] = {}

    def now(self) -> OracleNow:
        """Return the counts, with what has been appended since."""
        with self._lock:
            for record, end in logged_after(self._path, self._end):
                self._end = end
                if isinstance(record, Judged):
                    continue
                self._ledger.add(record.spent)
                if isinstance(record, Retried):
                    self._retries += 1
                    continue
                self._answers += 1
                self._sources[record.source] += 1
                if record.method:
                    self._methods[record.method] += 1
                if record.reason:
                    self._reasons[record.reason] += 1
                self._note_latency(record.asked, record.latency_s)
            spent = self._ledger.total
            return OracleNow(
                answers=self._answers,
                retries=self._retries,
                by_source=dict(self._sources),
                by_method=dict(self._methods),
                by_reason=dict(self._reasons),
                calls={one.outcome: one.calls for one in spent},
                prompt_tokens=sum(one.prompt_tokens for one in spent),
                completion_tokens=sum(one.completion_tokens for one in spent),
                cost_usd=cost_usd(spent, self._prices),
                edges_s=EDGES_S,
                histogram=list(self._histogram),
                bin_ticks=self._bin_ticks,
                over_time=[self._bins[first] for first in sorted(self._bins)],
            )

    def _note_latency(self, asked: int, latency_s: float) -> None:
        self._histogram[next((place for place, edge in enumerate(EDGES_S) if latency_s <= edge), len(EDGES_S))] += 1
        while asked // self._bin_ticks >= BINS:
            self._widen()
        first = asked // self._bin_ticks * self._bin_ticks
        _add(self._bins.setdefault(first, Latencies(first=first)), 1, latency_s, latency_s)

    def _widen(self) -> None:
        self._bin_ticks *= 2
        before, self._bins = self._bins, {}
        for old in before.values():
            first = old.first // self._bin_ticks * self._bin_ticks
            _add(self._bins.setdefault(first, Latencies(first=first)), old.count, old.total_s, old.slowest_s)


def _add(latencies: Latencies, count: int, total_s: float, slowest_s: float) -> None:
    latencies.count += count
    latencies.total_s += total_s
    latencies.slowest_s = max(latencies.slowest_s, slowest_s)
