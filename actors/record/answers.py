"""The oracle's log of a run, read up to any damage; a run without a log has no answers and no judgements.

Each function raises a JournalError if the log cannot be read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from actors.core.frames import Damage
from actors.persistence.disk import Disk, RealDisk
from actors.persistence.oracle_log import (
    ANSWERS,
    FIRST_ANSWER,
    LoggedAnswer,
    LogRecord,
    RecordedAnswers,
    read_answers,
    read_records,
)
from prism.sharing.records import Judged

R = TypeVar("R")


def logged_after(path: Path, offset: int) -> Iterator[tuple[LogRecord, int]]:
    """Yield the records of a run's log from an offset on, 0 for all of them, each with the offset after it."""
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


def answers_by_question(path: Path) -> RecordedAnswers:
    """Return the answers of a run's log, to be taken by their questions."""
    disk = RealDisk(path)
    return RecordedAnswers(disk, FIRST_ANSWER, disk.size(ANSWERS) if ANSWERS in disk.names() else 0)


def _up_to_damage(path: Path, read: Callable[[Disk], Iterator[tuple[R, int] | Damage]]) -> Iterator[tuple[R, int]]:
    disk = RealDisk(path)
    for found in read(disk) if ANSWERS in disk.names() else ():
        if isinstance(found, Damage):
            return
        yield found
