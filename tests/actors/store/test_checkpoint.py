"""Checkpoints, and the pieces in which a large world is copied."""

import msgspec
import pytest

from actors.core.errors import DamagedError, JournalError
from actors.core.frames import ORIGIN, Frame, encode_frame, link_of
from actors.store.checkpoint import (
    MAGIC,
    Checkpoint,
    Draft,
    checkpoint_names,
    read_checkpoint,
    write_checkpoint,
)
from actors.store.disk import read_frames
from prism.columns import PIECE, Columns, packed
from tests.actors.store.files import checkpoint_at
from tests.catalogue import catalogue
from tests.crash.disk import DiskFault, SimulatedDisk


def written(checkpoint: Checkpoint) -> SimulatedDisk:
    disk = SimulatedDisk()
    write_checkpoint(disk, checkpoint)
    return disk


def draft_of(checkpoint: Checkpoint) -> str:
    """The file that a checkpoint is written to before it has its name."""
    return f".{checkpoint.name}.tmp"


def replaced(disk: SimulatedDisk, name: str, data: bytes) -> SimulatedDisk:
    disk.truncate(name, 0)
    disk.append(name, data)
    return disk


@catalogue("values", [0, 1, PIECE, 2 * PIECE + 1])
def test_a_checkpoint_is_read_back(values: int) -> None:
    checkpoint = checkpoint_at(7, 100, values=values)
    found = read_checkpoint(written(checkpoint), checkpoint.name)
    assert (found.position, found.state) == (checkpoint.position, checkpoint.state)
    columns = Columns(found.columns)
    assert columns.values("numbers", int) == list(range(values))
    assert columns.values("names", str) == ["a", "b"]
    assert columns.unread == []


def test_the_latest_are_kept_and_others_left_alone() -> None:
    disk = SimulatedDisk()
    disk.append("checkpoint.txt", b"not one")
    disk.append(".checkpoints.tmp", b"something else")
    disk.append(draft_of(checkpoint_at(3, 0)), b"half of a checkpoint, which a crash has left")
    for tick in (1, 2, 10, 3):
        write_checkpoint(disk, checkpoint_at(tick, 0))
    assert checkpoint_names(disk) == [checkpoint_at(10, 0).name, checkpoint_at(3, 0).name]
    assert disk.names() == [".checkpoints.tmp", *checkpoint_names(disk)[::-1], "checkpoint.txt"]


def test_it_is_whole_before_it_has_its_name() -> None:
    disk = written(checkpoint_at(7, 0))
    name, draft = checkpoint_at(7, 0).name, draft_of(checkpoint_at(7, 0))
    changes = [operation for operation in disk.operations if operation[0] not in {"names", "append"}]
    assert changes == [("remove", draft), ("sync", draft), ("rename", draft), ("sync_directory", "")]
    assert disk.durable(name) == disk.visible(name)


def test_it_is_written_while_it_is_made_and_gone_if_the_disk_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    disk, checkpoint = SimulatedDisk(), checkpoint_at(7, 100, values=2 * PIECE)
    monkeypatch.setattr("prism.columns.BUNDLE_BYTES", 1)
    draft = Draft(disk, checkpoint.position, checkpoint.state)
    for number, column in enumerate(checkpoint.columns):
        before = draft.size
        draft.add([column])
        assert disk.size(draft_of(checkpoint)) == draft.size > before
        if number == 1:
            disk.fault = DiskFault(at=len(disk.operations) + 1)
            with pytest.raises(OSError, match="Input/output error"):
                draft.add([column])
            assert disk.names() == []
            return


def test_every_flipped_byte_and_every_early_end_is_noticed() -> None:
    checkpoint = checkpoint_at(7, 100)
    disk = written(checkpoint)
    data = disk.visible(checkpoint.name)
    for place in range(len(data)):
        flipped = data[:place] + bytes([data[place] ^ 1 << place % 8]) + data[place + 1 :]
        for changed in (flipped, data[:place]):
            with pytest.raises(DamagedError, match=checkpoint.name):
                read_checkpoint(replaced(disk, checkpoint.name, changed), checkpoint.name)


def test_what_lies_behind_its_end_is_noticed() -> None:
    checkpoint = checkpoint_at(7, 100)
    disk = written(checkpoint)
    data = disk.visible(checkpoint.name)
    payload = packed(2)
    more = encode_frame(link_of(data[-len(payload) - 32 : -len(payload)], payload), payload)
    with pytest.raises(DamagedError, match=f"damaged at byte {len(data)}: it has content after its end"):
        read_checkpoint(replaced(disk, checkpoint.name, data + more), checkpoint.name)


def test_another_format_is_refused_by_its_number() -> None:
    payload = msgspec.msgpack.encode({"format": 1, "position": "of another version"})
    disk = SimulatedDisk({"checkpoint-1.bin": MAGIC + encode_frame(link_of(ORIGIN, payload), payload)})
    with pytest.raises(JournalError, match="has format 1, and this version of PRISM reads 7"):
        read_checkpoint(disk, "checkpoint-1.bin")


def test_a_column_of_something_else_is_damage() -> None:
    checkpoint = checkpoint_at(7, 100)
    disk = written(checkpoint)
    *_, (_, last), (end, _) = read_frames(disk, checkpoint.name, len(MAGIC))
    assert isinstance(last, Frame)
    payload = msgspec.msgpack.encode({"something": "else"})
    disk.truncate(checkpoint.name, end)
    disk.append(checkpoint.name, encode_frame(link_of(last.link, payload), payload))
    with pytest.raises(DamagedError, match="its columns cannot be read"):
        read_checkpoint(disk, checkpoint.name)
