"""The oracle's log, `oracle.log`: every answer, written when it arrives, so that no question is asked twice.

Answers arrive in any order, so their frames have the link of an empty chain; one is found by its question's agent, tick
and trigger. Failed calls after which a question was asked again have a record, too, so that all costs of a run are
counted. A log is read up to any damage; a run without one has no answers.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from actors.core.frames import DECODE_ERRORS, ORIGIN, Damage, encode_frame
from actors.core.messages import LATE, Decided, QuestionName, Retried, name_of_question
from actors.core.state import Effort
from actors.store.disk import Disk, RealDisk, check_magic, read_frames, reading, write_whole
from actors.store.messages import read_messages
from actors.store.record import Record
from prism.agents import Question, Source, Update
from prism.llm.spending import Ledger
from prism.sharing.archetypes import Judged

ANSWERS = "oracle.log"
MAGIC = b"PRISMA\r\n"
FIRST_ANSWER = len(MAGIC)  # the offset of the first answer


class LoggedAnswer(Decided, frozen=True, array_like=True, gc=False, tag=4):
    """An answer in the log."""


LogRecord = LoggedAnswer | Retried | Judged

_decode = msgspec.msgpack.Decoder(LogRecord).decode
_encode = msgspec.msgpack.Encoder().encode


def question_hash(question: Question[Any]) -> bytes:
    return sha256(_encode(question)).digest()[:16]


def encode_answer(record: bytes) -> bytes:
    """Return the frame of an encoded `Decided`, `Retried` or `Judged`."""
    return encode_frame(ORIGIN, record)


def read_records(disk: Disk, offset: int = FIRST_ANSWER) -> Iterator[tuple[LogRecord, int] | Damage]:
    """Yield `(record, offset after it)` from an offset on; the last item is the damage, if any."""
    for start, frame in read_frames(disk, ANSWERS, offset):
        if isinstance(frame, Damage):
            yield frame
            return
        try:
            yield _decode(frame.payload), frame.end
        except DECODE_ERRORS as error:
            yield Damage(start, f"a frame holds no answer: {error}")
            return


def records_in(disk: Disk, end: int | None = None) -> Iterator[LogRecord]:
    """Yield the records of a log in its order, up to any damage, or up to an offset; none if there is no log."""
    if end is None:
        end = disk.size(ANSWERS) if ANSWERS in disk.names() else 0
    for found in read_records(disk) if end > FIRST_ANSWER else ():
        if isinstance(found, Damage) or found[1] > end:
            return
        yield found[0]


def answers_of(records: Iterable[LogRecord]) -> Iterator[LoggedAnswer]:
    """Yield the answers among records, each with all calls that it took, also those before a `Retried`."""
    unanswered: dict[QuestionName, Ledger] = {}
    for record in records:
        if isinstance(record, Judged):
            continue
        name = (record.agent, record.asked, record.trigger)
        if isinstance(record, Retried):
            unanswered.setdefault(name, Ledger()).add(record.spent)
        elif name in unanswered:
            ledger = unanswered.pop(name)
            ledger.add(record.spent)
            yield msgspec.structs.replace(record, spent=ledger.total)
        else:
            yield record


def create_answers(disk: Disk) -> None:
    write_whole(disk, ANSWERS, [MAGIC])


class AnswersScan(NamedTuple):
    """The result of reading an oracle's log."""

    answers: int  # the number of answers
    end: int  # the offset after the last whole record
    damage: Damage | None  # the reason why the records end before the file does; None if they do not
    effort: Effort = Effort()  # the calls and retries that the records after an offset name


def scan_answers(disk: Disk, counted_from: int = FIRST_ANSWER) -> AnswersScan:
    """Read every record of the log. Calls and retries are counted from an offset on.

    If it does not begin as an oracle's log does, it is a DamagedError.
    """
    with reading(ANSWERS):
        check_magic(disk, ANSWERS, MAGIC)
    answers, end, damage = 0, FIRST_ANSWER, None
    spent, retries = Ledger(), Counter[str]()
    for found in read_records(disk):
        if isinstance(found, Damage):
            damage = found
            break
        record, end = found
        answers += isinstance(record, LoggedAnswer)
        if end > counted_from and not isinstance(record, Judged):
            spent.add(record.spent)
            retries.update([record.reason] if isinstance(record, Retried) else [])
    return AnswersScan(answers, end, damage, Effort(spent=spent.total, retries=dict(retries)))


def logged_in(path: Path) -> Iterator[LogRecord]:
    """Yield the records of a run's log, in its order."""
    return records_in(RealDisk(path))


def answers_in(path: Path) -> Iterator[LoggedAnswer]:
    """Yield the answers of a run's log, each with all calls that it took."""
    return answers_of(logged_in(path))


def judgements_in(path: Path) -> list[Judged]:
    """Return the judgements of a run's log, in its order."""
    return [record for record in logged_in(path) if isinstance(record, Judged)]


class RecordedAnswers:
    """The recorded answers, read as they are needed: questions are asked again in about the same order.

    `end`: the end of the log's whole records; None for that of the file. `asked_from`: the first tick whose questions
    are asked again.
    """

    def __init__(self, disk: Disk, end: int | None = None, asked_from: int = 0) -> None:
        self._disk, self._end, self._asked_from = disk, end, asked_from
        self._answers = answers_of(records_in(disk, end))
        self._read: dict[QuestionName, deque[LoggedAnswer]] = {}

    def judgements(self) -> list[Judged]:
        """Return every judgement of the log."""
        return [each for each in records_in(self._disk, self._end) if isinstance(each, Judged)]

    def take(self, question: Question[Any]) -> Decided | None:
        name = name_of_question(question)
        while not (answers := self._read.get(name)):
            if not self._read_on():
                return None
        found = answers.popleft()
        if not answers:
            del self._read[name]
        return found

    def are_left(self) -> bool:
        return bool(self._read) or self._read_on()

    def _read_on(self) -> bool:
        """Read one answer more; return whether there was one."""
        for decided in self._answers:
            if decided.asked >= self._asked_from:
                self._read.setdefault((decided.agent, decided.asked, decided.trigger), deque()).append(decided)
                return True
        return False


class KeptAnswers:
    """The answers of the log of a run of so many ticks by their questions, as often as wanted. Reading it blocks.

    An answer that came too late is the fallback that it became.
    """

    def __init__(self, path: Path, ticks: int) -> None:
        self._of: dict[QuestionName, tuple[bytes, Decided]] = {}  # `{question: the hash of its bytes, and its answer}`
        logged: dict[QuestionName, LoggedAnswer] = {}
        for answer in answers_in(path):
            logged.setdefault((answer.agent, answer.asked, answer.trigger), answer)
        asked: dict[tuple[int, str], Question[Any]] = {}
        record = Record(path)

        def is_late(updates: Any) -> Any:
            kinds = enumerate(record.kinds)
            return np.isin(updates["kind"], [place for place, kind in kinds if kind[3::2] == (Source.TIMEOUT, LATE)])

        messages = read_messages(record, Question, Update, kept={"updates": is_late}, until=ticks) if logged else ()
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
