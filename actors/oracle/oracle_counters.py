"""The statistics of the oracle actor, for the summary, the progress display and the log."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from typing import Any

import structlog

from actors.core.messages import Decided, QuestionName
from actors.core.state import Effort, OracleState, SharingState
from actors.oracle.admission import Answer, WaitingQuestion
from prism.agents import FALLBACKS
from prism.llm.spending import Latencies, Ledger, Spending
from prism.sharing.archetypes import Role
from prism.sharing.audit import UNIT

Group = tuple[str, ...]
Counts = Counter[tuple[str, Any]]
"""`{(count, the reason, method or part that it is for): number}`."""
log = structlog.get_logger(__name__)

WARN_EVERY_S = 10.0
UNASKED = frozenset({"breaker_open", "deadline", "spent"})
"""Reasons of fallbacks for which the oracle may not have been called."""
LATEST_CHOICES, FEWEST_CHOICES = 1000, 100


class FallbackShare:
    """The share of fallbacks in the latest 1,000 choices, and its limit, if any, which holds from 100 choices on."""

    def __init__(self, most: float | None, on_exceeded: Callable[[], None]) -> None:
        self._most = most
        self._on_exceeded = on_exceeded
        self._latest: deque[bool] = deque(maxlen=LATEST_CHOICES)

    def add(self, answer: Answer) -> None:
        if self._most is None:
            return
        self._latest.append(bool(answer.reason))
        if len(self._latest) >= FEWEST_CHOICES and sum(self._latest) > self._most * len(self._latest):
            self._most = None
            self._on_exceeded()


class OracleCounters:
    """Counts of answers and fallbacks, with one warning in 10 s about fallbacks instead of one for each."""

    def __init__(self) -> None:
        self._counts: Counts = Counter()
        self._of_open: dict[QuestionName, Counts] = {}
        """`{open question: its part of the counts}`."""
        self.retries: Counter[str] = Counter()
        """`{reason: times that a question was asked again after it}`."""
        self.spent = Ledger()
        """Calls to a model in the whole run, those of earlier processes included."""
        self.spent_written = Ledger()
        """The calls among them that are in a file of the run: a kill does not take them back."""
        self.retries_written: Counter[str] = Counter()
        """The retries that are in a file of the run."""
        self.concurrency_max = 0
        self.latencies, self.call_latencies = Latencies(), Latencies()
        """Seconds from a question's arrival to its answer, without fallbacks; and of answered calls to a model."""
        self._unlogged: dict[QuestionName, Ledger] = {}
        """`{open question: calls for it that no record of the oracle's log names yet}`."""
        self._has_effort = False
        """True if the calls that recorded answers name have been counted already, all at once."""
        self._unreported: Counter[str] = Counter()
        self._detail = self._question = ""
        """The latest failure in words, and the id of its question."""
        self._reported_at = float("-inf")

    @property
    def answered(self) -> int:
        return self._counts["answered", ""]

    @property
    def calls(self) -> int:
        return self._counts["calls", ""]

    @property
    def fallbacks(self) -> Counter[str]:
        """`{reason: count}`."""
        return _kinds(self._counts, "fallbacks")

    @property
    def methods(self) -> Counter[str]:
        """`{how the oracle found its answer: count}`."""
        return _kinds(self._counts, "methods")

    @property
    def roles(self) -> Counter[str]:
        """`{part of a question that shares: questions with an answer}`, named like the methods in the summary."""
        return _kinds(self._counts, "roles")

    @property
    def shared(self) -> dict[Group, tuple[int, ...]]:
        """`{(trigger, state, *options): the sum of the shared distributions in units}`, audited questions included."""
        return _shared(self._counts)

    def count_call(self, name: QuestionName) -> None:
        self._add(name, "calls")

    def count_retry(self, name: QuestionName, reason: str) -> Spending:
        """Count a question that is asked again after a failure.

        Returns:
            The calls that the record of the retry must name: it must be appended to the log in the same turn.
        """
        self.retries[reason] += 1
        self._of_open[name]["calls", ""] -= 1  # the record of the retry counts the question
        return self.take_unlogged(name)

    def count_answer(self, decided: Decided, now: float, detail: str = "", question: str = "") -> None:
        """Count an answer, or a fallback with what happened and the question's id."""
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
        for count in (("calls", ""), ("answered", ""), ("methods", method)):
            self._counts[count] += number
        self.concurrency_max = max(self.concurrency_max, 1)
        self.latencies.add(latency_s, number)

    def count_spent(self, name: QuestionName, ledger: Ledger) -> None:
        self.spent.add(ledger)
        self._unlogged.setdefault(name, Ledger()).add(ledger)
        for latency_s in ledger.answered_s:
            self.call_latencies.add(latency_s)

    def take_unlogged(self, name: QuestionName) -> Spending:
        """Return the calls that a record must name which is appended to the log in the same turn."""
        return self._unlogged.pop(name, Ledger()).total

    def count_written(self, spending: Spending, retried: str = "") -> None:
        """Note that a record is written: with these calls, and with the reason of a retry."""
        self.spent_written.add(spending)
        if retried:
            self.retries_written[retried] += 1

    def count_recorded(self, decided: Decided) -> None:
        """Count an answer that was recorded before the resume: with its calls, but without its latency.

        An answer drawn from a shared judgement took no calls.
        """
        if decided.reason not in UNASKED and decided.method != Role.SHARED:
            self.count_call((decided.agent, decided.asked, decided.trigger))
        if not self._has_effort:
            self._add_effort(Effort(spent=decided.spent))
        self._count_answer(decided)

    def count_shared(self, waiting: WaitingQuestion) -> None:
        """Count a question that shares and got an answer of the oracle."""
        place, question = waiting.place, waiting.question
        if place is None or not (place.role is Role.OWNER or place.basis.probabilities):
            return  # where the answer is recorded, the judgement that it was drawn from may be lost
        self._add(waiting.name, "roles", place.role)
        if place.role is not Role.OWNER:
            group = question.trigger, question.state, *question.options
            for option, each in enumerate(place.basis.probabilities):
                self._add(waiting.name, "shared", (group, option), round(each * UNIT))

    def close(self, name: QuestionName) -> None:
        """Note that the engine has the answer to a question: a resume from here does not ask it again."""
        self._of_open.pop(name, None)
        self._unlogged.pop(name, None)

    def state(self, is_open: Callable[[QuestionName], bool], *, has_ended: bool) -> OracleState:
        """Return the counts so far, without the open questions, which a resume will ask and count again.

        Until the oracle has ended, a later record will name the calls under way.
        """
        spent = Ledger(self.spent)
        for ledger in () if has_ended else self._unlogged.values():
            spent.add(ledger, -1)
        counts = self._counts.copy()
        for name, own in self._of_open.items():
            if is_open(name):
                counts.subtract(own)
        shared = tuple((group, each) for group, each in _shared(counts).items() if any(each))
        return OracleState(
            answered=counts["answered", ""],
            calls=counts["calls", ""],
            fallbacks=dict(_kinds(counts, "fallbacks")),
            retries=dict(self.retries),
            methods=dict(_kinds(counts, "methods")),
            spent=spent.total,
            sharing=SharingState(roles=dict(_kinds(counts, "roles")), shared=shared),
        )

    def restore(self, state: OracleState) -> None:
        self._counts = Counter({("answered", ""): state.answered, ("calls", ""): state.calls})
        kinds = {"fallbacks": state.fallbacks, "methods": state.methods, "roles": state.sharing.roles}
        for count, numbers in kinds.items():
            self._counts.update({(count, of): number for of, number in numbers.items()})
        for group, units in state.sharing.shared:
            self._counts.update({("shared", (group, option)): each for option, each in enumerate(units)})
        self.replace_effort(Effort(spent=state.spent, retries=state.retries))

    def add_logged(self, effort: Effort) -> None:
        """Add the calls and retries in the log after the checkpoint, all at once; reused answers add none again.

        So the counts are right as soon as a resumed run begins, even for answers that it will not ask for again.
        """
        self._add_effort(effort)
        # The calls that led to answers are counted with those.
        self._counts["calls", ""] += sum(effort.retries.values())
        self._has_effort = True

    def replace_effort(self, effort: Effort) -> None:
        """Set the calls and retries to those of a fork's own log."""
        self.spent, self.retries = Ledger(), Counter()
        self.spent_written, self.retries_written = Ledger(), Counter()
        self._add_effort(effort)

    def _add_effort(self, effort: Effort) -> None:
        for spent, retries in ((self.spent, self.retries), (self.spent_written, self.retries_written)):
            spent.add(effort.spent)
            retries.update(effort.retries)

    def _count_answer(self, decided: Decided) -> None:
        name = (decided.agent, decided.asked, decided.trigger)
        self._add(name, "answered")
        if decided.source in FALLBACKS:
            self._add(name, "fallbacks", decided.reason)
        elif decided.method:
            self._add(name, "methods", decided.method)

    def _add(self, name: QuestionName, count: str, of: Any = "", number: int = 1) -> None:
        self._counts[count, of] += number
        self._of_open.setdefault(name, Counter())[count, of] += number

    def report(self, now: float) -> None:
        """Log the fallbacks since the last report in one line, if there were any."""
        if self._unreported:
            texts = {"latest": self._detail[:200], "question": self._question}
            latest = {name: text for name, text in texts.items() if text}
            log.warning("oracle_fallbacks", actor="oracle", **dict(sorted(self._unreported.items())), **latest)
            self._unreported.clear()
            self._detail = self._question = ""
            self._reported_at = now


def _kinds(counts: Counts, name: str) -> Counter[str]:
    return Counter({of: number for (count, of), number in counts.items() if count == name and number})


def _shared(counts: Counts) -> dict[Group, tuple[int, ...]]:
    groups = dict.fromkeys(of[0] for count, of in counts if count == "shared")
    return {group: tuple(counts["shared", (group, at)] for at in range(len(group) - 2)) for group in groups}
