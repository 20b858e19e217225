"""The questions of recorded runs, found by their ids: the question, its answer, and the update of the agent."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from actors.persistence.oracle_log import LoggedAnswer
from actors.record.answers import answers_in
from actors.record.messages import decoded, of_agent, ticks_of
from actors.record.run import header_in
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

    It reads the journal up to the question's effect, which takes 2 to 15 seconds a gigabyte, and the oracle's log.

    Args:
        tick, agent: those in the id.
        wanted: the id.

    Raises:
        JournalError: a file cannot be read.
    """
    ticks = ticks_of(path, tick)
    messages = next(ticks, None)
    answers = (answer for answer in answers_in(path) if (answer.agent, answer.asked) == (agent, tick))
    if messages is None:
        answer = next(answers, None)
        return None if answer is None else FoundQuestion(None, answer, None)
    seed, own = header_in(path).seed, [*of_agent(messages, tick, agent)]
    for index, encoded in enumerate(own):
        question = decoded(encoded)
        if isinstance(question, Question) and question_id(seed, tick, agent, encoded) == wanted:
            later = chain.from_iterable(of_agent(each, at, agent) for at, each in enumerate(ticks, start=tick + 1))
            answer = next((each for each in answers if each.trigger == question.trigger), None)
            # The effect: the first update of the agent that follows from a decision on the trigger.
            for update in map(decoded, chain(own[index:], later)):
                if (
                    isinstance(update, Update)
                    and update.trigger == question.trigger
                    and (update.source in DECIDED or update.reason == STALE)
                ):
                    return FoundQuestion(question, answer, update)
            return FoundQuestion(question, answer, None)
    return None
