"""Questions that share a judgement: the table of archetypes beside the oracle's queue, and what waits for a judgement.

question -> placed in the table -> asked for all, or audited: into the queue, for a distribution
-> shared: drawn at once, or as soon as the question asked for all has its answer
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from actors.oracle.admission import Answer, WaitingQuestion
from actors.oracle.oracle_counters import OracleCounters
from prism.agents import Question, StatefulAgent
from prism.sharing.archetypes import Basis, Judged, Place, Role, SharingTable
from prism.sharing.audit import SharedCounts, SharingSummary, divergences, sharing_summary
from prism.statechart import Oracle


class Sharing:
    """The questions of a run that share judgements; the oracle draws a person's choice from one."""

    def __init__(
        self, table: SharingTable, oracle: Oracle[Any], asker: Callable[[Question[Any]], StatefulAgent[Any]]
    ) -> None:
        self.table = table
        self.audits: list[Judged] = []
        self.on_placed: Callable[[Question[Any], Place], None] = lambda *_: None
        """Called with each question and its place in the table."""
        self._oracle = oracle
        self._asker = asker
        self._followers: dict[Basis, list[WaitingQuestion]] = {}
        """`{what will be shared: the questions that wait for it}`, in the order of questions."""
        self._is_loaded = False
        self._calls = 0
        self._bits = self._weight = 0.0
        """The sum of the audits' divergences, by their weights, and of their weights."""

    def load(self, judgements: Sequence[Judged], begin: int) -> None:
        """Take the judgements of earlier processes, once; `begin` is the first tick of this one."""
        if self._is_loaded:
            return
        self._is_loaded = True
        self.table.load(judgements, begin)
        for judged in judgements:
            self._add(judged)

    def begin(self) -> None:
        """Forget the waiting questions: after a crash of the actor they arrive again, in the same order."""
        self._followers = {}

    def placed(self, waiting: WaitingQuestion) -> WaitingQuestion:
        """Return a question with its place in the table; one that arrives again keeps its place."""
        if waiting.place is not None:
            return waiting
        question = waiting.question
        place = self.table.place(self._asker(question), question)
        self.on_placed(question, place)
        return waiting._replace(place=place)

    @property
    def bits(self) -> float:
        """The mean divergence of audits so far from shared judgements, weighted by the questions each stands for."""
        return self._bits / self._weight if self._weight else 0.0

    def _add(self, judged: Judged) -> None:
        self._calls += judged.calls_at_least
        if not judged.is_audit:
            return
        self.audits.append(judged)
        self._bits += judged.weight * float(divergences([judged])[0])
        self._weight += judged.weight

    def must_wait(self, waiting: WaitingQuestion) -> bool:
        """Return whether a question has to wait for the question that is asked for all, and if so, let it wait."""
        place = waiting.place
        if place is None or place.role is Role.OWNER or place.basis.probabilities:
            return False
        self._followers.setdefault(place.basis, []).append(waiting)
        return True

    def known(self, waiting: WaitingQuestion) -> Answer | None:
        """Return the answer to a question if its judgement is known; None if it must be asked."""
        place = waiting.place
        if place is None:
            return None
        if place.role is Role.SHARED:
            return self._drawn(waiting, place.basis.probabilities, place.role.value)
        recorded = self.table.recorded(waiting.name)
        return None if recorded is None else self._drawn(waiting, recorded.probabilities, "")

    def _drawn(self, waiting: WaitingQuestion, probabilities: Sequence[float], method: str) -> Answer:
        question = waiting.question
        number = self._oracle.drawn(probabilities, question.agent, question.tick, question.context)
        return Answer(question.options[number], self._oracle.source, method=method or self._oracle.method)

    def judged(self, waiting: WaitingQuestion, answer: Answer) -> Judged | None:
        place, question = waiting.place, waiting.question
        judgement = answer.judgement
        if place is None or judgement is None or self.table.recorded(waiting.name) is not None:
            return None
        is_audit = place.role is Role.AUDITED
        return Judged(
            question.tick,
            question.agent,
            question.trigger,
            judgement.probabilities,
            place.basis.key,
            place.values,
            place.basis.probabilities if is_audit else (),
            judgement.samples,
            self.table.audit if is_audit else 1.0,
            sum(each.calls for each in answer.spent),
        )

    def settle(self, waiting: WaitingQuestion, judged: Judged | None, *, failed: bool) -> list[WaitingQuestion]:
        """Note the outcome of a question, and return the questions that waited for it and can go on now.

        If it failed, the first waiting question is asked for all in its place, and the others wait for that one.
        """
        place = waiting.place
        if place is None:
            return []
        if judged is not None:
            self.table.judged(judged)
            self._add(judged)
        if place.role is not Role.OWNER:
            return []
        followers = self._followers.pop(place.basis, [])
        found = None if failed else judged or self.table.recorded(waiting.name)
        if found is not None:
            place.basis.probabilities = found.probabilities
            return followers
        if not followers:
            self.table.promote(place.basis, None)
            return []
        first, *self._followers[place.basis] = followers
        self.table.promote(place.basis, first.name)
        return [first if first.place is None else first._replace(place=first.place._replace(role=Role.OWNER))]

    def summary(self, counts: OracleCounters) -> SharingSummary:
        counted = SharedCounts(self.table.known, counts.roles, counts.shared, self._calls)
        return sharing_summary(self.table.archetypes, counted, self.audits)
