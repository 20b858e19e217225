"""A traced turn as a record: its rows, its question with the model's input, its answer, and its effects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from actors.core.files import json_value
from actors.core.messages import LATE, Codec, QuestionName, Retried, name_of_question
from actors.explain.agent_path import QUESTION, event_of
from actors.explain.explanation import (
    ExplainedAnswer,
    ExplainedChange,
    ExplainedQuestion,
    ExplainedRow,
    ExplainedSharing,
    ExplainedTurn,
    plain,
)
from actors.explain.requests import Requests, requests_of
from actors.explain.retrace import OpenRun, PlacedQuestion, Trace, TracedTurn
from actors.store.answers import judgements_in, logged_in
from actors.store.oracle_log import LoggedAnswer
from prism.agents import MOVED, Source, Update
from prism.events import AttributeSet
from prism.llm.question_id import question_id
from prism.llm.spending import Ledger, cost_usd
from prism.sharing import Judged
from prism.statechart import ENABLED, Choice, RowOutcome

EMBEDDED: Final = "embedded"
"""The method of an answer that was computed, and so took no call."""

Decisions = Mapping[QuestionName, int]
"""`{question: the tick in which its decision took effect}`."""


async def explained_turns(run: OpenRun, trace: Trace, decisions: Decisions) -> list[ExplainedTurn]:
    asked: dict[QuestionName, TracedTurn] = {}
    for each in trace.turns:  # the turn with the decision comes later, and knows more
        if each.question is not None:
            asked[name_of_question(each.question)] = each
    answers = answers_to(run, set(asked))
    own: dict[QuestionName, Judged] = {}
    if run.config.oracle.sharing.by != "none":
        own = {each.name: each for each in judgements_in(run.path) if each.name in asked}
    found: dict[QuestionName, ExplainedQuestion] = {}
    with requests_of(run) as requests:
        for name, each in asked.items():
            question = await _question(run, each, answers.get(name, []), requests, decisions.get(name))
            sharing = _sharing(question, trace.places.get(name), own.get(name))
            found[name] = msgspec.structs.replace(question, sharing=sharing)
    return [
        _turn(run, each, None if each.question is None else found[name_of_question(each.question)])
        for each in trace.turns
    ]


def _is_drawn(answer: ExplainedAnswer | None) -> bool:
    """Return whether an answer was drawn from a judgement of others."""
    return answer is not None and answer.method == SHARED


Logged = list[LoggedAnswer | Retried]


def answers_to(run: OpenRun, names: set[QuestionName]) -> dict[QuestionName, Logged]:
    """Return the records of some questions in the oracle's log, in its order, up to any damage. Blocks."""
    found: dict[QuestionName, Logged] = {}
    for logged in logged_in(run.path) if names else ():
        name = (logged.agent, logged.asked, logged.trigger)
        if name in names and isinstance(logged, LoggedAnswer | Retried):
            found.setdefault(name, []).append(logged)
    return found


async def _question(
    run: OpenRun, traced: TracedTurn, logged: Logged, requests: Requests, decided_in: int | None
) -> ExplainedQuestion:
    question, domain = traced.question, traced.domain
    assert question is not None  # noqa: S101  # the caller checked
    encoded = Codec(domain.context_type, domain.effect_type).encode(question)
    answer = _answer(run, traced, logged, decided_in)
    asked: tuple[Any, ...] = ()
    if run.config.oracle.backend != "choice" and traced.asker is not None:
        method = "" if answer is None or _is_drawn(answer) else answer.method
        asked = await requests.of(domain, traced.asker, question, method)
    if _is_drawn(answer):  # a tape may have the reply to another person's identical text
        asked = tuple(msgspec.structs.replace(each, reply=None) for each in asked)
    # Was it put to the oracle by itself, as far as the oracle's log and the tapes know?
    is_sent = answer is not None and not _is_drawn(answer)
    if answer is not None and is_sent and answer.method != EMBEDDED and answer.latency_s is not None:
        is_sent = bool(answer.spent) or any(each.reply is not None for each in asked)
    shares = traced.reference.probabilities
    return ExplainedQuestion(
        id=question_id(run.header.seed, question.tick, question.agent, encoded),
        tick=question.tick,
        agent=question.agent,
        trigger=question.trigger,
        state=str(question.state),
        options=tuple(map(str, question.options)),
        requests=asked,
        is_sent=is_sent,
        answer=answer,
        embedded=None if shares is None else dict(zip(map(str, question.options), map(float, shares), strict=True)),
        relevance=traced.reference.relevance,
    )


def _answer(run: OpenRun, traced: TracedTurn, logged: Logged, decided_in: int | None) -> ExplainedAnswer | None:
    """Return the answer by the oracle's log. An embedded oracle keeps no log: then return it by the decision."""
    found = next((each for each in logged if isinstance(each, LoggedAnswer)), None)
    decision = traced.trigger.decision
    if found is None:
        if decision is None:
            return None
        return ExplainedAnswer(
            state=decision.state,
            source=str(decision.source),
            reason=decision.reason,
            method=EMBEDDED if run.config.oracle.backend == "choice" else "",
            content=_content(decision.content),
            decided_in=traced.trigger.tick,
        )
    before = [each for each in logged[: logged.index(found)] if isinstance(each, Retried)]
    ledger = Ledger(found.spent)
    for each in before:
        ledger.add(each.spent)
    is_late = decision is not None and decision.reason == LATE
    return ExplainedAnswer(
        state=decision.state if decision is not None and is_late else found.state,
        source=str(Source.TIMEOUT) if is_late else found.source,
        reason=LATE if is_late else found.reason,
        method="" if is_late else found.method,
        content=_content(found.content),
        latency_s=found.latency_s,
        attempts=tuple(each.reason for each in before),
        spent=tuple(ledger),
        cost_usd=cost_usd(ledger, run.config.llm.prices),
        is_shared=not found.spent and not found.reason and found.method != EMBEDDED,
        decided_in=decided_in,
    )


def _content(text: str) -> Any:
    """Return the content of an answer as JSON values; as a text if it is no JSON."""
    if not text:
        return None
    try:
        return json_value(text)
    except ValueError:
        return text


def _turn(run: OpenRun, traced: TracedTurn, question: ExplainedQuestion | None) -> ExplainedTurn:
    trigger, update = traced.trigger, traced.answer
    asks = ExplainedTurn(
        tick=trigger.tick,
        agent=trigger.agent,
        name=run.name_of(trigger.agent),
        profile=traced.profile,
        trigger=trigger.name,
        context=None if trigger.context is None else dict(run.show.seen(plain(trigger.context))),
        state=traced.state,
        ticks_in_state=traced.ticks_in_state,
        rows=tuple(rows_of(traced)),
        question=question,
        is_decision=trigger.decision is not None,
        to_state=traced.state,
        source=QUESTION,
        events=tuple(map(event_of, traced.events)),
    )
    if not isinstance(update, Update):
        return asks
    return msgspec.structs.replace(
        asks,
        to_state=str(update.to_state),
        source=str(update.source),
        reason=update.reason,
        effect=plain(update.effect),
        changes=tuple(_changes(traced, update)),
    )


def _changes(traced: TracedTurn, update: Update[Any]) -> Iterator[ExplainedChange]:
    """Yield the changes of attributes by the row that was taken."""
    became = {each.name: each.value for each in traced.events if isinstance(each, AttributeSet)}
    if update.source not in MOVED:
        return
    for each in traced.changes.get(str(update.to_state), ()):
        yield ExplainedChange(
            name=each.name,
            to=each.to,
            when=each.when,
            values=plain(each.values),
            holds=each.holds,
            found=plain(each.found),
            before=each.before,
            after=became.get(each.name, each.before),
        )


def rows_of(traced: TracedTurn) -> list[ExplainedRow]:
    """Return the rows of the chart for a traced turn, in order."""
    taken = _taken(traced)
    return [
        ExplainedRow(
            name=each.row.name,
            target=None if each.row.target is None else str(each.row.target),
            level=each.row.level,
            guard=_guard_text(each),
            values=plain(values),
            outcome=each.outcome,
            error=each.error,
            is_candidate=each.outcome in ENABLED,
            is_taken=index == taken,
        )
        for index, (each, values) in enumerate(zip(traced.outcomes, traced.values, strict=True))
    ]


def _guard_text(each: RowOutcome[Any]) -> str:
    """Return a guard as its author wrote it: an expression, or the name of a function."""
    guard = each.row.guard
    if each.row.when is not None:
        return each.row.when.text
    return "" if guard is None else getattr(guard, "__qualname__", None) or type(guard).__qualname__


def _taken(traced: TracedTurn) -> int | None:
    answer = traced.answer
    if not isinstance(answer, Update) or traced.chosen is None or answer.source not in MOVED:
        return None
    chosen = traced.chosen
    row = chosen.option(answer.to_state) if isinstance(chosen, Choice) else chosen
    enabled = [(index, each.row) for index, each in enumerate(traced.outcomes) if each.outcome in ENABLED]
    of_any_target = [index for index, each in enabled if each.target is None]
    return next((index for index, each in enabled if each == row), next(iter(of_any_target), None))


OWNED, AUDITED, SHARED = "asked for all", "audited", "shared"
"""The parts of a question. The last one is the method of an answer, too."""


def _sharing(question: ExplainedQuestion, placed: PlacedQuestion | None, own: Judged | None) -> ExplainedSharing | None:
    """Return the place of a question among those that share judgements.

    Args:
        placed: where it was placed when its tick was done again; `own`: its own judgement.
    """

    def by_option(shares: Sequence[float]) -> dict[str, float] | None:
        return dict(zip(question.options, shares, strict=True)) if shares else None

    if own is None and not _is_drawn(question.answer):
        return None
    shared: Sequence[float] = () if own is None else own.shared or own.probabilities
    if placed is not None:
        shared = shared or placed.place.basis.probabilities
    return ExplainedSharing(
        part=SHARED if own is None or _is_drawn(question.answer) else AUDITED if own.is_audit else OWNED,
        archetype="" if placed is None else placed.archetype,
        shared=by_option(shared),
        judged=None if own is None else by_option(own.probabilities),
    )
