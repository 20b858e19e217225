"""Columns of numbers as bytes that compress well, and their compression.

Numbers that mostly ascend become differences: the first number, then each less the one before, modulo their width. All
are put in planes: first the lowest byte of every number, then the next one. So a plane of zeros takes a few bytes.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import zstandard
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Numbers = NDArray[Any]

_DESCENTS: Final = 8
"""Numbers become differences if at most one in so many is less than the one before it."""


def in_planes(values: Numbers, *, may_ascend: bool = True) -> tuple[bool, bytes]:
    """Return whether little-endian numbers became differences, and their bytes in planes.

    Args:
        may_ascend: False never makes differences.
    """
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
    """Return numbers from their bytes in planes.

    Args:
        ascends: whether they became differences.

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
    """Return what was compressed. No more memory is taken than for the most bytes that it may have.

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
