"""Recovery of a run from its files: it finds the whole frames, cuts off a torn tail, and chooses a checkpoint.

A crash leaves at most a torn tail after the last frame that was synced. A checkpoint is written only after the frames
before it were synced, so no crash explains damage before the latest checkpoint, and such damage is cut off only with
`cut_damage`.
"""

from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple

from actors.core.errors import DamagedError, JournalError
from actors.core.frames import ORIGIN, digest_of
from actors.store.checkpoint import (
    Checkpoint,
    checkpoint_name,
    checkpoint_names,
    read_checkpoint,
    read_head,
)
from actors.store.disk import Disk
from actors.store.framed_files import reading
from actors.store.journal import (
    JOURNAL,
    Header,
    cut_journal,
    journal_size,
    link_at,
    read_tail,
    remove_unused_segments,
    scan_tail,
)
from actors.store.oracle_log import ANSWERS, FIRST_ANSWER, AnswersScan, create_answers, scan_answers
from actors.store.recorded_ticks import RecordedTicks

REMEDY = "`prism verify` shows all of it; `prism resume --cut-damage` cuts the journal there and runs the rest again"
REMEDY_OF_ANSWERS = "`prism verify` shows all of it; `prism resume --cut-damage` cuts the log there and asks again"


class Recovered(NamedTuple):
    """A run that can be resumed.

    Args:
        digest: the digest after the journal's last tick.
        checkpoint: the checkpoint to start from; None to start from tick 0.
        notes: the damage and its repairs, a sentence each.
    """

    header: Header
    recorded: RecordedTicks
    digest: str
    checkpoint: Checkpoint | None
    notes: list[str]


def recover(
    disk: Disk,
    *,
    repair: bool = True,
    before: int | None = None,
    cut_damage: bool = False,
) -> Recovered:
    """Find the tick from which to resume, and cut off a tail that a crash has torn.

    Args:
        repair: False changes nothing on disk.
        before: choose no checkpoint of a later tick than this: 0 runs every tick again.
        cut_damage: also cut off damage that no crash explains.

    Raises:
        JournalError: there is no journal, this version cannot read it, or a file cannot be read or repaired.
        DamagedError: a file was damaged after it had been written.
    """
    with reading("the run directory"):
        recovered = _recover(disk, before, repair, cut_damage)
        if repair:
            disk.sync_directory()  # a killed process may have left names that are not on the medium, even the journal's
        return recovered


def _recover(disk: Disk, before: int | None, repair: bool, cut_damage: bool) -> Recovered:
    # 1. The header says which ticks are sealed. Later segments come from a crash before the header was written.
    header, sealed, _ = read_tail(disk)
    notes: list[str] = []
    if repair:
        remove_unused_segments(disk)
    # 2. The checkpoints before the journal: its scan keeps the link of the chain only at the places they point to.
    #    Those that cannot be read are skipped, and damaged ones removed.
    candidates = []
    for name in checkpoint_names(disk):
        try:
            candidates.append(read_head(disk, name).position)
        except FileNotFoundError:
            continue  # the process that runs it has just replaced the checkpoint
        except JournalError as error:
            notes.append(f"skipped: {error}")
            if repair and isinstance(error, DamagedError):
                disk.remove(name)
    # 3. The journal. Every byte is read, though checkpoints allow fewer: a part that is not read could be damaged.
    scan = scan_tail(disk, {position.journal_bytes for position in candidates})
    # Segments, and all bytes that a checkpoint counts, were synced: a crash explains no damage there. A journal
    # that is shorter than its checkpoint says was only cut, so the damage is where it was cut.
    if (damage := scan.damage) is not None:
        newest = max((position.journal_bytes for position in candidates), default=0)
        was_durable = scan.in_segment or damage.offset < newest <= journal_size(disk)
        if not cut_damage and was_durable:
            raise DamagedError(JOURNAL, damage.offset, f"tick {scan.ticks}: {damage.problem}", REMEDY)
        notes.append(f"{JOURNAL}: cut at byte {damage.offset}, after {scan.ticks} whole ticks ({damage.problem})")
        if repair:
            cut_journal(disk, scan)

    # 4. The checkpoint. A link proves that it belongs to this journal: a fork or a copied file has another chain.
    #    Places in sealed segments were not scanned, so their links are looked up there.
    def link_of(place: int) -> bytes | None:
        return link_at(disk, place) if place < min(sealed.start, scan.end + 1) else scan.links.get(place)

    chosen = None
    for position in candidates:
        name = checkpoint_name(position.tick)
        if link_of(position.journal_bytes) != position.link:
            notes.append(f"{name}: refused, the journal does not have what it follows")
            if repair:
                disk.remove(name)
        elif before is None or position.tick <= before:
            with suppress(FileNotFoundError):  # the process that runs it has just removed the checkpoint
                chosen = read_checkpoint(disk, name)
                break
    # 5. The oracle's log, whose answers the ticks after the checkpoint need again; its costs are counted from
    #    there on, because the checkpoint holds the earlier costs.
    durable = max((position.answers_end for position in candidates), default=0)
    counted_from = FIRST_ANSWER if chosen is None else chosen.position.answers_end
    answers = _repair_answers(disk, notes, durable, counted_from, repair=repair, cut_damage=cut_damage)
    at = None if chosen is None else chosen.position
    recorded = RecordedTicks(
        disk,
        tick=0 if at is None else at.tick,
        start=sealed.first if at is None else at.journal_bytes,
        link=ORIGIN if at is None else at.link,
        kinds=() if chosen is None else chosen.state.engine.kinds,
        shapes=header.tables,
        end=scan.end,
        ticks=scan.ticks,
        asked_from=0 if at is None else at.oldest_asked,
        answers_end=answers.end,
        effort=answers.effort,
    )
    return Recovered(header, recorded, digest_of(scan.link), chosen, notes)


def _repair_answers(
    disk: Disk, notes: list[str], durable: int, counted_from: int, *, repair: bool, cut_damage: bool
) -> AnswersScan:
    """Cut a torn tail off the oracle's log, and return its scan after that. `cut_damage` also cuts durable bytes."""
    if ANSWERS not in disk.names():
        if not repair:
            return AnswersScan(0, 0, None)
        create_answers(disk)
        notes.append(f"{ANSWERS}: is missing; an empty one was created")
    # Bytes that a checkpoint counts were synced before it was written: damage among them is no torn tail.
    scan = scan_answers(disk, counted_from)
    _, end, damage, _ = scan
    if damage is not None:
        if not cut_damage and damage.offset < durable <= disk.size(ANSWERS):  # a shorter file was only cut
            raise DamagedError(ANSWERS, damage.offset, damage.problem, REMEDY_OF_ANSWERS)
        notes.append(f"{ANSWERS}: cut at byte {damage.offset} ({damage.problem})")
        if repair:
            disk.truncate(ANSWERS, damage.offset)
    if end < durable:
        notes.append(
            f"{ANSWERS}: is shorter than it was at a checkpoint; without the lost answers the run may not replay"
        )
    return scan
