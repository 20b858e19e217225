"""Sealed segments: older ticks of a journal, a file for every few megabytes of them, in compressed columns.

After the head comes a block of the heads of all payloads, then one for each column of each table: its values in all
ticks. So a column can be read alone, and the payloads can be made again byte for byte. A segment is written once,
whole. It holds no links of ticks: they are computed, and lead from the link before it to the link after it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any, Final, NamedTuple, TypeVar

import msgspec
import numpy as np

from actors.core.errors import DamagedError
from actors.core.frames import (
    DECODE_ERRORS,
    HEAD,
    ORIGIN,
    PAYLOAD_MAX,
    Damage,
    Frame,
    encode_frame,
    link_of,
    read_frame,
)
from actors.store.disk import Disk, decoded_head, first_frame, reading, write_whole
from prism.columns import Ints
from prism.events import KINDS
from prism.planes import Form, length_of, seal, unseal
from prism.rows import LENGTH, Heap, Values, bytes_of, joined, part_of, read_head, read_rows, rows_of_texts
from prism.tables import HEAP, HEAPS, Shape, check_shapes

MAGIC: Final = b"PRISMS\r\n"
FORMAT: Final = 3
SEGMENT_PREFIX: Final = "journal-"
SEGMENT_SUFFIX: Final = ".seg"
TICKS_BYTES_MAX: Final = 2 * PAYLOAD_MAX
"""The most bytes of the ticks of one segment: the largest `run.segment_mb`, and a tick more, are less."""

_HEADS = -1  # the number of the table of a block with the heads of payloads

Kinds = tuple[tuple[str, ...], ...]
"""The kinds of updates and questions that are known, by their numbers: the rows of the table of kinds."""


class Place(NamedTuple):
    """The beginning of a tick in the journal: the tick, the offset of its frame, and the link before it."""

    tick: int
    offset: int
    link: bytes


class Sealed(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a journal that is in segments."""

    first: int  # the place of tick 0 in the journal
    start: int  # the place after the last sealed tick
    tick: int = 0  # the ticks that are sealed
    link: bytes = ORIGIN  # the link of the last of them
    kinds: Kinds = ()  # the kinds known after them

    def after(self, segment: Segment) -> Sealed:
        tick, start, link = segment.next
        return Sealed(first=self.first, start=start, tick=tick, link=link, kinds=segment.kinds)


class Block(NamedTuple):
    """A block of a segment."""

    table: int  # the number of its table, or -1 for the heads of the payloads
    column: int  # the number of the column in it
    form: Form  # the form of the values
    length: int  # the bytes of the column in the payloads
    stored: int  # those of the block


class Segment(msgspec.Struct, frozen=True, kw_only=True):
    """The head of a segment."""

    format: int = FORMAT
    start: int  # the place of its first tick's frame in the journal, in bytes, as if nothing was sealed
    end: int  # the place after its last
    tick: int  # its first tick
    ticks: int  # their number
    before: bytes  # the link before its first tick
    after: bytes  # that of its last
    known: int  # the kinds known before its first tick
    kinds: Kinds  # those known after its last, which begin with them
    tables: tuple[Shape, ...]  # the tables of the run
    blocks: tuple[Block, ...]  # its blocks, in their order

    @property
    def next(self) -> Place:
        return Place(self.tick + self.ticks, self.end, self.after)

    def named(self, block: Block) -> str:
        """Return `table.column`, or words for the heads."""
        if block.table == _HEADS:
            return "the heads of its ticks"
        shape = self.tables[block.table]
        return f"{shape.name}.{shape.columns[block.column][0]}"


class TableRows(NamedTuple):
    """The rows of one table in consecutive ticks."""

    ticks: Ints  # for each wave with rows its tick
    waves: Ints  # its number in the tick
    rows: Ints  # how many rows it has
    columns: dict[str, Values]  # `{column: values}` of all rows, one after the other

    @classmethod
    def of(cls, waves: Sequence[tuple[int, int, int]], columns: dict[str, Values]) -> TableRows:
        ticks, places, rows = np.array(waves, np.int64).reshape(-1, 3).T
        return cls(ticks, places, rows, columns)


def no_values(dtype: str) -> Values:
    return Heap.of(()) if dtype in HEAPS else np.empty(0, dtype)


def segment_name(start: int) -> str:
    return f"{SEGMENT_PREFIX}{start:015d}{SEGMENT_SUFFIX}"


def start_of(name: str) -> int:
    """Return the place of the journal at which a segment begins, by its name; -1 for a name that none has."""
    digits = name.removeprefix(SEGMENT_PREFIX).removesuffix(SEGMENT_SUFFIX)
    return int(digits) if digits.isdecimal() and name == segment_name(int(digits)) else -1


def segment_names(disk: Disk, end: int) -> list[str]:
    """Return the names of the segments that begin before a place of the journal, in order."""
    return sorted(name for name in disk.names() if 0 <= start_of(name) < end)


Found = TypeVar("Found", bound="tuple[Any, ...]")


def segments_from(disk: Disk, place: Place, sealed: Sealed, read: Callable[[str], Found]) -> Iterator[Found | Damage]:
    """Yield what is read of each segment from the one with a place on; the last item is the damage, if any.

    `read`: returns of a segment's file its head, and more.
    """
    names = segment_names(disk, sealed.start) if place.offset < sealed.start else []
    at, kinds = place, Kinds()
    for name in names[max(0, sum(start_of(name) <= place.offset for name in names) - 1) :]:
        try:
            found = read(name)
        except DamagedError as error:
            yield Damage(start_of(name), str(error))
            return
        segment: Segment = found[0]
        if not segment.start <= at.offset < segment.end or segment.start < at.offset > place.offset:
            break
        known = segment.kinds[: segment.known if kinds else 0]
        if segment.start == at.offset and (segment.tick, segment.before, known) != (at.tick, at.link, kinds):
            yield Damage(segment.start, f"{name}: does not follow from the segment before it")
            return
        yield found
        at, kinds = segment.next, segment.kinds
    if at.offset < sealed.start:
        yield Damage(at.offset, f"{segment_name(at.offset)}: is missing")


def write_segment(disk: Disk, sealed: Sealed, tables: Sequence[Shape], payloads: Iterable[bytes]) -> Segment:
    """Write the ticks after those that are sealed into a segment: the whole file, or nothing. It may raise OSError.

    Raises:
        ValueError: a payload is not that of the next tick, with rows of these tables; or was not sealed as it is.
    """
    after, end, heads, parts = sealed.link, sealed.start, list[bytes](), dict[tuple[int, int], list[Values]]()
    numbers = {shape.name: number for number, shape in enumerate(tables)}
    known = len(sealed.kinds)
    payloads = [*payloads]
    for payload in payloads:
        after, end = link_of(after, payload), end + HEAD.size + len(payload)
        found = read_rows(payload, tables)
        if (found.tick, found.known) != (sealed.tick + len(heads), known):
            raise ValueError(f"it holds tick {found.tick} after {found.known} kinds, and {known} are known")
        heads.append(payload[LENGTH.size : LENGTH.size + LENGTH.unpack_from(payload)[0]])
        for name, part in found.tables.items():
            for column, values in enumerate(part.columns):
                parts.setdefault((numbers[name], column), []).append(values)
            known += sum(part.waves) * (name == KINDS.name)
    columns = {(_HEADS, 0): Heap.of(heads)} | {place: joined(parts[place]) for place in sorted(parts)}
    blocks, stored = list[Block](), list[bytes]()
    for (table, column), values in columns.items():
        form, data = seal(values)
        stored.append(data)
        blocks.append(Block(table, column, form, length_of(values), len(data)))
    new = [values for (table, _), values in columns.items() if table == numbers.get(KINDS.name)]
    segment = Segment(
        start=sealed.start,
        end=end,
        tick=sealed.tick,
        ticks=len(heads),
        before=sealed.link,
        after=after,
        known=len(sealed.kinds),
        kinds=(*sealed.kinds, *rows_of_texts(new)),
        tables=tuple(tables),
        blocks=tuple(blocks),
    )
    if [*_payloads(segment, dict(zip(blocks, stored, strict=True)))] != payloads:
        raise ValueError("it is not what was sealed")
    pieces, link = [MAGIC], ORIGIN
    for content in (msgspec.msgpack.encode(segment), *stored):
        link = link_of(link, content)
        pieces.append(encode_frame(link, content))
    write_whole(disk, segment_name(segment.start), pieces)
    return segment


def check_segment(disk: Disk, name: str) -> Segment:
    """Return the head of a segment whose bytes are as they were written. It is not decompressed.

    If they are not, it is a DamagedError; of another format, a JournalError. So it is with the next two.
    """
    return _read(disk, name)[0]


def read_segment(disk: Disk, name: str) -> tuple[Segment, list[Frame]]:
    """Return the head of a segment, and the frames of its ticks as they stood in the journal."""
    segment, stored = _read(disk, name)
    frames, at, link = list[Frame](), segment.start, segment.before
    with _unharmed(name):
        for payload in _payloads(segment, stored):
            at, link = at + HEAD.size + len(payload), link_of(link, payload)
            frames.append(Frame(payload, link, at))
    if (len(frames), at, link) != (segment.ticks, segment.end, segment.after):
        raise DamagedError(name, 0, "its ticks do not lead to the link that its head names")
    return segment, frames


def segment_columns(
    disk: Disk, name: str, wanted: Mapping[str, Collection[str]] | None, first: int = 0
) -> tuple[Segment, dict[str, TableRows]]:
    """Return the head of a segment, and some columns of some tables, which are `{table: columns}`, or None for all.

    Only these columns are read. Of a segment that ends before the tick `first` only the head is read.
    """
    segment, stored = _read(disk, name, wanted, first)
    with _unharmed(name):
        _, counts, columns = _opened(segment, stored)
        waves: dict[int, list[tuple[int, int, int]]] = {}
        for tick, tables in enumerate(counts, segment.tick):
            for table, *of_waves in tables:
                waves.setdefault(table, []).extend((tick, wave, rows) for wave, rows in enumerate(of_waves) if rows)
        found = dict[str, TableRows]()
        for table, shape in enumerate(segment.tables):
            if wanted is None or shape.name in wanted:
                of_table = {
                    column: columns[table, number] if (table, number) in columns else no_values(dtype)
                    for number, (column, dtype) in enumerate(shape.columns)
                    if wanted is None or column in wanted[shape.name]
                }
                found[shape.name] = TableRows.of(waves.get(table, []), of_table)
    return segment, found


def _payloads(segment: Segment, stored: Mapping[Block, bytes]) -> Iterator[bytes]:
    heads, counts, columns = _opened(segment, stored)
    done = [0] * len(segment.tables)
    for head, tables in zip(heads, counts, strict=True):
        body = list[bytes]()
        for table, *waves in tables:
            start, done[table] = done[table], done[table] + sum(waves)
            for column, (_, dtype) in enumerate(segment.tables[table].columns):
                body.append(bytes_of(part_of(columns[table, column], start, done[table]), dtype))
        yield b"".join((LENGTH.pack(len(head)), head, *body))


def _opened(
    segment: Segment, stored: Mapping[Block, bytes]
) -> tuple[list[bytes], list[list[list[int]]], dict[tuple[int, int], Values]]:
    """Return the heads of the payloads, the rows of each wave of each table that they name, and the columns.

    It raises a ValueError or IndexError if they are not what PRISM writes. No more memory is taken than the head
    allows.
    """
    rows, heads, counts = [0] * len(segment.tables), list[bytes](), list[list[list[int]]]()  # the first block is theirs
    columns = dict[tuple[int, int], Values]()
    for block, data in stored.items():
        is_head = block.table == _HEADS
        dtype = HEAP if is_head else segment.tables[block.table].columns[block.column][1]
        try:
            values = unseal(data, block.form, dtype, segment.ticks if is_head else rows[block.table], block.length)
        except (ValueError, IndexError) as error:
            raise ValueError(f"{segment.named(block)}: {error}") from None
        if is_head:
            heads = values.values()
            counts = [read_head(LENGTH.pack(len(head)) + head).counts for head in heads]
            for table, *waves in chain.from_iterable(counts):
                rows[table] += sum(waves)
        else:
            columns[block.table, block.column] = values
    if any(count and (table, 0) not in {block[:2] for block in segment.blocks} for table, count in enumerate(rows)):
        raise ValueError("a table with rows has no blocks")
    return heads, counts, columns


def _read(
    disk: Disk, name: str, wanted: Mapping[str, Collection[str]] | None = None, first: int = 0
) -> tuple[Segment, dict[Block, bytes]]:
    """Return the head of a segment and its compressed blocks: those of the heads and of the wanted columns, or all."""

    def is_wanted(block: Block) -> bool:
        if wanted is None or block.table == _HEADS:
            return True
        shape = segment.tables[block.table]
        return segment.tick + segment.ticks > first and shape.columns[block.column][0] in wanted.get(shape.name, ())

    with reading(name), disk.open_file(name) as file:
        head = first_frame(file, name, MAGIC)
        segment, found = _head(name, len(MAGIC), head.payload), dict[Block, bytes]()
        end = head.end + sum(HEAD.size + block.stored for block in segment.blocks)
        if file.size() != end:
            raise DamagedError(name, min(end, file.size()), f"it has {file.size()} bytes, and its head says {end}")
        before, at = len(MAGIC), head.end
        for block in segment.blocks:
            if is_wanted(block):
                link = HEAD.unpack(file.read(before, HEAD.size))[2]
                frame = read_frame(file.read(at, HEAD.size + block.stored), 0, at)
                if isinstance(frame, Damage):
                    raise DamagedError(name, frame.offset, f"{segment.named(block)}: {frame.problem}")
                if frame.link != link_of(link, frame.payload) or len(frame.payload) != block.stored:
                    raise DamagedError(name, at, "a frame does not follow from the one before it")
                found[block] = frame.payload
            before, at = at, at + HEAD.size + block.stored
    return segment, found


def _head(name: str, offset: int, payload: bytes) -> Segment:
    segment = decoded_head(name, offset, payload, Segment, FORMAT)
    try:
        check_shapes(segment.tables)
        tables = sorted({block.table for block in segment.blocks} - {_HEADS})
        expected = [(table, column) for table in tables for column in range(len(segment.tables[table].columns))]
        if [block[:2] for block in segment.blocks] != [(_HEADS, 0), *expected]:
            raise ValueError("its blocks are not those of its tables")
        length = segment.end - segment.start - segment.ticks * HEAD.size
        if not 0 <= length <= TICKS_BYTES_MAX:
            raise ValueError(f"its ticks are said to have {length:,} bytes, and {TICKS_BYTES_MAX:,} is the most")
        sizes = [block.length for block in segment.blocks]
        if sum(sizes) != length or min(*sizes, *(block.stored for block in segment.blocks)) < 0:
            raise ValueError(f"its blocks do not have the {length:,} bytes of its ticks")
        if not 0 <= segment.known <= len(segment.kinds):
            raise ValueError("it names fewer kinds than were known before it")
    except (ValueError, IndexError) as error:
        raise DamagedError(name, offset, f"its head cannot be read: {error}") from None
    if segment_name(segment.start) != name:
        raise DamagedError(name, offset, f"it begins at {segment.start} of the journal, and its name says otherwise")
    return segment


@contextmanager
def _unharmed(name: str) -> Iterator[None]:
    """Turn the errors of blocks that PRISM has not written into a DamagedError."""
    try:
        yield
    except (*DECODE_ERRORS, KeyError, IndexError) as error:
        raise DamagedError(name, 0, f"its blocks cannot be read: {error}") from None
