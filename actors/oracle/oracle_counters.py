"""The statistics of the oracle actor, for the summary, the progress display and the log."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable

import structlog

from actors.core.messages import Decided, QuestionName
from actors.core.state import Effort, OracleState, SharingState
from actors.oracle.call import Answer
from actors.oracle.queue import WaitingQuestion
from prism.agents import FALLBACKS
from prism.llm.spending import Latencies, Ledger, Spending, tokens_of
from prism.sharing import Role
from prism.sharing.summary import UNIT

Group = tuple[str, ...]
log = structlog.get_logger(__name__)

WARN_EVERY_S = 10.0


UNASKED = frozenset({"breaker_open", "deadline", "spent"})
"""Reasons of fallbacks for which the oracle may not have been called."""


LATEST_CHOICES, FEWEST_CHOICES = 1000, 100


class FallbackShare:
    """The share of fallbacks in the latest 1,000 choices, and its limit, which holds from 100 choices on.

    Args:
        most: the limit; None for no limit.
        on_exceeded: called once when it is exceeded.
    """

    def __init__(self, most: float | None, on_exceeded: Callable[[], None]) -> None:
        self._most = most
        self._on_exceeded = on_exceeded
        self._latest: deque[bool] = deque(maxlen=LATEST_CHOICES)
        self._fallbacks = 0

    def add(self, answer: Answer) -> None:
        if self._most is None:
            return
        if len(self._latest) == LATEST_CHOICES:
            self._fallbacks -= self._latest[0]
        self._latest.append(bool(answer.reason))
        self._fallbacks += bool(answer.reason)
        if len(self._latest) >= FEWEST_CHOICES and self._fallbacks > self._most * len(self._latest):
            self._most = None
            self._on_exceeded()


class OracleCounters:
    """Counts of answers and fallbacks, with one warning in 10 s about fallbacks instead of one for each."""

    def __init__(self) -> None:
        self.answered = 0
        self.calls = 0
        """Calls to the oracle."""
        self.fallbacks: Counter[str] = Counter()
        """`{reason: count}`."""
        self.methods: Counter[str] = Counter()
        """`{how the oracle found its answer: count}`."""
        self.roles: Counter[str] = Counter()
        """`{part of a question that shares: questions with an answer}`, named like the methods in the summary."""
        self.shared: dict[Group, tuple[int, ...]] = {}
        """`{(trigger, state, *options): the sum of the shared distributions in units}`, audited questions included."""
        self.retries: Counter[str] = Counter()
        """`{reason: times that a question was asked again after it}`."""
        self.tokens_before = 0
        """Tokens used by earlier processes of the run."""
        self.spent = Ledger()
        """Calls to a model in the whole run, those of earlier processes included."""
        self.spent_written = Ledger()
        """The calls among them that are in a file of the run: a kill does not take them back."""
        self.retries_written: Counter[str] = Counter()
        """The retries that are in a file of the run."""
        self.concurrency_max = 0
        self.latencies = Latencies()
        """Seconds from a question's arrival to its answer; fallbacks do not count."""
        self._of_open: dict[QuestionName, Counter[tuple[str, str]]] = {}
        """`{open question: {(count, reason of a fallback, method or part): its part of that count}}`."""
        self._units_of_open: dict[QuestionName, tuple[Group, tuple[int, ...]]] = {}
        """`{open question: its part of `shared`}`."""
        self._unlogged: dict[QuestionName, Ledger] = {}
        """`{open question: calls for it that no record of the oracle's log names yet}`."""
        self._has_effort = False
        """True if the calls that recorded answers name have been counted already, all at once."""
        self._unreported: Counter[str] = Counter()
        self._detail = self._question = ""
        """The latest failure in words, and the id of its question."""
        self._reported_at = float("-inf")

    def count_call(self, name: QuestionName) -> None:
        """Count a question that is put to the oracle."""
        self.calls += 1
        self._add(name, "calls")

    def count_retry(self, name: QuestionName, reason: str) -> Spending:
        """Count a question that is asked again, because a call failed for this reason.

        Returns:
            The calls that the record of the retry must name: it must be appended to the log in the same turn.
        """
        self.retries[reason] += 1
        self._of_open[name]["calls", ""] -= 1  # the record of the retry counts the question
        return self.take_unlogged(name)

    def count_answer(self, decided: Decided, now: float, detail: str = "", question: str = "") -> None:
        """Count an answer or a fallback.

        Args:
            detail: what happened, in words, if it is a fallback; `question`: the question's id.
        """
        self._count_answer(decided)
        if decided.source not in FALLBACKS:
            self.latencies.add(decided.latency_s)
            return
        self._unreported[decided.reason] += 1
        if detail or not self._detail:
            self._detail, self._question = detail, question
        if now - self._reported_at >= WARN_EVERY_S:
            self.report(now)

    def count_computed(self, method: str, latency_s: float, number: int = 1) -> None:
        """Count answers of an oracle that computes, which the engine has received in the same turn."""
        self.calls += number
        self.answered += number
        self.methods[method] += number
        self.concurrency_max = max(self.concurrency_max, 1)
        self.latencies.add(latency_s, number)

    def count_spent(self, name: QuestionName, spending: Spending) -> None:
        """Count the calls to a model that a question has led to."""
        self.spent.add(spending)
        self._unlogged.setdefault(name, Ledger()).add(spending)

    def take_unlogged(self, name: QuestionName) -> Spending:
        """Return the calls that a record must name which is appended to the log in the same turn."""
        return self._unlogged.pop(name).total if name in self._unlogged else ()

    def count_written(self, spending: Spending, retried: str = "") -> None:
        """Note that a record is written: with these calls, and with the reason of a retry."""
        self.spent_written.add(spending)
        if retried:
            self.retries_written[retried] += 1

    def count_recorded(self, decided: Decided) -> None:
        """Count an answer that was recorded before the resume: with its calls, but without its latency.

        An answer drawn from a shared judgement took no calls.
        """
        name = (decided.agent, decided.asked, decided.trigger)
        if decided.reason not in UNASKED and decided.method != Role.SHARED:
            self.count_call(name)
        if not self._has_effort:
            self._add_effort(Effort(spent=decided.spent))
        self._count_answer(decided)

    def count_shared(self, waiting: WaitingQuestion) -> None:
        """Count a question that shares and got an answer of the oracle."""
        place, question = waiting.place, waiting.question
        if place is None or not (place.role is Role.OWNER or place.basis.probabilities):
            return  # where the answer is recorded, the judgement that it was drawn from may be lost
        self.roles[place.role] += 1
        self._add(waiting.name, "roles", place.role)
        if place.role is not Role.OWNER:
            group = question.trigger, question.state, *question.options
            units = tuple(round(each * UNIT) for each in place.basis.probabilities)
            self.shared[group] = _added(self.shared.get(group), units)
            self._units_of_open[waiting.name] = group, units

    def close(self, name: QuestionName) -> None:
        """Note that the engine has the answer to a question: a resume from here does not ask it again."""
        self._of_open.pop(name, None)
        self._units_of_open.pop(name, None)
        self._unlogged.pop(name, None)

    def state(self, tokens: int, is_open: Callable[[QuestionName], bool], *, has_ended: bool) -> OracleState:
        """Return the counts so far, without the questions that a resume will ask and count again.

        Args:
            is_open: returns whether the engine has no answer to a question yet.
            has_ended: whether the oracle has ended. Until then, a later record will name the calls under way.
        """
        spent = Ledger(self.spent)
        for ledger in () if has_ended else self._unlogged.values():
            spent.subtract(ledger)
            tokens -= tokens_of(ledger)
        open_counts: Counter[tuple[str, str]] = Counter()
        for name, added in self._of_open.items():
            if is_open(name):
                open_counts.update(added)
        fallbacks, methods, roles = (
            {name: left for name, count in counts.items() if (left := count - open_counts[kind, name])}
            for kind, counts in (("fallbacks", self.fallbacks), ("methods", self.methods), ("roles", self.roles))
        )
        shared = dict(self.shared)
        for name, (group, units) in self._units_of_open.items():
            if is_open(name):
                shared[group] = _added(shared[group], tuple(-each for each in units))
        sums = tuple((group, each) for group, each in shared.items() if any(each))
        return OracleState(
            answered=self.answered - open_counts["answered", ""],
            calls=self.calls - open_counts["calls", ""],
            fallbacks=fallbacks,
            retries=dict(self.retries),
            methods=methods,
            tokens=tokens,
            spent=spent.total,
            sharing=SharingState(roles=roles, shared=sums),
        )

    def restore(self, state: OracleState) -> None:
        """Set the counts to those of a checkpoint."""
        self.answered, self.calls = state.answered, state.calls
        self.fallbacks, self.retries = Counter(state.fallbacks), Counter(state.retries)
        self.methods = Counter(state.methods)
        self.roles, self.shared = Counter(state.sharing.roles), dict(state.sharing.shared)
        self.tokens_before = state.tokens
        self.spent, self.spent_written = Ledger(state.spent), Ledger(state.spent)
        self.retries_written = Counter(state.retries)

    def add_logged(self, effort: Effort) -> None:
        """Add the calls and retries in the log after the checkpoint, all at once; reused answers add none again.

        So the counts are right as soon as a resumed run begins, even for answers that it will not ask for again.
        """
        self._add_effort(effort)
        self.calls += sum(effort.retries.values())  # the calls that led to answers are counted with those
        self._has_effort = True

    def replace_effort(self, effort: Effort) -> None:
        """Set the calls and retries to those of a fork's own log."""
        self.spent, self.retries, self.tokens_before = Ledger(), Counter(), 0
        self.spent_written, self.retries_written = Ledger(), Counter()
        self._add_effort(effort)

    def _add_effort(self, effort: Effort) -> None:
        for spent, retries in ((self.spent, self.retries), (self.spent_written, self.retries_written)):
            spent.add(effort.spent)
            retries.update(effort.retries)
        self.tokens_before += tokens_of(effort.spent)

    def _count_answer(self, decided: Decided) -> None:
        name = (decided.agent, decided.asked, decided.trigger)
        self.answered += 1
        self._add(name, "answered")
        if decided.source in FALLBACKS:
            self.fallbacks[decided.reason] += 1
            self._add(name, "fallbacks", decided.reason)
        elif decided.method:
            self.methods[decided.method] += 1
            self._add(name, "methods", decided.method)

    def _add(self, name: QuestionName, count: str, kind: str = "") -> None:
        self._of_open.setdefault(name, Counter())[count, kind] += 1

    def report(self, now: float) -> None:
        """Log the fallbacks since the last report in one line, if there were any."""
        if self._unreported:
            texts = {"latest": self._detail[:200], "question": self._question}
            latest = {name: text for name, text in texts.items() if text}
            log.warning("oracle_fallbacks", actor="oracle", **dict(sorted(self._unreported.items())), **latest)
            self._unreported.clear()
            self._detail = self._question = ""
            self._reported_at = now


def _added(sums: tuple[int, ...] | None, units: tuple[int, ...]) -> tuple[int, ...]:
    return units if sums is None else tuple(map(int.__add__, sums, units))
