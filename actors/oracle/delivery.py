"""The delivery of answers: each answer is counted, recorded and sent to the engine; until then its question is open."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from enum import Enum, auto, unique
from functools import partial
from typing import Any

import anyio

from actors.core.mailbox import Mailbox
from actors.core.messages import Codec, Decided, QuestionName, name_of_question
from actors.core.ports import Observer, Record
from actors.oracle.call import Answer, answers_at_once
from actors.oracle.oracle_counters import FallbackShare, OracleCounters
from actors.oracle.queue import WaitingQuestion
from actors.oracle.sharing import Sharing
from prism.agents import Question
from prism.agents.questions import Questions
from prism.columns import Ints
from prism.llm.question_id import TraceIds
from prism.sharing import Judged
from prism.statechart import Oracle

SENT_AT_ONCE = 512
"""Answers that are sent before the event loop gets a turn."""


@unique
class Route(Enum):
    """The way of a question to its answer.

    `RECORDED`: it was answered before a resume, or before the actor crashed. `SHARED`: drawn from a known judgement.
    `CALLED`: a call to the oracle, or its fallback.
    """

    RECORDED = auto()
    SHARED = auto()
    CALLED = auto()


class Delivery:
    """The way of answers to the engine.

    Args:
        codec: the domain's messages.
        engine: the mailbox that answers are sent to.
        answers: keeps every answer, and has those that were recorded before a resume.
        statistics: counts them; `share`: counts fallbacks among the latest.
        observer: is told of every answer.
        sharing: the questions that share judgements; None if none do.
    """

    def __init__(  # each of its neighbours once
        self,
        codec: Codec,
        engine: Mailbox[bytes],
        answers: Record,
        statistics: OracleCounters,
        share: FallbackShare,
        observer: Observer,
        *,
        sharing: Sharing | None,
        ids: TraceIds,
    ) -> None:
        self.open: dict[QuestionName, WaitingQuestion] = {}
        """`{name: question}` from its arrival until its answer is sent; it survives a crash of the actor."""
        self._codec = codec
        self._engine = engine
        self._answers = answers
        self._statistics = statistics
        self._share = share
        self._observer = observer
        self._sharing = sharing
        self._ids = ids

    def id_of(self, question: Question[Any]) -> str:
        """Return the id of a question, for the model's server and the log."""
        return self._ids.question(question.tick, question.agent, self._codec.encode(question))

    def recorded(self, waiting: WaitingQuestion) -> WaitingQuestion:
        # A decided answer comes from an actor that crashed before it sent it; it is in the log, so it stays valid.
        if waiting.decided is None and (decided := self._answers.recorded_answer(waiting.question)) is not None:
            self._statistics.count_recorded(decided)
            self.open[waiting.name] = waiting = waiting._replace(decided=decided)
        return waiting

    def computed(
        self, questions: Sequence[Question[Any]], states: Sequence[str], oracle: Oracle[Any], begun: float
    ) -> list[Decided]:
        """Return the answers to questions that an oracle has computed all at once, or those that were recorded.

        The engine takes them in the same turn, so they are counted, and no question is open.
        """
        lasted_s, found = anyio.current_time() - begun, list[Decided]()
        observer, source, method = self._observer, oracle.source, oracle.method
        for question, state in zip(questions, states, strict=True):
            decided = self._answers.recorded_answer(question)
            if decided is not None:
                self._statistics.count_recorded(decided)
                self._statistics.close(name_of_question(question))
            else:
                tick, agent, trigger = question.tick, question.agent, question.trigger
                decided = Decided(tick, agent, trigger, state, source, "", "", lasted_s, (), method)
                observer.asked(0.0)
                observer.answered("", lasted_s / len(questions))
                self._statistics.count_computed(decided.method, decided.latency_s)
            found.append(decided)
        return found

    def chosen(self, questions: Questions[Any], oracle: Oracle[Any]) -> Ints | None:
        """Return the answers to questions in columns; None if each must be asked."""
        begun = anyio.current_time()
        found = answers_at_once(partial(oracle.choose, questions))
        if found is not None:
            each_s = (anyio.current_time() - begun) / len(questions)
            self.count_chosen(oracle.method, len(questions), each_s)
        return found

    @property
    def may_choose(self) -> bool:
        """True if no recorded answer may exist."""
        return not self._answers.has_answers()

    def count_chosen(self, method: str, number: int, each_s: float) -> None:
        """Count answers that an embedded choice has given, many at once."""
        self._observer.computed(number, each_s)
        self._statistics.count_computed(method, each_s, number)

    async def settle(
        self, route: Route, batch: Sequence[WaitingQuestion], answers: Sequence[Answer] = ()
    ) -> list[WaitingQuestion]:
        """Count, record and send the answers to questions, in their order.

        Args:
            answers: the answers to the questions; recorded questions have theirs already. Of a call there is one.

        Returns:
            The open questions that waited for one of these and need not wait any longer.
        """
        released = list[WaitingQuestion]()
        if route is Route.RECORDED:
            decisions = [waiting.decided for waiting in batch if waiting.decided is not None]
            records = [self._codec.encode(decided) for decided in decisions]
        else:
            decisions, judged, released = self._decide(route, batch, answers)
            records = [self._codec.encode(decided) for decided in decisions]
            await self._answers.keep(*map(self._codec.encode, judged), *records)
            if route is Route.CALLED:
                for decided in decisions:
                    self._statistics.count_written(decided.spent)
        await self._send(batch, records)
        return released

    def _decide(
        self, route: Route, batch: Sequence[WaitingQuestion], answers: Sequence[Answer]
    ) -> tuple[list[Decided], list[Judged], list[WaitingQuestion]]:
        """Return the decisions, the new judgement, if there is one, and the open questions that waited for it.

        All consequences of the answers are noted here, in one turn. So an actor that crashes later has noted all of
        them, and sends the answers again.
        """
        now, asked = anyio.current_time(), batch[0] if route is Route.CALLED else None
        judged = None if self._sharing is None or asked is None else self._sharing.judged(asked, answers[0])
        decisions, released = list[Decided](), list[WaitingQuestion]()
        for waiting, answer in zip(batch, answers, strict=True):
            decided = waiting.decide(answer, now, self._statistics.take_unlogged(waiting.name))
            self._note(waiting, answer, decided, now)
            if asked is not None:
                released += self.note_outcome(waiting, judged, failed=bool(answer.reason))
            decisions.append(decided)
        return decisions, [] if judged is None else [judged], released

    def _note(self, waiting: WaitingQuestion, answer: Answer, decided: Decided, now: float) -> None:
        name = self.id_of(waiting.question) if answer.reason else ""
        self._statistics.count_answer(decided, now, answer.detail, name)
        self._share.add(answer)
        self.count_shared(waiting, decided)
        self.open[waiting.name] = waiting._replace(decided=decided)

    def note_outcome(self, waiting: WaitingQuestion, judged: Judged | None, *, failed: bool) -> list[WaitingQuestion]:
        """Note the outcome of a question that shares, and return the open questions that need no longer wait for it.

        It is called in the turn in which the outcome is decided, so after a crash of the actor all of it is noted, or
        nothing.
        """
        if self._sharing is None:
            return []
        released = self._sharing.settle(waiting, judged, failed=failed)
        self.open.update({each.name: each for each in released})
        return released

    def count_shared(self, waiting: WaitingQuestion, decided: Decided) -> None:
        """Count a question that shares and got an answer of the oracle."""
        if self._sharing is not None and not decided.reason:
            self._sharing.count(waiting)

    async def _send(self, batch: Sequence[WaitingQuestion], records: Sequence[bytes]) -> None:
        """Send answers to the engine. A question is open until the engine has its answer."""
        for count, (waiting, record) in enumerate(zip(batch, records, strict=True), 1):
            await self._engine.send(record)
            self._close(waiting)
            if count % SENT_AT_ONCE == 0:
                await asyncio.sleep(0)

    def _close(self, waiting: WaitingQuestion) -> None:
        """Forget an answered question, unless a question of the same name was asked after its answer was sent."""
        name = waiting.name
        self._statistics.close(name)
        if self._sharing is not None:
            self._sharing.counts.close(name)
        if self.open.get(name, waiting).question is waiting.question:
            self.open.pop(name, None)
