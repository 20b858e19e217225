"""Recovery of a run from its files: it finds the whole frames, cuts off a torn tail, and chooses a checkpoint.

A crash leaves at most a torn tail after the last frame that was synced, and so after the latest checkpoint. Damage
before that is cut off only with `cut_damage`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from itertools import zip_longest
from typing import NamedTuple

import numpy as np

from actors.core.errors import DamagedError, DivergedError, JournalError
from actors.core.frames import HEAD, ORIGIN, digest_of
from actors.core.messages import LATE, Message
from actors.store.checkpoint import Checkpoint, checkpoint_name, checkpoint_names, read_checkpoint, read_head
from actors.store.disk import Disk, reading
from actors.store.journal import (
    JOURNAL,
    Header,
    JournalScan,
    Tail,
    TickFrame,
    cut_journal,
    journal_size,
    link_at,
    read_tail,
    read_ticks,
    remove_unused_segments,
    scan_tail,
)
from actors.store.messages import messages_in
from actors.store.oracle_log import ANSWERS, FIRST_ANSWER, AnswersScan, RecordedAnswers, create_answers, scan_answers
from actors.store.segments import Place
from prism.agents import Question, Source, Update
from prism.agents.waves import Kind
from prism.events import KINDS, UPDATES, Intervened
from prism.rows import Tick, read_rows, rows_of_texts

_READ_BYTES = 1 << 20  # bytes of ticks that are read at a time


class RecordedTicks:
    """The recorded ticks after a checkpoint, or all of them, read as they are needed.

    `scan`: of the whole journal; `answers`: of the oracle's log, with the calls and retries after the checkpoint.
    """

    def __init__(
        self, disk: Disk, tail: Tail, scan: JournalScan, answers: AnswersScan, checkpoint: Checkpoint | None
    ) -> None:
        at = None if checkpoint is None else checkpoint.position
        place = Place(0, tail.sealed.first, ORIGIN) if at is None else Place(at.tick, at.journal_bytes, at.link)
        self._disk, self.shapes = disk, tail.header.tables
        self.tick, self.start, _ = place  # the first tick that is run again
        self._kinds = [] if checkpoint is None else [Kind(*each) for each in checkpoint.state.engine.kinds]
        self.end, self.ticks = scan.end, scan.ticks  # the end of the journal's whole ticks, and their number
        self._asked_from = 0 if at is None else at.oldest_asked
        self.answers_end, self.effort = answers.end, answers.effort
        self._frames = read_ticks(disk, place)
        self._read: deque[TickFrame] = deque()
        self._has_more = self.start < self.end
        self.read_on()

    def answers(self) -> RecordedAnswers:
        return RecordedAnswers(self._disk, self.answers_end, self._asked_from)

    def late_agents(self, tick: int) -> frozenset[int] | None:
        """Return the agents whose decisions came too late in this tick; None if the tick is not recorded."""
        if not self._read or self._read[0].tick != tick:
            return None
        updates = self._rows(self._read[0].payload).tables.get(UPDATES.name)
        late = [place for place, kind in enumerate(self._kinds) if (kind.source, kind.reason) == (Source.TIMEOUT, LATE)]
        if updates is None or not late:
            return frozenset()
        agents, kinds = updates.columns
        return frozenset(agents[np.isin(kinds, late)].tolist())

    def _rows(self, payload: bytes) -> Tick:
        """Return the rows of the next tick, and note the kinds that are new in it."""
        rows = read_rows(payload, self.shapes)
        del self._kinds[rows.known :]
        if (new := rows.tables.get(KINDS.name)) is not None:
            self._kinds += map(Kind._make, rows_of_texts(new.columns))
        return rows

    def compare(self, tick: int, frame: bytes) -> bool:
        """Compare a tick with its record; return whether it has one. If the record differs, it is a DivergedError."""
        if not self._read:
            return False
        payload = frame[HEAD.size :]
        recorded = self._read.popleft().payload
        rows = self._rows(recorded)
        if recorded != payload:
            was: list[Message] = messages_in(rows, self.shapes, self._kinds)
            raise DivergedError(tick, difference(was, messages_in(self._rows(payload), self.shapes, self._kinds)))
        return True

    @property
    def must_read_on(self) -> bool:
        """True if the next ticks must be read before anything is compared with them."""
        return self._has_more and not self._read

    def read_on(self) -> None:
        """Read some ticks more. Blocks."""
        size = 0
        while self._has_more and size < _READ_BYTES:
            frame = next(self._frames, None)
            if isinstance(frame, TickFrame) and frame.end <= self.end:
                self._read.append(frame)
                size += len(frame.payload)
            else:
                self._has_more = False
                self._frames.close()


def difference(recorded: Sequence[Message], new: Sequence[Message]) -> str:
    """Return the first agent and field in which two records of a tick differ, in words."""
    for was, now in zip_longest(recorded, new):
        if repr(was) == repr(now):  # 0.0 and -0.0 are equal, and so are 1 and 1.0, but their bytes differ
            continue
        if isinstance(was, Update | Question) and type(was) is type(now) and was.agent == now.agent:
            for name in was.__struct_fields__:
                old, other = getattr(was, name), getattr(now, name)
                if repr(old) != repr(other):
                    return f"agent {was.agent}: {name} is {old!r} in the journal and {other!r} in the new run"
        return f"the journal has {_shown(was)}, the new run {_shown(now)}"
    return "the values are the same, and encoded otherwise"


def _shown(message: Message | None) -> str:
    """Return a row of a tick in words: what took place in full, an answer by its agent and kind."""
    if message is None:
        return "nothing more"
    if isinstance(message, Intervened):
        return f"intervention {message.number}: {message.content!r}"
    if isinstance(message, Update | Question):
        return f"{type(message).__name__} of agent {message.agent} to {message.trigger!r}"
    told = ", ".join(f"{name} {getattr(message, name)!r}" for name in message.__struct_fields__[2:])
    return f"agent {message.agent}'s {type(message).__name__} ({told})"


REMEDY = "`prism verify` shows all of it; `prism resume --cut-damage` cuts the journal there and runs the rest again"
REMEDY_OF_ANSWERS = "`prism verify` shows all of it; `prism resume --cut-damage` cuts the log there and asks again"


class Recovered(NamedTuple):
    """A run that can be resumed."""

    header: Header
    recorded: RecordedTicks
    digest: str  # the digest after the journal's last tick
    checkpoint: Checkpoint | None  # the checkpoint to start from; None to start from tick 0
    notes: list[str]  # the damage and its repairs, a sentence each


def recover(disk: Disk, *, repair: bool = True, before: int | None = None, cut_damage: bool = False) -> Recovered:
    """Find the tick from which to resume, and cut off a tail that a crash has torn.

    A file that was damaged after it had been written is a DamagedError; one that this version cannot read, or that
    cannot be repaired, a JournalError.

    Args:
        repair: False changes nothing on disk.
        before: choose no checkpoint of a later tick than this: 0 runs every tick again.
        cut_damage: also cut off damage that no crash explains.
    """
    with reading("the run directory"):
        recovered = _recover(disk, before, repair, cut_damage)
        if repair:  # a killed process may have left names that are not on the medium, even the journal's
            disk.sync_directory()
        return recovered


def _recover(disk: Disk, before: int | None, repair: bool, cut_damage: bool) -> Recovered:
    # 1. The header says which ticks are sealed. Later segments come from a crash before the header was written.
    tail = read_tail(disk)
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
        was_durable = scan.sealed is not None or damage.offset < newest <= journal_size(disk)
        if not cut_damage and was_durable:
            raise DamagedError(JOURNAL, damage.offset, f"tick {scan.ticks}: {damage.problem}", REMEDY)
        notes.append(f"{JOURNAL}: cut at byte {damage.offset}, after {scan.ticks} whole ticks ({damage.problem})")
        if repair:
            cut_journal(disk, scan)

    # 4. The checkpoint. A link proves that it belongs to this journal: a fork or a copied file has another chain.
    #    Places in sealed segments were not scanned, so their links are looked up there.
    def link_of(place: int) -> bytes | None:
        is_sealed = place < min(tail.sealed.start, scan.end + 1)
        return link_at(disk, place) if is_sealed else scan.links.get(place)

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
    recorded = RecordedTicks(disk, tail, scan, answers, chosen)
    return Recovered(tail.header, recorded, digest_of(scan.link), chosen, notes)


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
        shorter = "is shorter than it was at a checkpoint; without the lost answers the run may not replay"
        notes.append(f"{ANSWERS}: {shorter}")
    return scan
