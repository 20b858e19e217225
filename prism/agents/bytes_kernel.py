"""Numbers and texts as msgpack has them, and payloads of the journal as `prism.rows` has them, written by kernels."""

from __future__ import annotations

from typing import Any

from prism.kernels import compiled_as, kernel

NUMBER_BYTES = 9
"""The most bytes of a number."""
LENGTH_BYTES = 4
"""The bytes of the length of a payload's head."""


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


@kernel
def put_rows(out: Any, at: Any, numbers: Any, ends: Any, tick: Any) -> Any:
    """Write how many rows each wave of a tick has in each table that has any; return the place after that."""
    head, waves = at, ends.shape[2]
    out[head] = 0x90  # a list, and how long it is: no run has more than 15 such tables
    at += 1
    for table in range(len(numbers)):
        before, count = ends[table, tick - 1, waves - 1] if tick else 0, waves
        while count and ends[table, tick, count - 1] == (ends[table, tick, count - 2] if count > 1 else before):
            count -= 1  # the waves after the last one with rows
        if count:
            out[head] += 1
            out[at] = 0x91 + count
            at = put_number(out, at + 1, numbers[table])
            for wave in range(count):
                at = put_number(out, at, ends[table, tick, wave] - before)
                before = ends[table, tick, wave]
    return at


@kernel
def write_payloads(
    first: Any, known: Any, numbers: Any, ends: Any, source: Any, bounds: Any, out: Any, out_ends: Any
) -> None:
    """Write the payloads of ticks from the first on, one after the other.

    Args:
        known: the kinds known before each tick.
        numbers: of the tables; ends: of each table, the rows up to the end of each wave of each tick.
        source: the bytes of all columns; bounds: of each column, the place where each tick begins in it, and its end.
        out_ends: gets the place after each payload.
    """
    at = 0
    for tick in range(len(known)):
        # 1. The head, and before it the number of its bytes.
        start = at
        out[at + LENGTH_BYTES] = 0x93  # a list of three
        at = put_number(out, at + LENGTH_BYTES + 1, first + tick)
        at = put_rows(out, put_number(out, at, known[tick]), numbers, ends, tick)
        length = at - start - LENGTH_BYTES
        for byte in range(LENGTH_BYTES):
            out[start + byte] = length >> 8 * byte & 0xFF
        # 2. The columns.
        for column in range(len(bounds)):
            at = put_bytes(out, at, source, bounds[column, tick], bounds[column, tick + 1])
        out_ends[tick] = at
