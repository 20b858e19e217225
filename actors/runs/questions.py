"""The questions of recorded runs, found by their ids: the question, its answer, and the update of the agent."""

from __future__ import annotations

from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.msgpack import encode

from actors.store.answers import answers_in
from actors.store.messages import of_agent
from actors.store.oracle_log import LoggedAnswer
from actors.store.record import Record
from prism.agents import DECIDED, STALE, Question, Update
from prism.llm.question_id import question_id


class FoundQuestion(NamedTuple):
    """A question of a run.

    Args:
        question: the question; None if its tick is not in the journal, so that only an answer to its agent is known.
        answer: its answer in the oracle's log; None if there is no answer, as with the embedded oracle, which keeps no
            log.
        effect: the update that the decision led to; None if the journal has none.
    """

    question: Question[Any] | None
    answer: LoggedAnswer | None
    effect: Update[Any] | None


def find_question(path: Path, tick: int, agent: int, wanted: str) -> FoundQuestion | None:
    """Return the question of a run that has an id; None if there is none.

    It reads the record up to the question's effect, and the oracle's log.

    Args:
        tick, agent: those in the id.
        wanted: the id.

    Raises:
        JournalError: a file cannot be read.
    """
    record = Record(path)
    answers = (answer for answer in answers_in(path) if (answer.agent, answer.asked) == (agent, tick))
    if not any(block.ticks for block in record.blocks(tick, tick + 1, {})):
        answer = next(answers, None)
        return None if answer is None else FoundQuestion(None, answer, None)
    messages = of_agent(record, agent, tick)
    for question in takewhile(lambda message: message.tick == tick, messages):
        if isinstance(question, Question) and wanted == question_id(record.header.seed, tick, agent, encode(question)):
            answer = next((each for each in answers if each.trigger == question.trigger), None)
            # The effect: the first update of the agent that follows from a decision on the trigger.
            effects = (
                each
                for each in messages
                if isinstance(each, Update)
                and each.trigger == question.trigger
                and (each.source in DECIDED or each.reason == STALE)
            )
            return FoundQuestion(question, answer, next(effects, None))
    return None
