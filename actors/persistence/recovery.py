"""What is left of a run after whatever ended it: what can be trusted, what is cut off, and where to go on.

A crash leaves at most a torn tail behind the last frame that was synced. A checkpoint is written only after the frames
before it were synced, so damage in front of the latest checkpoint is no crash's doing, and is not cut off unasked.
"""

from __future__ import annotations

from typing import NamedTuple

from actors.core.errors import DamagedError, JournalError
from actors.core.frames import Damage, digest_of
from actors.persistence.checkpoint import Checkpoint, checkpoints, read_checkpoint
from actors.persistence.disk import Disk
from actors.persistence.framed_files import reading
from actors.persistence.journal import JOURNAL, Header, JournalScan, read_header, scan_journal
from actors.persistence.oracle_log import ANSWERS, FIRST_ANSWER, create_answers, scan_answers
from actors.persistence.recorded_ticks import RecordedTicks

REMEDY = "`prism verify` shows all of it; `prism resume --force` cuts the journal there and runs the rest again"
REMEDY_OF_ANSWERS = "`prism verify` shows all of it; `prism resume --force` cuts the log there and asks again"


class Recovered(NamedTuple):
    """A run that can go on.

    Args:
        digest: of all that the journal holds.
        checkpoint: to start from; None to start from tick 0.
        notes: what was found and mended, a sentence each.
        passed_over: whether a good checkpoint was left aside because it is too late.
    """

    header: Header
    recorded: RecordedTicks
    digest: str
    checkpoint: Checkpoint | None
    notes: list[str]
    passed_over: bool = False


def recover(disk: Disk, *, mend: bool = True, before: int | None = None, force: bool = False) -> Recovered:
    """Find where to go on, and cut off what a crash has torn.

    Args:
        mend: False changes nothing on disk, for those who only read.
        before: take no checkpoint of a later tick than this: 0 does everything again.
        force: cut off damage that no crash explains, too.

    Raises:
        JournalError: there is no journal, this version cannot read it, or a file cannot be read or mended.
        DamagedError: a file was damaged after it had been written.
    """
    with reading("the run directory"):
        recovered = _recover(disk, mend=mend, before=before, force=force)
        if mend:
            disk.sync_directory()  # a killed process may have left names that are not on the medium, the journal's even
        return recovered


def _recover(disk: Disk, *, mend: bool, before: int | None, force: bool) -> Recovered:
    header, first = read_header(disk)
    notes: list[str] = []
    candidates = _checkpoints(disk, notes)
    # All of it, though checkpoints would allow for less: what is not looked at could be a damaged past.
    ends = scan_journal(disk, first, offsets={checkpoint.position.journal_bytes for checkpoint in candidates})
    if (damage := ends.damage) is not None:
        newest = max((checkpoint.position.journal_bytes for checkpoint in candidates), default=0)
        if not force and _is_no_crash(disk, JOURNAL, damage, newest):
            raise DamagedError(JOURNAL, damage.offset, f"tick {ends.ticks}: {damage.problem}", REMEDY)
        notes.append(f"{JOURNAL}: cut at byte {damage.offset}, after {ends.ticks} whole ticks ({damage.problem})")
        if mend:
            disk.truncate(JOURNAL, damage.offset)
    chosen, passed_over = None, False
    for checkpoint in candidates:
        if ends.links.get(checkpoint.position.journal_bytes) == checkpoint.position.link:
            if before is not None and checkpoint.position.tick > before:
                passed_over = True
                continue
            chosen = checkpoint
            break
        notes.append(f"{checkpoint.name}: refused, the journal does not have what it follows")
        if mend:
            disk.remove(checkpoint.name)
    durable = max((checkpoint.position.answers_end for checkpoint in candidates), default=0)
    answers_end = _mend_answers(disk, notes, durable, mend=mend, force=force)
    recorded = _recorded_ticks(disk, first, ends, answers_end, chosen)
    return Recovered(header, recorded, digest_of(ends.link), chosen, notes, passed_over)


def _is_no_crash(disk: Disk, name: str, damage: Damage, durable: int) -> bool:
    """Whether damage is in what was durable once. Where the file just ends earlier, all that is left of it is good."""
    return damage.offset < durable <= disk.size(name)


def _checkpoints(disk: Disk, notes: list[str]) -> list[Checkpoint]:
    """The readable checkpoints, latest first. Those that cannot be read are passed over: they are caches."""
    found = []
    for name in checkpoints(disk):
        try:
            found.append(read_checkpoint(disk, name))
        except FileNotFoundError:
            continue  # the run is at work, and has just replaced it
        except JournalError as error:
            notes.append(f"passed over: {error}")
    return found


def _mend_answers(disk: Disk, notes: list[str], durable: int, *, mend: bool, force: bool) -> int:
    """Cut a torn tail off the oracle's log; its length afterwards. What was durable once is not cut off unasked."""
    if ANSWERS not in disk.names():
        if not mend:
            return 0
        create_answers(disk)
        notes.append(f"{ANSWERS}: is missing, and begun anew")
    _, end, damage = scan_answers(disk)
    if damage is not None:
        if not force and _is_no_crash(disk, ANSWERS, damage, durable):
            raise DamagedError(ANSWERS, damage.offset, damage.problem, REMEDY_OF_ANSWERS)
        notes.append(f"{ANSWERS}: cut at byte {damage.offset} ({damage.problem})")
        if mend:
            disk.truncate(ANSWERS, damage.offset)
    if end < durable:
        notes.append(
            f"{ANSWERS}: is shorter than it was at a checkpoint; without the lost answers the run may not replay"
        )
    return end


def _recorded_ticks(
    disk: Disk, first: int, ends: JournalScan, answers_end: int, checkpoint: Checkpoint | None
) -> RecordedTicks:
    if checkpoint is None:
        return RecordedTicks(
            disk,
            start=first,
            end=ends.end,
            ticks=ends.ticks,
            answers_from=FIRST_ANSWER,
            answers_end=answers_end,
        )
    at = checkpoint.position
    return RecordedTicks(
        disk,
        tick=at.tick,
        start=at.journal_bytes,
        link=at.link,
        end=ends.end,
        ticks=ends.ticks,
        answers_from=min(at.answers_bytes, answers_end),
        answers_end=answers_end,
    )
