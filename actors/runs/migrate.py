"""A run's journal, written again in sealed segments: its ticks and its digest stay the same.

The new files are written into a directory of their own, read back, and put in place one after the other, the new
`journal.prism` last. Until then the old one is the journal; from then on the new one is, whatever ends the process.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from actors.core.errors import DamagedError, JournalError, RunDirectoryError, run_directory_error
from actors.core.frames import ORIGIN, digest_of
from actors.persistence.disk import RealDisk
from actors.persistence.journal import (
    FORMAT,
    JOURNAL,
    TickFrame,
    create_journal,
    journal_size,
    read_tail,
    remove_unused_segments,
    scan_journal,
    stored_size,
    whole_ticks,
)
from actors.persistence.journal_writer import JournalWriter
from actors.persistence.segments import segment_names

DRAFT = ".migrating"
"""The directory, within that of the run, in which the new files are written."""


class Migrated(NamedTuple):
    """The outcome of a migration.

    Args:
        ticks: of the run; `digest`: after them, before and now.
        before: bytes of the journal on the disk; `after`: now, with its segments.
        segments: how many there are now.
    """

    ticks: int
    digest: str
    before: int
    after: int
    segments: int


def migrate(path: Path, segment_bytes: int, on_read: Callable[[int, int], None] = lambda _done, _all: None) -> Migrated:
    """Write the journal of a run again: in segments, or without those that it has. The caller holds the run's lock.

    Args:
        path: the run's directory.
        segment_bytes: the bytes of ticks that are sealed together; 0 takes all ticks out of segments.
        on_read: called with the bytes read so far, and all there are.

    Raises:
        DamagedError: the journal has a damaged or torn part; nothing has changed.
        JournalError: it cannot be read.
        RunDirectoryError: the new files cannot be written; nothing has changed.
    """
    disk, draft = RealDisk(path), path / DRAFT
    shutil.rmtree(draft, ignore_errors=True)  # of a migration that was killed
    try:
        tail = read_tail(disk)
        scan = scan_journal(disk, tail.sealed.first)
        if scan.damage is not None:
            remedy = f"`prism resume {path}` cuts off a torn end; `prism verify {path}` shows all of it"
            raise DamagedError(str(path / JOURNAL), scan.damage.offset, scan.damage.problem, remedy)
        before, whole = stored_size(disk), journal_size(disk)
        if segment_bytes and (segments := len(_segments(disk))):
            # With other ends of segments, some of the new files would have the names of old ones that are still needed.
            remedy = "--segment-mb 0 takes them apart first"
            raise RunDirectoryError(f"{path / JOURNAL}: is in {segments:,} segments already; {remedy}")
        draft.mkdir()
        new = RealDisk(draft)
        create_journal(new, msgspec.structs.replace(tail.header, format=FORMAT))
        JournalWriter(new, segment_bytes).copy(_told(whole_ticks(disk), whole, on_read))
        if scan_journal(new, read_tail(new).sealed.first).link != scan.link:
            raise JournalError(f"{path / JOURNAL}: its copy in segments has another digest; nothing was changed")
        new.close()
        _put_in_place(disk, draft)
        return Migrated(scan.ticks, digest_of(scan.link or ORIGIN), before, stored_size(disk), len(_segments(disk)))
    except OSError as error:
        raise run_directory_error(error, f"{error.filename or draft}: cannot be written") from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)
        disk.close()


def _told(ticks: Iterator[TickFrame], whole: int, on_read: Callable[[int, int], None]) -> Iterator[TickFrame]:
    for frame in ticks:
        yield frame
        on_read(frame.end, whole)


def _put_in_place(disk: RealDisk, draft: Path) -> None:
    """Put the new segments in place, where nothing needs the old ones, then the new journal, which names them."""
    for source in sorted(draft.iterdir()):
        if source.name != JOURNAL:
            source.replace(disk.path / source.name)
    disk.sync_directory()
    (draft / JOURNAL).replace(disk.path / JOURNAL)
    disk.sync_directory()
    remove_unused_segments(disk)


def _segments(disk: RealDisk) -> list[str]:
    return segment_names(disk, read_tail(disk).sealed.start)
