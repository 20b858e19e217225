"""The questions of recorded runs, found by their ids: what was asked, its answer, and what the agent did with it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from actors.persistence.oracle_log import LoggedAnswer
from actors.record.answers import answers_in
from actors.record.messages import decoded, ticks_of
from actors.record.run import header_in
from prism.agents import DECIDED, STALE, Question, Update
from prism.llm.question_id import question_id


class FoundQuestion(NamedTuple):
    """A question of a run.

    Args:
        question: the question; None if its tick is not in the journal, so that only an answer to its agent is known.
        answer: its answer in the oracle's log; None if there is none, as of the embedded oracle, which keeps no log.
        effect: the update that the decision led to; None if the journal has none.
    """

    question: Question[Any] | None
    answer: LoggedAnswer | None
    effect: Update[Any] | None


def find_question(path: Path, tick: int, agent: int, wanted: str) -> FoundQuestion | None:
    """Return the question of a run that has an id; None if there is none.

    It reads the journal up to the question's effect, which takes 2 to 15 seconds a gigabyte, and the oracle's log.

    Args:
        path: the run's directory.
        tick, agent: those in the id.
        wanted: the id.

    Raises:
        JournalError: a file cannot be read.
    """
    ticks = ticks_of(path, tick)
    messages = next(ticks, None)
    if messages is None:
        answer = next(_answers(path, agent, tick), None)
        return None if answer is None else FoundQuestion(None, answer, None)
    for index, encoded in enumerate(messages):
        question = decoded(encoded)
        if not isinstance(question, Question) or question.agent != agent:
            continue
        if question_id(header_in(path).seed, tick, agent, encoded) == wanted:
            return FoundQuestion(question, _answer(path, question), _effect(question, chain([messages[index:]], ticks)))
    return None


def _answers(path: Path, agent: int, tick: int) -> Iterator[LoggedAnswer]:
    """Return the answers to an agent's questions of one tick."""
    return (answer for answer in answers_in(path) if (answer.agent, answer.asked) == (agent, tick))


def _answer(path: Path, question: Question[Any]) -> LoggedAnswer | None:
    answers = _answers(path, question.agent, question.tick)
    return next((each for each in answers if each.trigger == question.trigger and each.is_to(question)), None)


def _effect(question: Question[Any], ticks: Iterator[list[bytes]]) -> Update[Any] | None:
    """Return the first update of the question's agent that comes of a decision on its trigger."""
    for encoded in chain.from_iterable(ticks):
        update = decoded(encoded)
        if not isinstance(update, Update) or (update.agent, update.trigger) != (question.agent, question.trigger):
            continue
        if update.source in DECIDED or update.reason == STALE:
            return update
    return None
