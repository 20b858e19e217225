import msgspec
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from actors.core.errors import DamagedError, JournalError
from actors.core.frames import ORIGIN, Damage, encode_frame, link_of
from actors.store.journal import JOURNAL, MAGIC, TickFrame, read_tail, read_ticks
from prism.rows import LENGTH, Heap, TickRows
from tests.actors.store.files import TABLES, empty_run, run_of
from tests.actors.store.files import header as written
from tests.catalogue import catalogue
from tests.crash.disk import SimulatedDisk


def replaced(disk: SimulatedDisk, data: bytes) -> SimulatedDisk:
    disk.truncate(JOURNAL, 0)
    disk.append(JOURNAL, data)
    return disk


def headed(header: object) -> SimulatedDisk:
    payload = msgspec.msgpack.encode(header)
    return replaced(empty_run(), MAGIC + encode_frame(link_of(ORIGIN, payload), payload))


def test_the_header_is_read_back() -> None:
    tail = read_tail(empty_run())
    header, end = tail.header, tail.sealed.first
    assert msgspec.json.encode(header, order="sorted") == msgspec.json.encode(written(), order="sorted")
    assert end == empty_run().size(JOURNAL)


def test_a_frame_larger_than_a_block_is_read() -> None:
    disk = empty_run()
    rows = TickRows(TABLES)
    rows.add("questions", np.zeros(1, "<u4"), np.zeros(1, "<u4"), Heap.of([b"x" * 3_000_000]))
    payload = rows.take(0, 0)
    disk.append(JOURNAL, encode_frame(link_of(ORIGIN, payload), payload))
    (found,) = read_ticks(disk)
    assert isinstance(found, TickFrame)
    assert found.payload == payload


def test_a_missing_frame_breaks_the_chain() -> None:
    disk, written = run_of(4)
    data = disk.visible(JOURNAL)
    replaced(disk, data[: written[0].end] + data[written[1].end :])
    *whole, damage = read_ticks(disk)
    assert len(whole) == 1
    assert damage == Damage(written[0].end, "a frame does not follow from the one before it")


def test_another_tick_than_expected_is_damage_even_with_the_right_link() -> None:
    disk, written = run_of(1)
    payload = TickRows(TABLES).take(7, 3)
    disk.append(JOURNAL, encode_frame(link_of(written[0].link, payload), payload))
    *_, damage = read_ticks(disk)
    assert damage == Damage(written[0].end, "a frame holds tick 7, where tick 1 was expected")


@catalogue("data", [b"", b"PRISM", b"something else entirely, and long enough to hold a head"])
def test_a_file_of_another_kind_is_refused(data: bytes) -> None:
    with pytest.raises(DamagedError, match="it does not begin with"):
        read_tail(replaced(empty_run(), data))


def test_every_torn_header_is_refused() -> None:
    disk = empty_run()
    data = disk.visible(JOURNAL)
    for end in range(len(data)):
        with pytest.raises(DamagedError):
            read_tail(replaced(disk, data[:end]))


@catalogue("changes", [{"format": 2}, {"format": 4}, {"format": 4, "seed": "a text by now"}])
def test_another_format_is_refused_by_its_number(changes: dict[str, object]) -> None:
    header = msgspec.to_builtins(written()) | changes
    with pytest.raises(JournalError, match=rf"has format {changes['format']}, and this version of PRISM reads 3"):
        read_tail(headed(header))


@catalogue(
    "tables",
    [
        [["a", [["b", "|O"]]]],
        [["a", [["b", "<f8"], ["c", "<U9"]]]],
        [["a", []]],
        [["a", [["b", "<u4"]]], ["a", [["c", "<u4"]]]],
    ],
)
def test_tables_that_no_journal_has_are_refused(tables: object) -> None:
    with pytest.raises(DamagedError, match="its head cannot be read: "):
        read_tail(headed(msgspec.to_builtins(written()) | {"tables": tables}))


HEADER = msgspec.msgpack.encode(written())


def with_byte(place: int, byte: int) -> bytes:
    """A header in which one byte is another."""
    return HEADER[:place] + bytes([byte]) + HEADER[place + 1 :]


@given(st.binary(max_size=60) | st.builds(with_byte, st.integers(0, len(HEADER) - 1), st.integers(0, 255)))
@example(b"")
@example(b"\x93")
@example(b"\xa1\xff")
@example(b"\x91" * 100_000)
@example(b"\x81\x90\xc0")
@example(b"\xd7\xff" + b"\xff" * 8)
def test_a_frame_of_anything_else_where_the_header_should_be_is_refused_in_one_line(payload: bytes) -> None:
    disk = replaced(empty_run(), MAGIC + encode_frame(link_of(ORIGIN, payload), payload))
    told = ""
    try:
        header = read_tail(disk).header
    except JournalError as error:
        told = str(error)
    assert (told.startswith(f"{JOURNAL}: ") and "\n" not in told) or header.format == 3


@given(st.binary(max_size=60))
@example(LENGTH.pack(100_000) + b"\x91" * 100_000)
@example(LENGTH.pack(5) + b"\x93\x00\x00\x90")
@example(LENGTH.pack(4) + b"\x93\x00\x00\x90")
@example(LENGTH.pack(5) + b"\x93\x00\x00\x91\x90")
@example(LENGTH.pack(2**32 - 1))
def test_a_frame_of_anything_else_where_a_tick_should_be_is_damage(payload: bytes) -> None:
    disk = empty_run()
    disk.append(JOURNAL, encode_frame(link_of(ORIGIN, payload), payload))
    (found,) = read_ticks(disk)
    if isinstance(found, TickFrame):
        assert (found.tick, found.payload) == (0, payload)
    else:
        assert found.problem.startswith("a frame holds tick ")
