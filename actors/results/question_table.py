"""The questions of a run as a table, each joined with its answer in the oracle's log and with its effect.

Decisions take effect some ticks after their questions, so rows wait until all earlier questions have their decisions.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from actors.core.messages import Decided
from actors.persistence.oracle_log import ANSWERS
from actors.record.answers import answers_by_question, judgements_in
from actors.record.run import Recorded, RecordedTick
from actors.results.table_files import Rows
from prism.agents import DECIDED, STALE, Question, Update
from prism.domain import Domain
from prism.llm.question_id import question_id
from prism.llm.spending import USEFUL, cost_usd
from prism.sharing.audit import divergence_from
from prism.sharing.settings import archetypes_of, fields_of
from prism.sharing.table import words_of
from prism.show import Show
from prism.tables import Value

Probabilities = Callable[[Question[Any]], str | None]
"""The probabilities of a question's options as JSON; None where they are not known."""

_encode = msgspec.msgpack.Encoder().encode


class _Asked:
    """A question, and the update that its decision has led to."""

    __slots__ = ("effect", "question", "tick")

    def __init__(self, question: Question[Any], tick: RecordedTick) -> None:
        self.question = question
        self.tick = tick.time
        self.effect: Update[Any] | None = None


class Questions:
    """The rows of `questions`. `probabilities`: those of the embedded oracle."""

    def __init__(self, run: Recorded, rows: Rows, show: Show, probabilities: Probabilities) -> None:
        self._run = run
        self._show = show
        self._rows = rows
        self._probabilities = probabilities
        self._waiting: deque[_Asked] = deque()
        self._open: dict[tuple[int, str], _Asked] = {}
        self._answers = answers_by_question(run.path)
        self._lost = 0
        """The number of a model's answers that took effect but are missing in the log."""

    def take(self, tick: RecordedTick) -> None:
        """Take over the questions and decisions of a tick, and add the rows that are complete."""
        if not tick.questions and not self._open:
            return
        for message in tick.messages:
            if isinstance(message, Question):
                asked = self._open[message.agent, message.trigger] = _Asked(message, tick)
                self._waiting.append(asked)
            elif isinstance(message, Update) and (message.source in DECIDED or message.reason == STALE):
                decided = self._open.pop((message.agent, message.trigger), None)
                if decided is not None:
                    decided.effect = message
        while self._waiting and self._waiting[0].effect is not None:
            self._add(self._waiting.popleft())

    def finish(self) -> None:
        while self._waiting:
            self._add(self._waiting.popleft())
        if self._lost:
            lost = "1 answer" if self._lost == 1 else f"{self._lost:,} answers"
            self._run.notes.append(f"{ANSWERS} lacks {lost}, whose latency and cost are not known")

    def _add(self, asked: _Asked) -> None:
        question, effect = asked.question, asked.effect
        answer = self._answers.take(question)
        self._lost += answer is None and effect is not None and effect.source == "llm"
        encoded = _encode(question)
        costs: Sequence[Value] = [None] * 8
        if answer is not None:
            spent = answer.spent
            costs = (
                answer.content or None,
                answer.latency_s,
                sum(each.calls for each in spent),
                sum(each.calls for each in spent if each.outcome != USEFUL),
                sum(each.prompt_tokens for each in spent),
                sum(each.cached_tokens for each in spent),
                sum(each.completion_tokens for each in spent),
                cost_usd(spent, self._run.config.llm.prices),
            )
        self._rows.add(
            self._run.name,
            question_id(self._run.header.seed, question.tick, question.agent, encoded),
            question.tick,
            asked.tick,
            question.agent,
            question.trigger,
            question.state,
            msgspec.json.encode(question.options).decode(),
            self._show.post(question.context),
            *_outcome(effect, answer),
            self._probabilities(question),
            *costs,
        )


def _outcome(effect: Update[Any] | None, answer: Decided | None) -> tuple[Value, ...]:
    """Return answer, source, reason, method and the tick of the decision."""
    method = (answer.method or None) if answer is not None else None
    if effect is None:
        return (None, None, None, method, None)
    if effect.source in DECIDED:
        return (effect.to_state, effect.source, effect.reason or None, method, effect.tick)
    source = None if answer is None else answer.source
    return (None, source, effect.reason, method, effect.tick)


def add_judgements(run: Recorded, rows: Rows, domain: Domain) -> None:
    """Add the judgements of the oracle's log up to the end of the journal, by tick and agent."""
    archetypes = archetypes_of(run.config, fields_of(run.config, domain))
    for judged in sorted(judgements_in(run.path), key=lambda each: (each.asked, each.name)):
        if judged.asked >= run.length:
            continue
        state, _, *options = map(str, judged.kind)
        rows.add(
            run.name,
            judged.asked,
            run.time_at(judged.asked),
            judged.agent,
            judged.trigger,
            state,
            words_of(archetypes, judged.key),
            judged.is_audit,
            _shares(options, judged.probabilities),
            _shares(options, judged.shared) if judged.is_audit else None,
            divergence_from(judged, judged.shared) if judged.is_audit else None,
            judged.chance,
            judged.samples,
            msgspec.json.encode(dict(zip(archetypes.names, judged.values, strict=False))).decode(),
        )


def _shares(options: list[str], shares: tuple[float, ...]) -> str:
    return msgspec.json.encode(dict(zip(options, shares, strict=True))).decode()
