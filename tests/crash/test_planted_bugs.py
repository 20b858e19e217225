"""The trials can fail: each of these bugs, planted in the product, is found by them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import ANY

import msgspec
import pytest

from actors import frames, journal, recovery
from actors.answer_log import ANSWERS
from actors.checkpoint import Checkpoint, Position, write_checkpoint
from actors.engine import EngineActor, EngineState
from actors.errors import JournalError
from actors.frames import HEAD, Damage, Frame
from actors.journal import JOURNAL
from actors.store import RunStore
from tests.crash.disk import Cut, SimulatedDisk
from tests.crash.scenes import EMBEDDED, LIVE, Scene
from tests.crash.trial import Ordeal, trials

Plant = Callable[[pytest.MonkeyPatch], type[SimulatedDisk]]


def losses(scene: Scene, disk_type: type[SimulatedDisk]) -> Iterator[str]:
    """What is said of a product that does harm, trial by trial."""
    cuts = (Cut.FLIPPED,) if scene.is_live else tuple(Cut)
    for trial in trials(scene, 1000, blows=2, cuts=cuts):
        try:
            Ordeal(scene, trial, disk_type, is_strict=False).run()
        except Exception as error:  # noqa: BLE001  # a bug may show as anything
            yield f"{type(error).__name__}: {error}"


def no_truncation(patch: pytest.MonkeyPatch) -> type[SimulatedDisk]:
    class Untruncated(SimulatedDisk):
        def truncate(self, name: str, size: int) -> None:
            pass

    return Untruncated


def a_frame_twice(patch: pytest.MonkeyPatch) -> type[SimulatedDisk]:
    write = RunStore._write_frames

    def write_once_more(store: RunStore, new: list[bytes]) -> None:
        # Only in a life that goes on with something, with its first frames: as if it could not tell what is there.
        again = store.statistics.ticks == store._history.ticks > 0
        write(store, [*new[:1], *new] if again else new)

    patch.setattr(RunStore, "_write_frames", write_once_more)
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

    patch.setattr(journal, "read_frame", trusting)
    return SimulatedDisk


def a_checkpoint_ahead(patch: pytest.MonkeyPatch) -> type[SimulatedDisk]:
    scan = recovery._scan

    def write_at_once(store: RunStore, checkpoint: Checkpoint) -> None:
        try:
            write_checkpoint(store._disk, checkpoint, store._keep)
        except OSError as error:
            raise JournalError("the disk is full") from error

    def accept_all(disk: SimulatedDisk, first: int, offsets: list[int]) -> Any:
        ends, damage = scan(disk, first, offsets)
        return ends._replace(links=dict.fromkeys(offsets, ANY)), damage

    patch.setattr(RunStore, "checkpoint", write_at_once)
    patch.setattr(recovery, "_scan", accept_all)
    return SimulatedDisk


def unsynced(ending: str) -> Plant:
    class Careless(SimulatedDisk):
        def sync(self, name: str) -> None:
            if not name.endswith(ending):
                super().sync(name)

    return lambda patch: Careless


def unsynced_directory(patch: pytest.MonkeyPatch) -> type[SimulatedDisk]:
    class Careless(SimulatedDisk):
        def sync_directory(self) -> None:
            pass

    return Careless


SAME = "broken: the journal is that of an undisturbed run"


@pytest.mark.parametrize(
    ("scene", "plant", "says"),
    [
        pytest.param(EMBEDDED, no_truncation, SAME, id="a torn tail stays"),
        pytest.param(EMBEDDED, a_frame_twice, SAME, id="a frame is written twice"),
        pytest.param(EMBEDDED, forgotten_questions, "X", id="a checkpoint forgets the open questions"),
        pytest.param(LIVE, forgotten_decisions, "X", id="a checkpoint forgets the decisions that are there"),
        pytest.param(LIVE, no_crc, "X", id="a CRC is not checked"),
        pytest.param(EMBEDDED, a_checkpoint_ahead, "X", id="a checkpoint ahead of the journal is accepted"),
        pytest.param(LIVE, unsynced(ANSWERS), "X", id="the answers are not synced before a frame"),
        pytest.param(EMBEDDED, unsynced(JOURNAL), "X", id="the journal is not synced before a checkpoint"),
        pytest.param(EMBEDDED, unsynced(".tmp"), "X", id="a draft is not synced before its rename"),
        pytest.param(EMBEDDED, unsynced_directory, "X", id="a new name is not synced"),
    ],
)
def test_a_planted_bug_is_found(monkeypatch: pytest.MonkeyPatch, scene: Scene, plant: Plant, says: str) -> None:
    assert scene.changes, "the undisturbed run is that of the product as it is"
    import collections
    c=collections.Counter(x[:90] for x in losses(scene, plant(monkeypatch)))
    print(plant.__name__, c.most_common(9))
