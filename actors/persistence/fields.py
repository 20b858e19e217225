"""Fields of msgpack messages, of many at once: found, read into columns, and written back to the same bytes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Ints = NDArray[np.signedinteger[Any]]

PAD: Final = 16
"""The bytes that follow the last message, so that a number may be read at its last byte."""

_MIX: Final = np.uint64(0x9E3779B97F4A7C15)


class UnusualError(Exception):
    """Messages cannot be taken apart."""


def planes(values: NDArray[Any]) -> bytes:
    """Return the first bytes of all values, then the second bytes, and so on: this order compresses best."""
    return values.view(np.uint8).reshape(len(values), values.itemsize).T.tobytes()


def from_planes(data: bytes, dtype: str) -> NDArray[Any]:
    width = np.dtype(dtype).itemsize
    return np.frombuffer(data, np.uint8).reshape(width, -1).T.copy().view(dtype).reshape(-1)


_WIDTH: Bytes = np.zeros(256, dtype=np.uint8)
"""The width of a msgpack value by its first byte; 0 if it takes more than that to know it."""
_WIDTH[:0x80], _WIDTH[0xE0:] = 1, 1
_WIDTH[0xA0:0xC0] = np.arange(1, 33)
for _first, _its_width in zip(range(0xC0, 0xD4), (1, 0, 1, 1, *[0] * 6, 5, 9, 2, 3, 5, 9, 2, 3, 5, 9), strict=True):
    _WIDTH[_first] = _its_width

IS_NUMBER: Final = np.zeros(256, dtype=np.bool_)
"""True for the first bytes of an integer from 0."""
IS_NUMBER[:0x80], IS_NUMBER[0xCC:0xD0] = True, True
FLOAT: Final = 0xCB
"""The first byte of a floating-point number of eight bytes."""

_SIZED: Final = {0xD9: ">u1", 0xDA: ">u2", 0xDB: ">u4", 0xC4: ">u1", 0xC5: ">u2", 0xC6: ">u4"}
"""`{first byte: the number after it}` of texts and bytes, which begin with their length."""


def widths_at(data: Bytes, at: Ints) -> Ints:
    """Return the widths of the values that begin at these places; 0 for a map, and for a value with a map in it."""
    first = data[at]
    widths: Ints = _WIDTH[first].astype(np.int64)
    for tag, dtype in _SIZED.items():
        those = np.flatnonzero(first == tag)
        if len(those):
            widths[those] = 1 + np.dtype(dtype).itemsize + _read(data, at[those] + 1, dtype)
    arrays = np.flatnonzero(first & 0xF0 == 0x90)
    if len(arrays):
        widths[arrays] = _array_widths(data, at[arrays], (first[arrays] & 15).astype(np.int64))
    return widths


def _array_widths(data: Bytes, at: Ints, counts: Ints) -> Ints:
    ends, known = at + 1, np.ones(len(at), dtype=np.bool_)
    for place in range(int(counts.max(initial=0))):
        some = np.flatnonzero((counts > place) & known)
        widths = widths_at(data, ends[some])
        known[some] = widths > 0
        ends[some] += widths
    return np.where(known & (ends <= len(data) - PAD), ends - at, 0)


def _rows(data: Bytes, width: int) -> NDArray[np.uint8]:
    """Return the data as overlapping rows: row i begins at byte i."""
    return np.lib.stride_tricks.sliding_window_view(data, width, writeable=data.flags.writeable)


def _read(data: Bytes, at: Ints, dtype: str) -> Ints:
    """Return the numbers of this type that begin at these places, as 64 bits."""
    rows = np.ascontiguousarray(_rows(data, np.dtype(dtype).itemsize)[at])
    return rows.view(dtype).reshape(-1).astype(np.int64)


class Numbers:
    """A column of integers from 0."""

    def __init__(self, values: Ints) -> None:
        self.values = values

    @cached_property
    def widths(self) -> Ints:
        bounds = np.array([0x80, 0x100, 0x10000, 1 << 32])
        found: Ints = np.array([1, 2, 3, 5, 9])[np.searchsorted(bounds, self.values, side="right")]
        return found

    @classmethod
    def read(cls, data: Bytes, at: Ints) -> Numbers:
        """Return the integers that begin at these places.

        Raises:
            UnusualError: one is negative, too large, or no integer.
        """
        first = data[at]
        values = first.astype(np.int64)
        for tag, dtype in (0xCC, ">u1"), (0xCD, ">u2"), (0xCE, ">u4"), (0xCF, ">u8"):
            those = first == tag
            if those.any():
                values[those] = _read(data, at[those] + 1, dtype)
        if not IS_NUMBER[first].all() or (values < 0).any():
            raise UnusualError
        return cls(values)

    def taken(self, places: Any) -> Numbers:
        return Numbers(self.values[places])

    def write(self, data: Bytes, at: Ints) -> None:
        ones = self.widths == 1
        data[at[ones]] = self.values[ones]
        for width, tag, dtype in (2, 0xCC, ">u1"), (3, 0xCD, ">u2"), (5, 0xCE, ">u4"), (9, 0xCF, ">u8"):
            those = self.widths == width
            if those.any():
                data[at[those]] = tag
                rows = self.values[those].astype(dtype).view(np.uint8).reshape(-1, width - 1)
                _rows(data, width - 1)[at[those] + 1] = rows


class Floats:
    """A column of floating-point numbers.

    Args:
        bits: of each, as an integer.
    """

    def __init__(self, bits: Ints) -> None:
        self.bits = bits

    @cached_property
    def widths(self) -> Ints:
        return np.full(len(self.bits), 9)

    @classmethod
    def read(cls, data: Bytes, at: Ints) -> Floats:
        """Return those that begin at these places."""
        return cls(_read(data, at + 1, ">i8"))

    def taken(self, places: Any) -> Floats:
        return Floats(self.bits[places])

    def write(self, data: Bytes, at: Ints) -> None:
        data[at] = FLOAT
        _rows(data, 8)[at + 1] = self.bits.astype(">i8").view(np.uint8).reshape(-1, 8)


class Texts:
    """A column of byte strings, each of which may stand in many places.

    Args:
        texts: the different strings; `codes`: for each place, the index of its string in `texts`.
        sizes: the sizes of the texts, if they are known.
    """

    def __init__(self, texts: Sequence[bytes], codes: Ints, sizes: Ints | None = None) -> None:
        self.texts = texts
        self.codes = codes
        self.sizes = np.array([len(text) for text in texts], dtype=np.int64) if sizes is None else sizes

    @cached_property
    def widths(self) -> Ints:
        return self.sizes[self.codes]

    @classmethod
    def read(cls, data: Bytes, at: Ints, widths: Ints) -> Texts:
        """Return those that begin at these places and have these widths, in the order of their first."""
        texts, codes, firsts = list[bytes](), np.zeros(len(at), dtype=np.int64), [np.zeros(0, dtype=np.int64)]
        for width in np.unique(widths).tolist():
            those = np.flatnonzero(widths == width)
            rows = _rows(data, width)[at[those]] if width else np.zeros((len(those), 0), np.uint8)
            first, inverse = _different(rows)
            codes[those] = len(texts) + inverse
            texts += [row.tobytes() for row in rows[first]]
            firsts.append(those[first])
        order = np.argsort(np.concatenate(firsts))
        return cls([texts[place] for place in order.tolist()], _ranks(order)[codes])

    def taken(self, places: Any) -> Texts:
        return Texts(self.texts, self.codes[places], self.sizes)

    def write(self, data: Bytes, at: Ints) -> None:
        for width in np.unique(self.sizes).tolist():
            mine = np.flatnonzero(self.sizes == width)
            those = self.widths == width
            if width and those.any():
                rows = np.frombuffer(b"".join(self.texts[place] for place in mine.tolist()), np.uint8)
                numbers = np.searchsorted(mine, self.codes[those])
                _rows(data, width)[at[those]] = rows.reshape(-1, width)[numbers]


def _different(rows: NDArray[np.uint8]) -> tuple[Ints, Ints]:
    """Return the first place of each different row, ascending, and for each row its index among these."""
    words = np.zeros((len(rows), -(-rows.shape[1] // 8) * 8), dtype=np.uint8)
    words[:, : rows.shape[1]] = rows
    keys = np.zeros(len(rows), dtype=np.uint64)
    for column in words.view(np.uint64).T:
        keys = (keys ^ column) * _MIX
        keys ^= keys >> np.uint64(29)
    first, inverse = by_first(keys)
    if (rows != rows[first][inverse]).any():
        raise UnusualError  # two rows have the same key, which takes about 2^32 rows
    return first, inverse


def by_first(keys: NDArray[Any]) -> tuple[Ints, Ints]:
    """Return the first place of each different key, ascending, and for each place the index of its key among these."""
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return first[order], _ranks(order)[inverse]


def _ranks(order: Ints) -> Ints:
    ranks = np.empty_like(order)
    ranks[order] = np.arange(len(order))
    return ranks
