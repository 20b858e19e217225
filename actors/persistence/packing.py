"""Packing: the ticks of a segment as compressed columns, made in this process or in another one.

It depends on the ticks alone, and takes a processor as long as the ticks themselves took. So `Packers` (`packers.py`)
let other processes do it. Each of them runs this module: it imports no more than packing needs.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterable
from functools import partial
from struct import Struct
from typing import Any, NamedTuple
from zlib import DEFLATED, Z_DEFAULT_STRATEGY, Z_FILTERED, compressobj

import msgspec

from actors.persistence import blocks

WINDOW = -15
"""The window of raw deflate, for the reader, too."""
_LEVEL, _MEMORY = 6, 9
LENGTH = Struct("<I")
"""The length of a payload, before it, as a packer reads it."""

Payloads = Callable[[], Iterable[bytes]]
"""A function that gives the payloads of consecutive ticks, each time it is called."""


class Packed(NamedTuple):
    """The ticks of a segment, packed: the forms of their messages, and their columns, compressed."""

    forms: list[Any]
    columns: dict[str, bytes]


Pack = Callable[[int, Payloads], Packed]
"""A function that packs ticks, given the first of them and their payloads."""


def packed(tick: int, payloads: Payloads) -> Packed:
    """Return ticks as compressed columns."""
    forms, columns = blocks.pack(tick, payloads)
    return Packed(forms, {name: _compressed(name, data) for name, data in columns.items()})


def _compressed(name: str, data: bytes) -> bytes:
    """Return a block as raw deflate. Numbers have few repeats, and compress best without a search for repeats."""
    strategy = Z_DEFAULT_STRATEGY if name in (blocks.WHOLE, "contexts") or name.endswith(".values") else Z_FILTERED
    deflate = compressobj(_LEVEL, DEFLATED, WINDOW, _MEMORY, strategy)
    return deflate.compress(data) + deflate.flush()


if __name__ == "__main__":  # pack ticks for a run: its arguments are the first tick, its input the payloads
    for number in (signal.SIGINT, signal.SIGTERM):  # the run decides when it ends
        signal.signal(number, signal.SIG_IGN)
    read, payloads = sys.stdin.buffer.read, list[bytes]()
    while head := read(LENGTH.size):
        payloads.append(read(LENGTH.unpack(head)[0]))
    sys.stdout.buffer.write(msgspec.msgpack.encode(packed(int(sys.argv[1]), partial(iter, payloads))))
