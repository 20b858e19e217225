"""The journal, and its sealed ticks, which are its ticks still: in every reader, from any place, after damage."""

from collections.abc import Callable, Iterator, Sequence
from struct import pack
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from zstandard import ZstdCompressor

from actors.core.errors import DamagedError, JournalError
from actors.core.frames import HEAD, ORIGIN, Damage, encode_frame, link_of
from actors.store import journal
from actors.store.disk import Disk
from actors.store.journal import (
    JOURNAL,
    TickFrame,
    head_bytes,
    journal_size,
    read_tail,
    read_ticks,
    scan_journal,
    scan_tail,
)
from actors.store.recovery import recover
from actors.store.segments import (
    MAGIC,
    Place,
    Sealed,
    Segment,
    check_segment,
    read_segment,
    segment_columns,
    segment_name,
    start_of,
    write_segment,
)
from prism.planes import compressed
from prism.rows import LENGTH, Heap, TickRows, Values, bytes_of, payload_of
from prism.tables import HEAP, Shape
from tests.actors.store.files import KINDS, SEGMENT, TABLES, Tick, empty_run, frames, run_of, sealed_run, write
from tests.actors.store.files import header as written
from tests.catalogue import catalogue
from tests.crash.disk import SimulatedDisk


def replaced(disk: SimulatedDisk, data: bytes) -> SimulatedDisk:
    disk.truncate(JOURNAL, 0)
    disk.append(JOURNAL, data)
    return disk


def headed(header: object) -> SimulatedDisk:
    payload = msgspec.msgpack.encode(header)
    return replaced(empty_run(), journal.MAGIC + encode_frame(link_of(ORIGIN, payload), payload))


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
    return HEADER[:place] + bytes([byte]) + HEADER[place + 1 :]


@given(st.binary(max_size=60) | st.builds(with_byte, st.integers(0, len(HEADER) - 1), st.integers(0, 255)))
@example(b"")
@example(b"\x93")
@example(b"\xa1\xff")
@example(b"\x91" * 100_000)
@example(b"\x81\x90\xc0")
@example(b"\xd7\xff" + b"\xff" * 8)
def test_a_frame_of_anything_else_where_the_header_should_be_is_refused_in_one_line(payload: bytes) -> None:
    disk = replaced(empty_run(), journal.MAGIC + encode_frame(link_of(ORIGIN, payload), payload))
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


COUNT = 42  # ticks of the run


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
        assert list(read_ticks(disk, Place(at, tick.start, before))) == ticks[at:]
    whole = scan_journal(disk)
    assert (whole.ticks, whole.end, whole.damage) == (COUNT, ticks[-1].end, None)
    assert whole.links == {ticks[0].start: ORIGIN, **{tick.end: tick.link for tick in ticks}}
    assert scan_tail(disk, ())[:3] == whole[:3]


def test_every_changed_byte_of_a_segment_is_noticed_by_its_file_its_place_and_its_column() -> None:
    whole = sealed_run()
    name = segments(whole)[2]
    content, segment = whole.files[name], check_segment(whole, name)
    at = len(content) - sum(HEAD.size + block.stored for block in segment.blocks)
    of_byte = {}
    for block in segment.blocks:
        of_byte.update(dict.fromkeys(range(at, end := at + HEAD.size + block.stored), (at, segment.named(block))))
        at = end
    assert {"the heads of its ticks", "updates.kind"} <= {column for _, column in of_byte.values()}
    for place in range(0, len(content), 13):
        disk = SimulatedDisk(
            {**whole.files, name: content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :]}
        )
        with pytest.raises(JournalError, match=name) as damaged:
            check_segment(disk, name)
        if place in of_byte:
            start, column = of_byte[place]
            assert f"damaged at byte {start}: {column}: " in str(damaged.value)
        assert name in refusal(disk)
    for place in range(0, len(content), 61):
        assert name in refusal(SimulatedDisk({**whole.files, name: content[:place]}))


def refusal(disk: SimulatedDisk) -> str:
    """What a resume says to the damage, which all readers stop at."""
    damage = list(read_ticks(disk))[-1]
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


def test_a_segment_ends_with_the_first_tick_that_fills_it() -> None:
    ticks = frames(COUNT)
    for size in (1, 4 * len(ticks[1].frame), 10**6):
        disk = sealed_run(size=size)
        for name in segments(disk):
            segment = check_segment(disk, name)
            length = segment.end - segment.start
            assert length >= size > length - len(ticks[segment.tick + segment.ticks - 1].frame)


def test_a_segment_names_the_kinds_that_are_known_at_its_beginning_and_at_its_end() -> None:
    disk = sealed_run()
    known = list[int]()
    for name in segments(disk):
        segment = check_segment(disk, name)
        assert segment.kinds == KINDS[: len(segment.kinds)]
        known += [segment.known, len(segment.kinds)]
    assert known[:2] == [0, 3]
    assert known == sorted(known)
    assert read_tail(disk).sealed.kinds == KINDS
    with pytest.raises(DamagedError, match="a tick cannot be read: it holds tick 0 after 1 kinds, and 0 are known"):
        write(empty_run(), [framed(TickRows(TABLES).take(0, 1))], 1)
    with pytest.raises(DamagedError, match="a tick cannot be read: it names table 4, and there are 4"):
        write(empty_run(), [framed(payload_of(0, 0, [[4, 1]], [b"1234"]))], 1)


def framed(payload: bytes) -> Tick:
    return Tick(encode_frame(link_of(ORIGIN, payload), payload), b"", 0)


Made = list[dict[str, list[list[tuple[object, ...]]]]]  # for each tick and table the rows of each wave

VALUES = {
    HEAP: st.binary(max_size=9) | st.just(b"x" * 70_000),
    "<f8": st.floats(width=64),
    "|u1": st.integers(0, 2**8 - 1),
    "<u4": st.integers(0, 2**32 - 1) | st.integers(0, 9),
    "<u8": st.integers(0, 2**64 - 1) | st.integers(0, 9),
    "<i8": st.integers(-(2**63), 2**63 - 1) | st.integers(-9, 9),
}
SHAPES = (Shape("one", tuple((dtype, dtype) for dtype in VALUES)), Shape("two", (("text", HEAP),)), TABLES[3])


def rows_in(shape: Shape) -> st.SearchStrategy[list[tuple[object, ...]]]:
    rows = st.lists(st.tuples(*(VALUES[dtype] for _, dtype in shape.columns)), max_size=4)
    return rows | rows.map(sorted)


def column_of(values: Sequence[Any], dtype: str) -> Values:
    return Heap.of(values) if dtype == HEAP else np.array(values, dtype)


TICK = st.fixed_dictionaries({}, optional={shape.name: st.lists(rows_in(shape), max_size=3) for shape in SHAPES})


@given(made=st.lists(TICK, max_size=9))
@example(made=[{}])
@example(made=[{"two": [[(b"",)]]}])
def test_all_ticks_are_read_back_byte_for_byte_and_each_column_alone(made: Made) -> None:
    rows, payloads = TickRows(SHAPES), list[bytes]()
    for number, tick in enumerate(made):
        for wave in range(max(map(len, tick.values()), default=0)):
            for shape in SHAPES:
                of_wave = tick.get(shape.name, [])[wave : wave + 1]
                if of_wave and of_wave[0]:
                    columns = zip(*of_wave[0], strict=True)
                    pairs = zip(columns, shape.columns, strict=True)
                    rows.add(shape.name, *(column_of(values, dtype) for values, (_, dtype) in pairs))
            rows.end_wave()
        payloads.append(rows.take(number, 0))
    disk = SimulatedDisk()
    segment = write_segment(disk, Sealed(first=100, start=100), SHAPES, payloads)
    name = segment_name(100)
    assert [frame.payload for frame in read_segment(disk, name)[1]] == payloads
    for shape in SHAPES:
        waves = [
            (number, wave, len(of_wave))
            for number, tick in enumerate(made)
            for wave, of_wave in enumerate(tick.get(shape.name, []))
            if of_wave
        ]
        everything = [row for tick in made for of_wave in tick.get(shape.name, []) for row in of_wave]
        for place, (column, dtype) in enumerate(shape.columns):
            head, found = segment_columns(disk, name, {shape.name: [column]})
            assert head == segment
            assert [*zip(*(each.tolist() for each in found[shape.name][:3]), strict=True)] == waves
            assert [*found[shape.name].columns] == [column]
            values = found[shape.name].columns[column]
            assert bytes_of(values, dtype) == bytes_of(column_of([row[place] for row in everything], dtype), dtype)
    assert segment_columns(disk, name, {"absent": ["a"], "two": ["b"]})[1]["two"].columns == {}


def test_a_column_whose_values_repeat_is_kept_as_its_distinct_values() -> None:
    shape = Shape("repeating", (("number", "<f8"), ("whole", "<i8"), ("text", HEAP), ("state", "<u4")))
    random = np.random.default_rng(4)
    numbers = np.array([0.1, -0.0, 0.0, np.nan, 7e99, -3.5])[random.integers(0, 6, 3000)]
    texts = Heap.of([b"a rather long text %d" % place for place in random.integers(0, 50, 3000)])
    columns = numbers, random.integers(-9, 9, 3000) * 10**15, texts, random.integers(0, 9, 3000)
    rows = TickRows([shape])
    rows.add("repeating", *columns)
    payload, disk = rows.take(0, 0), SimulatedDisk()
    segment = write_segment(disk, Sealed(first=0, start=0), [shape], [payload])
    assert [block.form for block in segment.blocks[1:]] == ["distinct", "distinct", "distinct", "plain"]
    assert sum(block.stored for block in segment.blocks) < len(payload) / 8
    found = segment_columns(disk, segment_name(0), {"repeating": ["text", "number"]})[1]["repeating"].columns
    assert (found["text"].values(), found["number"].tobytes()) == (texts.values(), numbers.tobytes())


def test_a_column_is_read_without_the_others_and_damage_in_them_is_not_seen() -> None:
    whole = sealed_run()
    name = segments(whole)[1]
    content = whole.files[name]
    segment, wanted = segment_columns(whole, name, {"updates": ["kind"]})
    kinds = bytes_of(wanted["updates"].columns["kind"], "<u4")
    assert kinds == np.array([0, 1] * segment.ticks, "<u4").tobytes()
    harmed = 0
    for place in range(len(content)):
        data = content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :]
        try:
            _, found = segment_columns(SimulatedDisk({name: data}), name, {"updates": ["kind"]})
        except JournalError:
            harmed += 1
        else:
            assert bytes_of(found["updates"].columns["kind"], "<u4") == kinds
    assert 0 < harmed < len(content)


def forged(change: Callable[[Segment, list[bytes]], Segment]) -> tuple[SimulatedDisk, str]:
    """A sealed run whose first segment was changed, and has all its frames whole."""
    disk = sealed_run()
    name = segments(disk)[0]
    head = check_segment(disk, name)
    at, stored = disk.size(name) - sum(HEAD.size + block.stored for block in head.blocks), list[bytes]()
    for block in head.blocks:
        stored.append(disk.files[name][at + HEAD.size : at + HEAD.size + block.stored])
        at += HEAD.size + block.stored
    head = change(head, stored)
    blocks = [block._replace(stored=len(data)) for block, data in zip(head.blocks, stored, strict=False)]
    link, content = ORIGIN, MAGIC
    for payload in (msgspec.msgpack.encode(msgspec.structs.replace(head, blocks=blocks)), *stored):
        link = link_of(link, payload)
        content += encode_frame(link, payload)
    return SimulatedDisk({**disk.files, name: content}), name


def said_longer(head: Segment, by: int, block: int = -1) -> Segment:
    """The head of ticks that are said to be longer by so many bytes, and so is a block."""
    blocks = [*head.blocks]
    blocks[block] = blocks[block]._replace(length=blocks[block].length + by)
    return msgspec.structs.replace(head, end=head.end + by, blocks=tuple(blocks))


def with_bomb(head: Segment, stored: list[bytes]) -> Segment:
    stored[-1] = ZstdCompressor().compress(bytes(50_000_000))
    return head


def with_other_rows(head: Segment, stored: list[bytes]) -> Segment:
    data = bytes([1] * head.ticks + [0] * 3 * head.ticks) + b"\xc0" * head.ticks
    stored[0] = ZstdCompressor().compress(data)
    return said_longer(head, len(data) - head.blocks[0].length, 0)


def with_form(form: Any, data: bytes) -> Callable[[Segment, list[bytes]], Segment]:
    """Return a change of the last block, of a column of texts, to another content."""

    def change(head: Segment, stored: list[bytes]) -> Segment:
        stored[-1] = compressed(data)
        return msgspec.structs.replace(head, blocks=(*head.blocks[:-1], head.blocks[-1]._replace(form=form)))

    return change


def without_block(head: Segment, stored: list[bytes]) -> Segment:
    del stored[-1]
    return msgspec.structs.replace(head, blocks=head.blocks[:-1])


def without_table(head: Segment, stored: list[bytes]) -> Segment:
    last = head.blocks[-1].table
    left = tuple(block for block in head.blocks if block.table != last)
    lost = sum(block.length for block in head.blocks[len(left) :])
    del stored[len(left) :]
    return msgspec.structs.replace(head, blocks=left, end=head.end - lost)


@catalogue(
    ("change", "told"),
    [
        (with_bomb, "it expands to more than 74 bytes"),
        (with_form("distinct", b""), "its blocks cannot be read: "),
        (with_form("distinct", pack("<I28x", 2**32 - 1)), "its blocks cannot be read: "),
        (with_form("distinct", pack("<I28xI", 1, 36) + bytes(36)), "questions.context: it has other than 35 bytes"),
        (with_form("unheard of", bytes(35)), "its head cannot be read: Invalid enum value"),
        (lambda head, _: said_longer(head, 1 << 40), "its ticks are said to have 1,099,511,"),
        (lambda head, _: said_longer(head, 7), "it has other than 42 bytes"),
        (lambda head, _: msgspec.structs.replace(head, end=head.end + 1), "its blocks do not have the "),
        (lambda head, _: msgspec.structs.replace(head, known=9), "it names fewer kinds than were known"),
        (lambda head, _: msgspec.structs.replace(head, format=9), "has format 9, and this version of PRISM reads 3"),
        (lambda head, _: msgspec.structs.replace(head, tables=(Shape("a", (("b", "|O"),)),)), "are none of a journal"),
        (lambda head, _: msgspec.structs.replace(head, blocks=head.blocks[::-1]), "its blocks are not those of its"),
        (without_block, "its blocks are not those of its tables"),
        (without_table, "its blocks cannot be read: "),
        (with_other_rows, "its blocks cannot be read: "),
    ],
)
def test_a_forged_segment_is_damage_and_takes_no_more_memory_than_its_head_allows(
    change: Callable[[Segment, list[bytes]], Segment], told: str
) -> None:
    disk, name = forged(change)
    reads: list[Callable[[Disk, str], object]] = [read_segment, lambda disk, name: segment_columns(disk, name, None)]
    for read in reads:
        with pytest.raises(JournalError, match=told):
            read(disk, name)
