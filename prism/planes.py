"""Columns as bytes that compress well, and their compression; and whole columns in the form that is the shortest.

Numbers that mostly ascend become differences: the first number, then each less the one before, modulo their width. All
are put in planes: first the lowest byte of every number, then the next one. So a plane of zeros takes a few bytes.

A whole column that is sealed has one of these forms:

plain      numbers in planes; of texts the lengths in planes, then their bytes
ascending  numbers as differences, in planes
distinct   the number of distinct values; the place of each row's among them, in planes; the distinct values: numbers
by their bits, ascending, as differences in planes; texts as they first occur
"""

from __future__ import annotations

from typing import Final, Literal

import numpy as np
import zstandard

from prism.rows import LENGTH, Bytes, Heap, Numbers, Values
from prism.tables import HEAPS

_DESCENTS: Final = 8  # numbers become differences if at most one in so many is less than the one before it


def in_planes(values: Numbers, *, may_ascend: bool = True) -> tuple[bool, bytes]:
    """Return whether little-endian numbers became differences, and their bytes in planes."""
    width = values.itemsize
    may_ascend = may_ascend and values.dtype.kind != "f"
    ascends = may_ascend and np.count_nonzero(values[1:] < values[:-1]) * _DESCENTS < len(values)
    numbers = values.view(f"<u{width}")
    if ascends:
        numbers = np.append(numbers[:1], numbers[1:] - numbers[:-1])
    planes, of_numbers = np.empty((width, len(values)), np.uint8), numbers.view(np.uint8).reshape(-1, width)
    for place in range(width):  # with one transposition it takes four times as long
        planes[place] = of_numbers[:, place]
    return bool(ascends), planes.tobytes()


def out_of_planes(planes: Bytes, dtype: str, count: int, *, ascends: bool = False) -> Numbers:
    """Return numbers from their bytes in planes, or of differences if the numbers ascend.

    Raises:
        ValueError: these are not the bytes of so many numbers.
    """
    width = np.dtype(dtype).itemsize
    if len(planes) != count * width:
        raise ValueError(f"{len(planes):,} bytes are not {count:,} numbers of {width}")
    of_numbers = np.empty((count, width), np.uint8)
    for place in range(width):
        of_numbers[:, place] = planes[place * count : (place + 1) * count]
    numbers = of_numbers.view(f"<u{width}").ravel()
    return (np.cumsum(numbers, dtype=numbers.dtype) if ascends else numbers).view(dtype)


def compressed(data: bytes, level: int = 3) -> bytes:
    """Return bytes compressed with zstd. Level 9 takes five times as long as 3, and makes 3% fewer bytes."""
    return zstandard.ZstdCompressor(level=level).compress(data)


def expanded(data: bytes, most: int) -> bytes:
    """Return what was compressed, with no more memory than for the most bytes that it may have.

    Raises:
        ValueError: it has more, or was not compressed like this.
    """
    try:
        size = zstandard.frame_content_size(data)
        if not 0 <= size <= most:
            raise ValueError(f"it expands to more than {most:,} bytes, or does not say to how many")
        return zstandard.ZstdDecompressor().decompress(data, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise ValueError(str(error)) from None


Form = Literal["plain", "ascending", "distinct"]

_LENGTHS, _WIDE = np.dtype("<u4"), np.dtype("<u8")


def length_of(values: Values) -> int:
    return _LENGTHS.itemsize * len(values) + len(values.data) if isinstance(values, Heap) else int(values.nbytes)


def seal(values: Values) -> tuple[Form, bytes]:
    distinct = values
    if isinstance(values, Heap):
        ascends, data, known = False, _texts_in_planes(values), dict[bytes, int]()
        places = np.array([known.setdefault(text, len(known)) for text in values.values()])
        distinct = Heap.of([*known])
    else:
        ascends, data = in_planes(values)
        if values.dtype.itemsize == _WIDE.itemsize:  # of narrower numbers the places would be no shorter
            distinct, places = np.unique(values.view(_WIDE), return_inverse=True)
    found = compressed(data)
    if 2 * len(distinct) < len(values):
        of_rows = in_planes(places.astype(_LENGTHS), may_ascend=False)[1]
        of_distinct = _texts_in_planes(distinct) if isinstance(distinct, Heap) else in_planes(distinct)[1]
        short = compressed(b"".join((LENGTH.pack(len(distinct)), of_rows, of_distinct)))
        if len(short) < len(found):
            return "distinct", short
    return "ascending" if ascends else "plain", found


def unseal(data: bytes, form: Form, dtype: str, rows: int, length: int) -> Values:
    """Return a column, with no more than a few times the memory of its length, which is its bytes in payloads.

    Raises:
        ValueError, IndexError: these are not the bytes of such a column.
    """
    # Distinct values are at most as long as all, and their number and the places take 4 bytes each.
    raw = np.frombuffer(expanded(data, 2 * length + _LENGTHS.itemsize), np.uint8)
    values: Values
    if form == "distinct":
        values = _distinct(raw, dtype, rows, length)
    elif dtype in HEAPS:
        values = _texts(raw, rows)
    else:
        values = out_of_planes(raw, dtype, rows, ascends=form == "ascending")
    if (len(values), length_of(values)) != (rows, length):
        raise ValueError(f"it has other than {rows:,} rows of {length:,} bytes")
    return values


def _distinct(raw: Bytes, dtype: str, rows: int, length: int) -> Values:
    first, places, rest = np.split(raw, [_LENGTHS.itemsize, (1 + rows) * _LENGTHS.itemsize])
    count, of_rows = int(first.view(_LENGTHS)[0]), out_of_planes(places, _LENGTHS.str, rows)
    if dtype not in HEAPS:
        return out_of_planes(rest, _WIDE.str, count, ascends=True)[of_rows].view(dtype)
    texts = _texts(rest, count)
    if rows * _LENGTHS.itemsize + int(texts.lengths[of_rows].sum()) != length:  # before they are made
        raise ValueError(f"it has other than {length:,} bytes")
    values = texts.values()
    return Heap.of([values[place] for place in of_rows.tolist()])


def _texts_in_planes(texts: Heap) -> bytes:
    return in_planes(texts.lengths.astype(_LENGTHS), may_ascend=False)[1] + texts.data.tobytes()


def _texts(raw: Bytes, count: int) -> Heap:
    start = count * _LENGTHS.itemsize
    ends = np.cumsum(out_of_planes(raw[:start], _LENGTHS.str, count), dtype=np.int64)
    if len(raw) != start + (int(ends[-1]) if count else 0):
        raise ValueError(f"it has other than {count:,} texts")
    return Heap(raw[start:], ends)
