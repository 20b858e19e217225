"""Packing: the ticks of a segment as compressed columns, made in this process or in another one.

It depends on the ticks alone, and takes a processor as long as the ticks themselves took. So `Packers` (`packers.py`)
let other processes do it. Each of them runs this module: it imports no more than packing needs.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection
from typing import Any, NamedTuple
from zlib import DEFLATED, Z_DEFAULT_STRATEGY, Z_FILTERED, compressobj

import msgspec

from actors.persistence import blocks

WINDOW = -15
"""The window of raw deflate, for the reader, too."""
_LEVEL, _MEMORY = 6, 9

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


def serve(connection: Connection) -> None:
    """Pack ticks for a run until it closes the connection or is gone.

    Each time it sends the first tick, the payloads one by one, and an empty message.
    """
    with suppress(EOFError, OSError):
        while True:
            tick, payloads = int(connection.recv_bytes()), list[bytes]()
            while payload := connection.recv_bytes():
                payloads.append(payload)
            connection.send_bytes(msgspec.msgpack.encode(packed(tick, partial(iter, payloads))))


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM):  # the run decides when it ends
        signal.signal(number, signal.SIG_IGN)
    serve(Connection(int(sys.argv[1])))
