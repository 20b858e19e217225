"""The oracle's log, `oracle.log`: every answer, written when it arrives, so that no question is asked twice.

An answer is written before anything acts on it. It has a frame with the link of an empty chain: answers arrive in any
order, so their frames do not depend on each other. An answer is found by its question's agent, tick and trigger.

A failed call after which the question was asked again has a record, too. So all costs of a run are counted, however
often it was killed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from typing import Any, NamedTuple

import msgspec

from actors.core.frames import DECODE_ERRORS, ORIGIN, Damage, encode_frame
from actors.core.messages import Decided, QuestionName, Retried
from actors.core.state import Effort
from actors.store.disk import Disk, write_whole
from actors.store.framed_files import check_magic, read_frames, reading
from prism.agents import Question
from prism.llm.spending import Ledger
from prism.sharing.records import Judged

ANSWERS = "oracle.log"
MAGIC = b"PRISMA\r\n"
FIRST_ANSWER = len(MAGIC)
"""The offset of the first answer."""


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


def read_answers(disk: Disk, offset: int = FIRST_ANSWER) -> Iterator[tuple[LoggedAnswer, int] | Damage]:
    """Yield `(answer, offset after it)` from an offset on; the last item is the damage, if any.

    An answer names all calls that it took, those before a `Retried` included.
    """
    unanswered: dict[QuestionName, Ledger] = {}
    for found in read_records(disk, offset):
        if isinstance(found, Damage):
            yield found
            return
        record, end = found
        name = (record.agent, record.asked, record.trigger)
        if isinstance(record, Judged):
            continue
        if isinstance(record, Retried):
            unanswered.setdefault(name, Ledger()).add(record.spent)
        elif name in unanswered:
            ledger = unanswered.pop(name)
            ledger.add(record.spent)
            yield msgspec.structs.replace(record, spent=ledger.total), end
        else:
            yield record, end


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


def create_answers(disk: Disk) -> None:
    write_whole(disk, ANSWERS, [MAGIC])


class AnswersScan(NamedTuple):
    """The result of reading an oracle's log.

    Args:
        answers: the number of answers; `end`: the offset after the last whole record.
        damage: the reason why the records end before the file does; None if they do not.
        effort: the calls and retries that the records after an offset name.
    """

    answers: int
    end: int
    damage: Damage | None
    effort: Effort = Effort()


def scan_answers(disk: Disk, counted_from: int = FIRST_ANSWER) -> AnswersScan:
    """Read every record of the log.

    Args:
        counted_from: the offset from which calls and retries are counted.

    Raises:
        DamagedError: it does not begin with the magic number of an oracle's log.
        JournalError: it cannot be read.
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
