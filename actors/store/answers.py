"""The oracle's log of a run, read up to any damage; a run without a log has no answers and no judgements.

Each function raises a JournalError if the log cannot be read.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from actors.core.frames import Damage
from actors.core.messages import LATE, Decided, QuestionName, name_of_question
from actors.store.disk import Disk, RealDisk
from actors.store.messages import messages_where
from actors.store.oracle_log import (
    ANSWERS,
    FIRST_ANSWER,
    LoggedAnswer,
    LogRecord,
    question_hash,
    read_answers,
    read_records,
)
from actors.store.record import Record
from prism.agents import Question, Source, Update
from prism.sharing.records import Judged

R = TypeVar("R")


def logged_after(path: Path, offset: int) -> Iterator[tuple[LogRecord, int]]:
    return _up_to_damage(path, lambda disk: read_records(disk, offset or FIRST_ANSWER))


def logged_in(path: Path) -> Iterator[LogRecord]:
    """Yield the records of a run's log, in its order."""
    return (record for record, _ in logged_after(path, 0))


def answers_in(path: Path) -> Iterator[LoggedAnswer]:
    """Yield the answers of a run's log, each with all calls that it took."""
    return (answer for answer, _ in _up_to_damage(path, read_answers))


def judgements_in(path: Path) -> list[Judged]:
    """Return the judgements of a run's log, in its order."""
    return [record for record in logged_in(path) if isinstance(record, Judged)]


class RecordedAnswers:
    """The recorded answers, read as they are needed: questions are asked again in about the same order.

    Args:
        offset: the first offset that is read.
        end: the end of the log's whole records.
    """

    def __init__(self, disk: Disk, offset: int, end: int) -> None:
        self._disk = disk
        self._records = read_answers(disk, offset)
        self._end = end
        self._at = offset
        self._newest = -1
        """The latest tick of a question whose answer has been read."""
        self._read: dict[QuestionName, deque[LoggedAnswer]] = {}

    def judgements(self) -> list[Judged]:
        """Return every judgement of the log, those before the first offset included."""
        found = []
        for each in read_records(self._disk):
            if isinstance(each, Damage) or each[1] > self._end:
                break
            if isinstance(each[0], Judged):
                found.append(each[0])
        return found

    def take(self, question: Question[Any]) -> Decided | None:
        name = name_of_question(question)
        while not (answers := self._read.get(name)):
            record = next(self._records, None) if self._at < self._end else None
            if record is None or isinstance(record, Damage):
                self._at = self._end
                return None
            decided, self._at = record
            self._newest = max(self._newest, decided.asked)
            self._read.setdefault((decided.agent, decided.asked, decided.trigger), deque()).append(decided)
        found = answers.popleft()
        if not answers:
            del self._read[name]
        return found

    def are_left(self) -> bool:
        return self._at < self._end or bool(self._read)

    def is_used_up(self, oldest_asked: int) -> bool:
        """Return whether all questions answered here are of earlier ticks than `oldest_asked`.

        An answer that was taken counts as well: after a crash its question may be asked again.
        """
        return self._at >= self._end and self._newest < oldest_asked


def answers_by_question(path: Path) -> RecordedAnswers:
    """Return the answers of a run's log, to be taken by their questions."""
    disk = RealDisk(path)
    return RecordedAnswers(disk, FIRST_ANSWER, disk.size(ANSWERS) if ANSWERS in disk.names() else 0)


class KeptAnswers:
    """The answers of a run's log by their questions, to be had as often as wanted. Reading it blocks.

    An answer that came too late is the fallback that it became.

    Args:
        ticks: those of the journal that are read.
    """

    def __init__(self, path: Path, ticks: int) -> None:
        self._of: dict[QuestionName, tuple[bytes, Decided]] = {}
        """`{question: the hash of its bytes, and its answer}`."""
        logged: dict[QuestionName, LoggedAnswer] = {}
        for answer in answers_in(path):
            logged.setdefault((answer.agent, answer.asked, answer.trigger), answer)
        asked: dict[tuple[int, str], Question[Any]] = {}
        record = Record(path)

        def is_late(updates: Any) -> Any:
            kinds = enumerate(record.kinds)
            return np.isin(updates["kind"], [place for place, kind in kinds if kind[3::2] == (Source.TIMEOUT, LATE)])

        messages = messages_where(record, {"updates": is_late}, Question, Update, until=ticks) if logged else ()
        for each in messages:
            if isinstance(each, Question):
                asked[each.agent, each.trigger] = each
                if (name := name_of_question(each)) in logged:
                    self._of[name] = question_hash(each), logged[name]
            else:
                late = asked[each.agent, each.trigger]
                made = Decided(late.tick, late.agent, late.trigger, late.options[0], Source.TIMEOUT, LATE)
                self._of[name_of_question(late)] = question_hash(late), made

    def __len__(self) -> int:
        return len(self._of)

    @property
    def names(self) -> Collection[QuestionName]:
        return self._of.keys()

    def named(self, name: QuestionName) -> Decided | None:
        return self._of.get(name, (b"", None))[1]

    def of(self, question: Question[Any]) -> Decided | None:
        same, decided = self._of.get(name_of_question(question), (b"", None))
        return decided if same == question_hash(question) else None


def _up_to_damage(path: Path, read: Callable[[Disk], Iterator[tuple[R, int] | Damage]]) -> Iterator[tuple[R, int]]:
    disk = RealDisk(path)
    for found in read(disk) if ANSWERS in disk.names() else ():
        if isinstance(found, Damage):
            return
        yield found
