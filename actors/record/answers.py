"""The oracle's log of a run, read up to any damage; a run without a log has none of what it holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from actors.core.frames import Damage
from actors.persistence.disk import Disk, RealDisk
from actors.persistence.oracle_log import ANSWERS, LoggedAnswer, LogRecord, read_answers, read_records
from prism.sharing.records import Judged

R = TypeVar("R")


def logged_in(path: Path) -> Iterator[LogRecord]:
    """Yield the records of a run's log, in its order.

    Raises:
        JournalError: the log cannot be read.
    """
    return _up_to_damage(path, read_records)


def answers_in(path: Path) -> Iterator[LoggedAnswer]:
    """Yield the answers of a run's log, each with all calls that it took.

    Raises:
        JournalError: the log cannot be read.
    """
    return _up_to_damage(path, read_answers)


def judgements_in(path: Path) -> list[Judged]:
    """Return the judgements of a run's log, in its order.

    Raises:
        JournalError: the log cannot be read.
    """
    return [record for record in logged_in(path) if isinstance(record, Judged)]


def _up_to_damage(path: Path, read: Callable[[Disk], Iterator[tuple[R, int] | Damage]]) -> Iterator[R]:
    disk = RealDisk(path)
    for found in read(disk) if ANSWERS in disk.names() else ():
        if isinstance(found, Damage):
            return
        yield found[0]
