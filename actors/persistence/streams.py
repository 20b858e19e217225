"""Streams: the columns of integers of messages of one form, each shortened by means of the columns before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple
from zlib import compress

import numpy as np

from actors.persistence.fields import Ints, by_first, from_planes, planes

Blocks = dict[str, bytes]

HALF: Final = 24
"""Bits of the lower part of a number of more than 32 bits."""
_TICK, _AGENT = 0, 1
"""The first columns of every form; its streams have the numbers from 2 on."""
_MASK: Final = (1 << 32) - 1
_FAR: Final = 4
"""The width in bytes from which numbers may be close to numbers of agents, so that differences are tried."""
_FEWER: Final = 0.9
"""The most different values of a key, as a part of the messages: with more values it saves nothing."""


class Stream(NamedTuple):
    """A column of integers, as it is kept.

    Args:
        width: bytes of each, 0 if all are 0.
        base: the column from which the kept values are the differences, modulo 2**32; -1 if the values themselves are
            kept.
        keys: the columns that determine its values. The tick is column 0, the agent column 1; the streams of the form
            come after them.
    """

    width: int
    base: int = -1
    keys: tuple[int, ...] = ()


class StreamWriter:
    """The streams of one form, as they are written.

    Args:
        number: the place of the form.
        agents: the agents of its messages; `ticks`: their ticks, from the first one of the segment.
        blocks: where they are put.
    """

    def __init__(self, number: int, agents: Ints, ticks: Ints, blocks: Blocks) -> None:
        self._number = number
        self._columns = [ticks, agents]
        self._blocks = blocks
        self._bases = [_AGENT]
        """The columns to which another column may be close."""
        self._keys: list[_Key] = []
        """The columns that may determine another column: the agent, once there is a stream, and numbers."""

    def put_number(self, values: Ints) -> tuple[Stream, ...]:
        """Write a column of numbers, and return its streams: numbers above 32 bits take two."""
        if values.max(initial=0) <= _MASK:
            parts = [values]
        elif int(values.max()) >> HALF <= _MASK:
            parts = [values >> HALF, values & (1 << HALF) - 1]
        else:
            return (self.put(values),)
        places = range(len(self._columns), len(self._columns) + len(parts))
        streams = tuple(self.put(part, is_number=True) for part in parts)
        self._bases += places
        self._add_keys(places[0])
        if len(parts) > 1:
            self._add_keys(*places)
        return streams

    def put(self, values: Ints, *, is_number: bool = False) -> Stream:
        """Write a column of integers, and return its stream.

        Args:
            is_number: True if it may be close to other numbers.
        """
        if len(self._columns) == 1 + _AGENT:
            self._add_keys(_AGENT)
        stream, data = self._kept(values, is_number=is_number)
        self._blocks[_name(self._number, len(self._columns))] = data
        self._columns.append(values)
        return stream

    def _kept(self, values: Ints, *, is_number: bool) -> tuple[Stream, bytes]:
        if not values.any():
            return Stream(0), b""
        bases = self._bases if is_number else []
        for base in bases:
            if np.array_equal(values, self._columns[base]):
                return Stream(0, base), b""
        key = min((key for key in self._keys if key.gives(values)), key=lambda key: len(key.first), default=None)
        if key is not None:
            values = values[key.first]
        width = 8 if (values < 0).any() else _width(int(values.max()))
        data = _planes(values, width)
        if key is not None:
            return Stream(width, keys=key.columns), data
        if width >= _FAR and _AGENT in bases:
            differences = _planes(values - self._columns[_AGENT] & _MASK, 4)
            if len(compress(differences, 1)) < len(compress(data, 1)):
                return Stream(4, _AGENT), differences
        return Stream(width), data

    def _add_keys(self, *columns: int) -> None:
        """Add columns as a key, and columns with the tick as another key, if they have fewer values than messages."""
        for each in (columns, (_TICK, *columns)):
            first, inverse = _keyed([self._columns[column] for column in each])
            if len(first) <= _FEWER * len(inverse):
                self._keys.append(_Key(each, first, inverse))


class StreamReader:
    """The streams of one form, as they are read.

    Args:
        number: the place of the form.
        agents: the agents of its messages; `ticks`: their ticks, from the first one of the segment.
    """

    def __init__(self, number: int, agents: Ints, ticks: Ints, blocks: Mapping[str, bytes]) -> None:
        self._number = number
        self._columns = [ticks, agents]
        self._blocks = blocks

    def take(self, stream: Stream) -> Ints:
        values = np.zeros(len(self._columns[_TICK]), dtype=np.int64)
        if stream.width:
            data = self._blocks[_name(self._number, len(self._columns))]
            values = from_planes(data, f"<u{stream.width}").astype(np.int64)
        if stream.keys:
            values = values[_keyed([self._columns[key] for key in stream.keys])[1]]
        if stream.base >= 0:
            values = values + self._columns[stream.base] & _MASK
        self._columns.append(values)
        return values


class _Key(NamedTuple):
    """The columns from which another may follow.

    Args:
        first: the first place of each different value; `inverse`: for each place the index of its value among these.
    """

    columns: tuple[int, ...]
    first: Ints
    inverse: Ints

    def gives(self, values: Ints) -> bool:
        return bool((values == values[self.first][self.inverse]).all())


def _keyed(columns: Sequence[Ints]) -> tuple[Ints, Ints]:
    """Return the first place of each different value of columns, and for each place the index of its value."""
    first, inverse = by_first(columns[0])
    for column in columns[1:]:
        first, inverse = by_first(inverse << 32 | by_first(column)[1])
    return first, inverse


def _width(greatest: int) -> int:
    return next(width for width in (1, 2, 4, 8) if greatest < 1 << 8 * width)


def _planes(values: Ints, width: int) -> bytes:
    return planes(values.astype(f"<u{width}"))


def _name(number: int, stream: int) -> str:
    return f"{number}.{stream}"
