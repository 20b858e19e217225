"""Ticks that are sealed are the journal's ticks still: in every reader, from any place, after damage and cuts."""

from __future__ import annotations

from collections.abc import Iterator
from zlib import compressobj

import msgspec
import pytest

from actors.core.errors import DamagedError, JournalError
from actors.core.frames import ORIGIN, Damage, encode_frame, link_of
from actors.persistence.disk import Disk
from actors.persistence.journal import (
    JOURNAL,
    TickFrame,
    head_bytes,
    journal_size,
    read_header,
    read_tail,
    read_ticks,
    scan_journal,
    scan_tail,
)
from actors.persistence.journal_writer import LARGEST, LEAST_TICKS, JournalWriter
from actors.persistence.segments import (
    MAGIC,
    check_segment,
    columns_of,
    read_segment,
    segment_name,
    start_of,
)
from actors.record.recovery import recover
from tests.actors.persistence.files import SEGMENT, empty_run, frames, write
from tests.catalogue import catalogue
from tests.crash.disk import SimulatedDisk

COUNT = 42
"""Ticks of the run."""


def sealed_run(disk: SimulatedDisk | None = None, batch: int = 1, size: int = SEGMENT) -> SimulatedDisk:
    """A run whose ticks were written so many at a time."""
    disk = disk or empty_run()
    ticks = frames(COUNT)
    writer = JournalWriter(disk, size)
    for start in range(0, COUNT, batch):
        writer.append([tick.frame for tick in ticks[start : start + batch]])
        writer.seal()
    return SimulatedDisk(disk.files)


def whole_ticks(disk: Disk) -> Iterator[TickFrame]:
    return (each for each in read_ticks(disk) if isinstance(each, TickFrame))


def plain() -> list[TickFrame]:
    """The ticks as they are in a journal without segments."""
    disk = empty_run()
    for tick in frames(COUNT):
        disk.append(JOURNAL, tick.frame)
    return list(whole_ticks(disk))


def segments(disk: SimulatedDisk) -> list[str]:
    return [name for name in disk.names() if start_of(name) >= 0]


def test_sealed_ticks_are_read_as_if_they_were_not_from_any_place() -> None:
    disk, ticks = sealed_run(), plain()
    assert len(segments(disk)) >= 5
    assert 0 < read_tail(disk).sealed.tick < COUNT
    assert list(whole_ticks(disk)) == ticks
    assert journal_size(disk) == ticks[-1].end
    for at, tick in enumerate(ticks):
        before = ticks[at - 1].link if at else ORIGIN
        assert list(read_ticks(disk, tick.start, tick=at, link=before)) == ticks[at:]
    whole = scan_journal(disk, ticks[0].start, offsets=None)
    assert (whole.ticks, whole.end, whole.damage) == (COUNT, ticks[-1].end, None)
    assert whole.links == {ticks[0].start: ORIGIN, **{tick.end: tick.link for tick in ticks}}
    assert scan_tail(disk, ())[:3] == whole[:3]


def test_a_writer_that_comes_later_goes_on_as_if_it_had_always_been_there() -> None:
    disk, ticks = empty_run(), frames(COUNT)
    for tick in ticks:
        write(disk, [tick], SEGMENT)
    assert disk.files == sealed_run().files


def test_ticks_are_appended_while_those_before_them_are_written_into_a_segment() -> None:
    disk, whole = empty_run(), plain()
    writer = JournalWriter(disk, SEGMENT)
    for number, tick in enumerate(frames(COUNT), start=1):
        writer.append([tick.frame])
        if writer.full == 2:
            writer.write_segments()
        elif writer.full == 3:
            assert writer.has_written
            writer.take_out()
            assert (writer.full, writer.has_written) == (1, False)
        assert list(whole_ticks(disk)) == whole[:number]
    assert writer.full
    writer.seal()
    assert disk.files == sealed_run().files


def test_every_changed_byte_of_a_segment_is_noticed_by_its_name() -> None:
    whole = sealed_run()
    name = segments(whole)[2]
    content = whole.files[name]
    for place in range(0, len(content), 7):
        disk = SimulatedDisk(
            {**whole.files, name: content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :]}
        )
        with pytest.raises(JournalError, match=name):
            check_segment(disk, name)
        assert name in refusal(disk)
    for place in range(0, len(content), 29):
        assert name in refusal(SimulatedDisk({**whole.files, name: content[:place]}))


def refusal(disk: SimulatedDisk) -> str:
    """What a resume says to the damage, which all readers stop at."""
    damage = list(read_ticks(disk, read_header(disk)[1]))[-1]
    assert isinstance(damage, Damage)
    before = dict(disk.files)
    with pytest.raises(DamagedError, match=r"journal\.prism: damaged at byte") as refused:
        recover(disk)
    assert disk.files == before
    return f"{damage.problem} {refused.value}" if "seg" in damage.problem else ""


@catalogue("which", [0, 2, -1])
def test_a_segment_that_is_missing_or_is_another_one_is_damage(which: int) -> None:
    whole = sealed_run()
    name = segments(whole)[which]
    assert f"{name}: is missing" in refusal(SimulatedDisk({k: v for k, v in whole.files.items() if k != name}))
    other = segments(whole)[which - 1]
    assert name in refusal(SimulatedDisk({**whole.files, name: whole.files[other]}))


def test_what_is_damaged_is_cut_off_with_all_that_follows_when_asked_and_can_be_written_again() -> None:
    whole = sealed_run()
    name = segments(whole)[2]
    start = start_of(name)
    disk = SimulatedDisk({**whole.files, name: b"nothing"})
    notes = recover(disk, cut_damage=True).notes
    assert any(f"cut at byte {start}" in note for note in notes)
    kept = list(whole_ticks(disk))
    assert kept == plain()[: len(kept)]
    assert kept[-1].end == start
    assert segments(disk) == segments(whole)[:2]
    write(disk, frames(COUNT)[len(kept) :], SEGMENT)
    assert disk.files == whole.files


def test_segments_of_ticks_that_are_not_sealed_are_ignored_and_removed_by_a_resume() -> None:
    whole = sealed_run()
    stale = {segment_name(journal_size(whole)): b"of a crash", segment_name(10**9): b""}
    disk = SimulatedDisk({**whole.files, **stale})
    assert list(whole_ticks(disk)) == plain()
    recover(disk, repair=False)
    assert stale.keys() <= disk.files.keys()
    recover(disk)
    assert not stale.keys() & disk.files.keys()


def test_a_journal_that_names_another_end_than_its_segments_is_refused() -> None:
    whole = sealed_run()
    tail = read_tail(whole)
    wrong = msgspec.structs.replace(tail.sealed, link=bytes(32))
    rest = whole.files[JOURNAL][tail.at :]
    disk = SimulatedDisk({**whole.files, JOURNAL: head_bytes(tail.header, wrong) + rest})
    with pytest.raises(DamagedError, match="another end of what is sealed"):
        recover(disk)


def test_a_segment_has_its_size_and_enough_ticks_or_several_times_its_size() -> None:
    ticks = frames(COUNT)
    size = max(len(tick.frame) for tick in ticks)
    few = sealed_run(size=1)  # a tick is larger than eight times the size
    assert len(segments(few)) == COUNT
    for each in (size, 4 * size, 10**6):
        disk = sealed_run(size=each)
        for name in segments(disk):
            segment = check_segment(disk, name)
            assert segment.end - segment.start >= each
            assert segment.ticks >= LEAST_TICKS or segment.end - segment.start >= LARGEST * each
            before = segment.end - segment.start - len(ticks[segment.tick + segment.ticks - 1].frame)
            assert before < each or (segment.ticks - 1 < LEAST_TICKS and before < LARGEST * each)


def test_a_segment_of_a_format_to_come_is_refused_by_its_number() -> None:
    whole = sealed_run()
    name = segments(whole)[0]
    head = msgspec.structs.asdict(check_segment(whole, name)) | {"format": 9}
    payload = msgspec.msgpack.encode(head)
    data = MAGIC + encode_frame(link_of(ORIGIN, payload), payload)
    with pytest.raises(JournalError, match=f"{name}: has format 9, and this version of PRISM reads 2"):
        read_segment(SimulatedDisk({**whole.files, name: data}), name)


def with_block(block: bytes, length: int | None = None) -> tuple[SimulatedDisk, str]:
    """A sealed run whose first segment has one block, all frames of it whole; its ticks are said to have a length."""
    disk = sealed_run()
    name = segments(disk)[0]
    head = check_segment(disk, name)
    if length is not None:
        head = msgspec.structs.replace(head, end=head.start + length)
    link, content = ORIGIN, MAGIC
    for part in (head, ("payloads", block), 1):
        payload = msgspec.msgpack.encode(part)
        link = link_of(link, payload)
        content += encode_frame(link, payload)
    return SimulatedDisk({**disk.files, name: content}), name


def deflated(data: bytes) -> bytes:
    deflate = compressobj(wbits=-15)
    return deflate.compress(data) + deflate.flush()


@catalogue(
    ("block", "length", "told"),
    [
        (deflated(bytes(50_000_000)), None, "they unpack to more than 16 times the "),
        (deflated(bytes(1000)), 1 << 40, "its ticks are said to have 1,099,511,627,776 bytes"),
        (deflated(bytes(1000)), -(1 << 20), "its ticks are said to have -1,048,576 bytes"),
        (deflated(msgspec.msgpack.encode([b"tick"]))[:-1], None, "payloads is cut off"),
    ],
)
def test_a_segment_takes_no_more_memory_than_its_ticks_need(block: bytes, length: int | None, told: str) -> None:
    disk, name = with_block(block, length)
    for read in (read_segment, lambda disk, name: [*columns_of(disk, name)]):
        with pytest.raises(DamagedError, match=told):
            read(disk, name)
