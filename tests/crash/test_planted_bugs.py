"""The trials can fail: each of these bugs, planted in the product, is found by them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import ANY

import msgspec
import pytest

from actors.core import frames
from actors.core.errors import JournalError
from actors.core.frames import HEAD, Damage, Frame
from actors.core.state import EngineState
from actors.persistence import framed_files, journal_writer
from actors.persistence.batch_writer import RunWriter
from actors.persistence.checkpoint import Position
from actors.persistence.checkpoint_writer import write_checkpoint
from actors.persistence.disk import write_whole
from actors.persistence.journal import JOURNAL, JournalScan, head_bytes, read_tail, scan_tail
from actors.persistence.oracle_log import ANSWERS
from actors.persistence.packing import Pack, Payloads
from actors.persistence.segments import SEGMENT_PREFIX, Segment, write_segment
from actors.record import recovery
from actors.runs.checkpointing import Checkpointer, checkpoint_of
from actors.runs.run_store import RunStore
from actors.runtime.engine import EngineActor
from tests.crash.disk import Cut, SimulatedDisk
from tests.crash.scenes import EMBEDDED, LIVE, SEALED, Scene
from tests.crash.trial import CrashTrial, trials

Plant = Callable[[pytest.MonkeyPatch], type[SimulatedDisk]]


def losses(scene: Scene, disk_type: type[SimulatedDisk]) -> Iterator[str]:
    """What is said of a product that does harm, trial by trial."""
    # Only flipped bits get past a reader who checks no CRC, and all that is not synced they endanger as well.
    cuts = (Cut.FLIPPED,) if scene.is_live else tuple(Cut)
    for trial in trials(scene, 1000, faults=2, cuts=cuts):
        try:
            CrashTrial(scene, trial, disk_type, is_strict=False).run()
        except Exception as error:  # noqa: BLE001  # a bug may show as anything
            yield f"{type(error).__name__}: {error}"


def no_truncation(patch: pytest.MonkeyPatch) -> type[SimulatedDisk]:
    class Untruncated(SimulatedDisk):
        def truncate(self, name: str, size: int) -> None:
            pass

    return Untruncated


def a_frame_twice(patch: pytest.MonkeyPatch) -> type[SimulatedDisk]:
    write = RunWriter._write_frames

    def write_once_more(writer: RunWriter, new: list[bytes]) -> None:
        # Only in a process that resumes, with its first frames: as if it could not tell which frames are there.
        again = writer._statistics.ticks > 0 and not writer._statistics.commit_s
        write(writer, [*new[:1], *new] if again else new)

    patch.setattr(RunWriter, "_write_frames", write_once_more)
    return SimulatedDisk


def forgotten_questions(patch: pytest.MonkeyPatch) -> type[SimulatedDisk]:
    state = EngineActor.state

    def forget(engine: EngineActor) -> EngineState:
        return msgspec.structs.replace(state(engine), asked=(), decided=())

    patch.setattr(EngineActor, "state", forget)
    return SimulatedDisk


def forgotten_decisions(patch: pytest.MonkeyPatch) -> type[SimulatedDisk]:
    state = EngineActor.state
    position = RunStore.position

    def forget(engine: EngineActor) -> EngineState:
        return msgspec.structs.replace(state(engine), decided=())

    def at_the_end(store: RunStore, *where: Any) -> Position:
        return msgspec.structs.replace(position(store, *where), answers_bytes=store._answers_bytes)

    patch.setattr(EngineActor, "state", forget)
    patch.setattr(RunStore, "position", at_the_end)
    return SimulatedDisk


def no_crc(patch: pytest.MonkeyPatch) -> type[SimulatedDisk]:
    def trusting(data: bytes, start: int, offset: int) -> Frame | Damage:
        found = frames.read_frame(data, start, offset)
        if isinstance(found, Frame) or found.is_end:
            return found
        length, _, link = HEAD.unpack_from(data, start)
        behind = start + HEAD.size + length
        if behind > len(data):
            return found
        return Frame(data[start + HEAD.size : behind], link, offset + HEAD.size + length)

    patch.setattr(framed_files, "read_frame", trusting)
    return SimulatedDisk


def a_checkpoint_ahead(patch: pytest.MonkeyPatch) -> type[SimulatedDisk]:
    scan = scan_tail

    async def write_at_once(self: Checkpointer) -> None:
        checkpoint = await checkpoint_of(self._simulation, self._store)
        try:
            write_checkpoint(self._store._disk, checkpoint)
        except OSError as error:
            raise JournalError("the disk is full") from error

    def accept_all(disk: SimulatedDisk, offsets: set[int]) -> JournalScan:
        return scan(disk, offsets)._replace(links=dict.fromkeys(offsets, ANY))

    patch.setattr(Checkpointer, "take", write_at_once)
    patch.setattr(recovery, "scan_tail", accept_all)
    return SimulatedDisk


def a_hasty_checkpoint(patch: pytest.MonkeyPatch) -> type[SimulatedDisk]:
    async def wait_for_nothing(store: RunStore) -> None:
        pass

    patch.setattr(RunStore, "_sync", wait_for_nothing)
    return SimulatedDisk


def careless(ending: str) -> type[SimulatedDisk]:
    """A disk that does not sync files whose names end like this."""

    class Careless(SimulatedDisk):
        def sync(self, name: str) -> None:
            if not name.endswith(ending):
                super().sync(name)

    return Careless


def no_sync_of_answers(patch: pytest.MonkeyPatch) -> type[SimulatedDisk]:
    return careless(ANSWERS)


def no_sync_of_frames(patch: pytest.MonkeyPatch) -> type[SimulatedDisk]:
    return careless(JOURNAL)


def no_sync_of_drafts(patch: pytest.MonkeyPatch) -> type[SimulatedDisk]:
    return careless(".tmp")


def no_sync_of_segments(patch: pytest.MonkeyPatch) -> type[SimulatedDisk]:
    class Careless(SimulatedDisk):
        def sync(self, name: str) -> None:
            if not name.startswith(f".{SEGMENT_PREFIX}"):
                super().sync(name)

    return Careless


def a_segment_after_the_ticks_are_gone(patch: pytest.MonkeyPatch) -> type[SimulatedDisk]:
    put = write_whole

    def empty_first(
        disk: SimulatedDisk, start: int, tick: int, before: bytes, payloads: Payloads, pack: Pack
    ) -> Segment:
        tail, kept = read_tail(disk), [*payloads()]
        put(disk, JOURNAL, [head_bytes(tail.header, tail.sealed)])
        return write_segment(disk, start, tick, before, lambda: kept, pack)

    patch.setattr(journal_writer, "write_segment", empty_first)
    return SimulatedDisk


def lost_with_those_that_were_sealed(patch: pytest.MonkeyPatch) -> type[SimulatedDisk]:
    patch.setattr(journal_writer, "_bytes_from", lambda file, place: iter(()))
    return SimulatedDisk


def no_sync_of_names(patch: pytest.MonkeyPatch) -> type[SimulatedDisk]:
    class Careless(SimulatedDisk):
        def sync_directory(self) -> None:
            pass

    return Careless


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scene", "plant", "says"),
    [
        (EMBEDDED, no_truncation, "every byte of journal.prism belongs to a whole frame"),
        (EMBEDDED, a_frame_twice, "a frame does not follow from the one before it"),
        (EMBEDDED, forgotten_questions, "came out differently than in the journal"),
        pytest.param(LIVE, forgotten_decisions, "no answer in the log is asked for again", marks=pytest.mark.slow),
        (LIVE, no_crc, "every byte of oracle.log belongs to a whole frame"),
        (EMBEDDED, a_checkpoint_ahead, "a frame does not follow from the one before it"),
        pytest.param(EMBEDDED, a_hasty_checkpoint, "rounds.csv is that of an undisturbed run", marks=pytest.mark.slow),
        (LIVE, no_sync_of_answers, "oracle.log: has no answer to"),
        (EMBEDDED, no_sync_of_frames, "DamagedError: journal.prism: damaged at byte"),
        (EMBEDDED, no_sync_of_drafts, "DamagedError: journal.prism: damaged at byte 8"),
        (SEALED, no_sync_of_segments, "DamagedError: journal-"),
        (SEALED, a_segment_after_the_ticks_are_gone, "no frame of journal.prism"),
        (SEALED, lost_with_those_that_were_sealed, "its ticks do not follow from the last that is sealed"),
        (EMBEDDED, no_sync_of_names, "`prism verify` finds no fault, but [Finding(file='rounds.csv'"),
    ],
)
def test_a_planted_bug_is_found(monkeypatch: pytest.MonkeyPatch, scene: Scene, plant: Plant, says: str) -> None:
    assert scene.changes, "the undisturbed run is that of the product as it is"
    disk_type = plant(monkeypatch)
    assert any(says in loss for loss in losses(scene, disk_type))
