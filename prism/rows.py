"""Rows of declared tables in columns, and the bytes that those of one tick have.

    payload = length of the head (u32) | head | the columns of each table in it, one after the other
    head    = msgpack [tick, kinds known before, [[number of the table, its rows in wave 0, in wave 1, ...], ...]]

Numbers are little-endian. A column of texts is their lengths (u32 each), then their bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from struct import Struct
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from prism.tables import HEAPS, Kind, Shape, Table

Bytes = NDArray[np.uint8]
Numbers = NDArray[Any]

LENGTH: Final = Struct("<I")
_LENGTHS: Final = np.dtype("<u4")
_head: Final = msgspec.msgpack.Decoder(tuple[int, int, list[list[int]]]).decode
_encode: Final = msgspec.msgpack.Encoder().encode


class Heap:
    """Texts, or other bytes, one after the other: the n-th ends at `ends[n]`."""

    __slots__ = ("data", "ends")

    def __init__(self, data: Bytes, ends: NDArray[np.int64]) -> None:
        self.data = data
        self.ends = ends

    @classmethod
    def of(cls, values: Sequence[bytes]) -> Heap:
        ends = np.cumsum(np.fromiter(map(len, values), np.int64, len(values)))
        return cls(np.frombuffer(b"".join(values), np.uint8), ends)

    @classmethod
    def same(cls, value: bytes, count: int) -> Heap:
        return cls(np.frombuffer(value * count, np.uint8), len(value) * np.arange(1, count + 1))

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, place: int) -> bytes:
        return self.data[int(self.ends[place - 1]) if place else 0 : int(self.ends[place])].tobytes()

    def values(self) -> list[bytes]:
        data, ends = self.data.tobytes(), [0, *self.ends.tolist()]
        return [data[start:end] for start, end in pairwise(ends)]

    def texts(self) -> list[str]:
        return [value.decode() for value in self.values()]

    def part(self, start: int, stop: int) -> Heap:
        before = int(self.ends[start - 1]) if start else 0
        ends = self.ends[start:stop] - before
        return Heap(self.data[before : before + (int(ends[-1]) if len(ends) else 0)], ends)

    def at(self, places: Numbers) -> Heap:
        lengths = self.lengths[places]
        ends = lengths.cumsum()
        shift = (self.ends[places] - ends).repeat(lengths)
        return Heap(self.data[np.arange(len(shift)) + shift], ends)

    @property
    def lengths(self) -> NDArray[np.int64]:
        lengths = self.ends.copy()  # np.diff takes ten times as long for a few texts
        lengths[1:] -= self.ends[:-1]
        return lengths

    def numbered(self) -> tuple[list[str], NDArray[np.intp]]:
        """Return the different texts, of which there are few, and the number of each text among them."""
        names, lengths = list[str](), self.lengths
        numbers, left = np.empty(len(self), np.intp), np.arange(len(self))
        while len(left):
            first = self[int(left[0])]
            alike = left[lengths[left] == len(first)]
            starts = (self.ends[alike] - len(first))[:, None]
            is_first = (self.data[starts + np.arange(len(first))] == np.frombuffer(first, np.uint8)).all(axis=1)
            numbers[alike[is_first]] = len(names)
            names.append(first.decode())
            left = np.setdiff1d(left, alike[is_first], assume_unique=True)
        return names, numbers


Values = Any
"""The values of a column: an array of numbers, or a `Heap`."""


def listed(values: Values) -> list[Any]:
    """Return the values of a column as a list: numbers, or bytes."""
    return values.values() if isinstance(values, Heap) else values.tolist()


def rows_of_texts(columns: Sequence[Heap]) -> list[tuple[str, ...]]:
    """Return rows whose columns are all texts, such as those of `kinds`."""
    return [*zip(*(column.texts() for column in columns), strict=True)]


_FLOAT: Final = 0xCB
"""The byte before a number as msgpack has it, whose eight bytes follow."""


def unpacked(values: Heap) -> Sequence[Any] | Numbers:
    """Return values that are msgpack, as an array if all are floats."""
    if len(values) and (values.lengths == 9).all() and (values.data[::9] == _FLOAT).all():
        return np.ascontiguousarray(values.data.reshape(-1, 9)[:, 1:]).view(">f8").ravel()
    return [msgspec.msgpack.decode(each) for each in values.values()]


def joined(parts: Sequence[Values]) -> Values:
    if len(parts) == 1:
        return parts[0]
    heaps = [part for part in parts if isinstance(part, Heap)]
    if not heaps:
        return np.concatenate([part for part in parts if not isinstance(part, Heap)])
    starts = np.cumsum([0, *(len(heap.data) for heap in heaps)])
    ends = [heap.ends + start for heap, start in zip(heaps, starts.tolist(), strict=False)]
    return Heap(np.concatenate([heap.data for heap in heaps]), np.concatenate(ends))


def columns_of(table: Table, rows: Sequence[Any]) -> Sequence[Values]:
    """Return rows of a table in columns: rows that are tuples, or columns already."""
    if isinstance(rows, tuple):
        return rows
    found = list[Values]()
    for place, column in enumerate(table.columns):
        values = [row[place] for row in rows]
        if column.stored not in HEAPS:
            values = [column.names.index(value) for value in values] if column.names else values
            found.append(np.array(values, dtype=column.stored))
        elif column.kind is Kind.PACKED:
            found.append(Heap.of([*map(_encode, values)]))
        elif column.kind is Kind.JSON:
            found.append(Heap.of([*map(msgspec.json.encode, values)]))
        else:
            found.append(Heap.of([value.encode() for value in values]))
    return found


def bytes_of(values: Values, dtype: str) -> bytes:
    if isinstance(values, Heap):
        return values.lengths.astype(_LENGTHS).tobytes() + values.data.tobytes()
    found: bytes = values.astype(dtype, copy=False).tobytes()
    return found


class TickRows:
    """The rows of one tick, as its waves bring them; `shapes`: the tables of the run, in their order."""

    def __init__(self, shapes: Sequence[Shape]) -> None:
        self._numbers = {shape.name: number for number, shape in enumerate(shapes)}
        self._shapes = shapes
        self._wave = 0
        self._parts: dict[int, list[tuple[int, Sequence[Values]]]] = {}

    def add(self, table: str, *columns: Values) -> None:
        if len(columns[0]):
            self._parts.setdefault(self._numbers[table], []).append((self._wave, columns))

    def add_first(self, table: str, *columns: Values) -> None:
        """Add rows to the first wave, before its others."""
        self._parts.setdefault(self._numbers[table], []).insert(0, (0, columns))

    def end_wave(self) -> None:
        self._wave += 1

    def take(self, tick: int, known: int) -> bytes:
        """Return the payload of the tick, and begin the next; `known`: the kinds that were known before it."""
        counts, body = list[list[int]](), list[bytes]()
        for number, parts in sorted(self._parts.items()):
            rows = [0] * (parts[-1][0] + 1)
            for wave, columns in parts:
                rows[wave] += len(columns[0])
            counts.append([number, *rows])
            of_columns = zip(*(columns for _, columns in parts), strict=True)
            for values, (_, dtype) in zip(of_columns, self._shapes[number].columns, strict=True):
                body.append(bytes_of(joined(values), dtype))
        self._parts, self._wave = {}, 0
        return payload_of(tick, known, counts, body)


def payload_of(tick: int, known: int, counts: Sequence[Sequence[int]], body: Iterable[bytes]) -> bytes:
    """Return a payload; `counts`: for each table with rows its number, and its rows in each wave."""
    head = _encode((tick, known, counts))
    return b"".join((LENGTH.pack(len(head)), head, *body))


class Part(NamedTuple):
    """The rows of one table: how many each wave has, and the values of each column."""

    waves: tuple[int, ...]
    columns: tuple[Values, ...]

    def of_wave(self, wave: int) -> tuple[Values, ...]:
        start = sum(self.waves[:wave])
        stop = start + (self.waves[wave] if wave < len(self.waves) else 0)
        return tuple(part_of(each, start, stop) for each in self.columns)

    def where(self, is_kept: Numbers) -> Part:
        """Return the rows for which a column of truth values is true."""
        places = np.flatnonzero(is_kept)
        of_wave = np.repeat(np.arange(len(self.waves)), self.waves)[places]
        waves = np.bincount(of_wave, minlength=len(self.waves)).tolist()
        return Part(tuple(waves), tuple(values_at(each, places) for each in self.columns))


def part_of(values: Values, start: int, stop: int) -> Values:
    return values.part(start, stop) if isinstance(values, Heap) else values[start:stop]


def values_at(values: Values, places: Numbers) -> Values:
    return values.at(places) if isinstance(values, Heap) else values[places]


class Tick(NamedTuple):
    """The rows of a tick, as they were recorded, after so many known kinds; tables without rows are missing."""

    tick: int
    known: int
    tables: dict[str, Part]


class Head(NamedTuple):
    """The head of a payload, and the place of the first column behind it."""

    tick: int
    known: int
    counts: list[list[int]]
    end: int


def read_head(payload: bytes) -> Head:
    """Return the head of a payload, or raise a ValueError."""
    if len(payload) < LENGTH.size:
        raise ValueError("it has no head")
    end = LENGTH.size + LENGTH.unpack_from(payload)[0]
    tick, known, counts = _head(memoryview(payload)[LENGTH.size : end])
    numbers = [each[0] if each else -1 for each in counts]
    if numbers != sorted(set(numbers)) or min((low for each in counts for low in each), default=0) < 0 or known < 0:
        raise ValueError("its head names no rows")
    return Head(tick, known, counts, end)


def read_rows(payload: bytes, shapes: Sequence[Shape]) -> Tick:
    """Return the rows in a payload, or raise a ValueError. The columns are views of its bytes."""
    tick, known, counts, at = read_head(payload)
    tables = dict[str, Part]()
    for number, *waves in counts:
        if number >= len(shapes):
            raise ValueError(f"it names table {number}, and there are {len(shapes)}")
        shape, rows, columns = shapes[number], sum(waves), list[Values]()
        for name, dtype in shape.columns:
            found, at = _column(payload, at, rows, dtype)
            if found is None:
                raise ValueError(f"it ends within {shape.name}.{name}")
            columns.append(found)
        tables[shape.name] = Part(tuple(waves), tuple(columns))
    if at != len(payload):
        raise ValueError(f"{len(payload) - at} bytes follow its last column")
    return Tick(tick, known, tables)


def _column(payload: bytes, at: int, rows: int, dtype: str) -> tuple[Values | None, int]:
    numbers = _LENGTHS if dtype in HEAPS else np.dtype(dtype)
    end = at + rows * numbers.itemsize
    if end > len(payload):
        return None, at
    values = np.frombuffer(payload, numbers, rows, at)
    if dtype not in HEAPS:
        return values, end
    ends = np.cumsum(values, dtype=np.int64)
    stop = end + (int(ends[-1]) if rows else 0)
    return (None, at) if stop > len(payload) else (Heap(np.frombuffer(payload, np.uint8, stop - end, end), ends), stop)
