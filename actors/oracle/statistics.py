"""What the oracle has done, for the summary, the progress display and the log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import structlog

from actors.core.messages import Decided, QuestionName
from actors.core.state import OracleState
from prism.agents import FALLBACKS
from prism.latencies import Latencies

log = structlog.get_logger(__name__)

WARN_EVERY_S = 10.0


UNASKED = frozenset({"breaker_open", "deadline", "spent"})
"""Reasons of fallbacks for which the oracle may never have been called."""


class OracleCounters:
    """Counts of answers and fallbacks, and a warning about the latter now and then instead of one for each."""

    def __init__(self) -> None:
        self.answered = 0
        self.calls = 0
        """Calls that were made to the oracle itself."""
        self.coalesced = 0
        """Questions that shared the answer of an identical one."""
        self.fallbacks: Counter[str] = Counter()
        """`{reason: how often}`."""
        self.tokens_before = 0
        """Tokens used in earlier lives of the run."""
        self.concurrency_max = 0
        self.latencies = Latencies()
        """From the arrival of a question to its answer; fallbacks do not count."""
        self._of_open: dict[QuestionName, Counter[tuple[str, str]]] = {}
        """`{open question: {(count, reason of a fallback): what it has added so far}}`."""
        self._unreported: Counter[str] = Counter()
        self._detail = ""
        self._reported_at = float("-inf")

    def called(self, name: QuestionName) -> None:
        """A question is put to the oracle."""
        self.calls += 1
        self._add(name, "calls")

    def shared(self, name: QuestionName) -> None:
        """A question waits for the answer to an identical one."""
        self.coalesced += 1
        self._add(name, "coalesced")

    def noted(self, decided: Decided, now: float, detail: str = "") -> None:
        """A question has been answered, one way or another; `detail` says more of a failure."""
        self._answered(decided)
        if decided.source not in FALLBACKS:
            self.latencies.add(decided.latency_s)
            return
        self._unreported[decided.reason] += 1
        self._detail = detail or self._detail
        if now - self._reported_at >= WARN_EVERY_S:
            self.report(now)

    def known(self, decided: Decided) -> None:
        """A question was answered in an earlier life: its call is counted, its latency is not."""
        if decided.reason not in UNASKED:
            self.called((decided.agent, decided.asked, decided.trigger))
        self._answered(decided)

    def settled(self, name: QuestionName) -> None:
        """The engine has the answer to a question: whoever goes on from here does not ask it again."""
        self._of_open.pop(name, None)

    def state(self, tokens: int, is_open: Callable[[QuestionName], bool]) -> OracleState:
        """The counts so far, but for questions that will be asked, and counted, again.

        Args:
            is_open: whether the engine has no answer to a question yet.
        """
        less: Counter[tuple[str, str]] = Counter()
        for name, added in self._of_open.items():
            if is_open(name):
                less.update(added)
        fallbacks = {reason: count - less["fallbacks", reason] for reason, count in self.fallbacks.items()}
        return OracleState(
            answered=self.answered - less["answered", ""],
            calls=self.calls - less["calls", ""],
            coalesced=self.coalesced - less["coalesced", ""],
            fallbacks={reason: count for reason, count in fallbacks.items() if count},
            tokens=tokens,
        )

    def restore(self, state: OracleState) -> None:
        """Count on from there."""
        self.answered, self.calls, self.coalesced = state.answered, state.calls, state.coalesced
        self.fallbacks = Counter(state.fallbacks)
        self.tokens_before = state.tokens

    def _answered(self, decided: Decided) -> None:
        name = (decided.agent, decided.asked, decided.trigger)
        self.answered += 1
        self._add(name, "answered")
        if decided.source in FALLBACKS:
            self.fallbacks[decided.reason] += 1
            self._add(name, "fallbacks", decided.reason)

    def _add(self, name: QuestionName, count: str, reason: str = "") -> None:
        self._of_open.setdefault(name, Counter())[count, reason] += 1

    def report(self, now: float) -> None:
        """Log the fallbacks since the last report, if there were any: one line for all of them."""
        if self._unreported:
            latest = {"latest": self._detail[:200]} if self._detail else {}
            log.warning("oracle_fallbacks", actor="oracle", **dict(sorted(self._unreported.items())), **latest)
            self._unreported.clear()
            self._detail = ""
            self._reported_at = now
