"""The oracle's part in a run: its answers, their latencies and their cost, from its log."""

from __future__ import annotations

from array import array
from collections import Counter
from pathlib import Path
from threading import Lock

import msgspec
import numpy as np

from actors.core.messages import Retried
from actors.store.answers import logged_after
from prism.config import PricesConfig
from prism.llm.spending import Ledger, cost_usd
from prism.sharing.records import Judged


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
    latencies_s: list[float]  # the quantiles 0.5 and 0.95 of the latencies, and the longest; empty without answers


class OracleCourse:
    """The oracle's log, read on as it grows."""

    def __init__(self, path: Path, prices: PricesConfig) -> None:
        self._path, self._prices, self._lock = path, prices, Lock()
        self._end = 0
        self._retries = 0
        self._sources, self._methods, self._reasons = Counter[str](), Counter[str](), Counter[str]()
        self._ledger = Ledger()
        self._latencies = array("d")

    def now(self) -> OracleNow:
        with self._lock:
            for record, end in logged_after(self._path, self._end):
                self._end = end
                if isinstance(record, Judged):
                    continue
                self._ledger.add(record.spent)
                if isinstance(record, Retried):
                    self._retries += 1
                    continue
                self._latencies.append(record.latency_s)
                self._sources[record.source] += 1
                if record.method:
                    self._methods[record.method] += 1
                if record.reason:
                    self._reasons[record.reason] += 1
            spent = self._ledger.total
            return OracleNow(
                answers=len(self._latencies),
                retries=self._retries,
                by_source=dict(self._sources),
                by_method=dict(self._methods),
                by_reason=dict(self._reasons),
                calls={one.outcome: one.calls for one in spent},
                prompt_tokens=sum(one.prompt_tokens for one in spent),
                completion_tokens=sum(one.completion_tokens for one in spent),
                cost_usd=cost_usd(spent, self._prices),
                latencies_s=np.quantile(self._latencies, (0.5, 0.95, 1.0)).tolist() if self._latencies else [],
            )
