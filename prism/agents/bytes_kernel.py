"""Numbers and texts as msgpack has them, written by kernels."""

from __future__ import annotations

from typing import Any

from prism.kernels import compiled_as, kernel

NUMBER_BYTES = 9


@kernel
def put_number(out: Any, at: Any, number: Any) -> Any:
    """Write a whole number from 0 to 2**63 - 1 as msgpack does; return the place after it."""
    if number < 1 << 7:
        out[at] = number
        return at + 1
    if number < 1 << 8:
        out[at], out[at + 1] = 0xCC, number
        return at + 2
    if number < 1 << 16:
        out[at], out[at + 1], out[at + 2] = 0xCD, number >> 8, number & 0xFF
        return at + 3
    size = 4 if number < 1 << 32 else 8
    out[at] = 0xCE if size == 4 else 0xCF  # the bytes that say how many follow
    for byte in range(size):
        out[at + size - byte] = number >> 8 * byte & 0xFF
    return at + size + 1


def _bytes_one_by_one(out: Any, at: Any, source: Any, start: Any, stop: Any) -> Any:
    for place in range(start, stop):
        out[at] = source[place]
        at += 1
    return at


@compiled_as(_bytes_one_by_one)
def put_bytes(out: Any, at: Any, source: Any, start: Any, stop: Any) -> Any:
    """Write the bytes from `start` to before `stop` of a source; return the place after them."""
    out[at : at + stop - start] = source[start:stop]
    return at + stop - start
