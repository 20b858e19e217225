"""Bundles: pieces of columns that are compressed together, for checkpoints.

What all agents have in common comes first, in bundles of about a megabyte. Then comes one bundle for each block of
agents, with a piece of each column that has values of single agents. So a block can be read, or made by another
process, without any other one. The bytes of a bundle follow from the world alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Final

import msgspec
import numpy as np

from prism.columns import Column, piece_of
from prism.planes import compressed, expanded

AGENTS: Final = "agents"
"""The column with which a block begins: the numbers of its agents."""
AGENTS_A_BLOCK: Final = 2_048
"""The agents of a block. A piece with fifty values for each takes some milliseconds of encoding."""
BUNDLE_BYTES = 1 << 20
"""The least bytes of the pieces in a bundle of what agents have in common. The thread that writes waits for its turn
with the loop a few times for each bundle: with a bundle for each piece it would fall behind."""
UNPACKED_MAX: Final = 1 << 28
"""The most bytes of the pieces in one bundle."""

_encode = msgspec.msgpack.Encoder().encode
_pieces = msgspec.msgpack.Decoder(list[Column]).decode
_pieces_or_number: Callable[[bytes], list[Column] | int] = msgspec.msgpack.Decoder(list[Column] | int).decode
_values = msgspec.msgpack.Decoder(list[msgspec.Raw]).decode


class Bundles(msgspec.Struct, frozen=True):
    """All bundles of a world, packed. Iterating yields their pieces."""

    common: list[bytes]  # those of what agents have in common; blocks: those of each block of agents, in order
    blocks: list[bytes]

    @staticmethod
    def of(pieces: Iterable[Column | bytes]) -> Bundles:
        """Return the bundles of these pieces and of blocks that are packed already."""
        found = Bundles([], [])
        bundler = Bundler(found.add)
        for piece in pieces:
            bundler.add(piece)
        bundler.end()
        return found

    def add(self, bundle: list[Column] | bytes) -> None:
        """Add the next bundle, which is of a block if it is packed."""
        if isinstance(bundle, bytes):
            self.blocks.append(bundle)
        else:
            self.put(packed(bundle), bundle)

    def put(self, payload: bytes, content: list[Column]) -> None:
        """Add the next bundle, packed, given its pieces."""
        (self.blocks if is_block(content) else self.common).append(payload)

    def about(self, agents: range) -> Bundles:
        """Return what all have in common, and the blocks with these agents; at least one."""
        first = min(agents.start // AGENTS_A_BLOCK, len(self.blocks) - 1)
        last = max(first, (agents.stop - 1) // AGENTS_A_BLOCK)
        return Bundles(self.common, self.blocks[first : last + 1])

    def release(self) -> None:
        self.common.clear()
        self.blocks.clear()

    def __iter__(self) -> Iterator[Column]:
        for bundle in chain(self.common, self.blocks):
            yield from unpacked(bundle)


class Bundler:
    """Pieces of columns on their way into bundles.

    Args:
        put: takes each bundle, once it is complete.
    """

    def __init__(self, put: Callable[[list[Column] | bytes], None]) -> None:
        self._put = put
        self._bundle: list[Column] = []
        self._bytes = 0

    def add(self, piece: Column | bytes) -> None:
        """Add the next piece, or a block that is packed already."""
        if isinstance(piece, bytes):
            self.end()
            self._put(piece)
            return
        if piece.name == AGENTS:
            self.end()
        self._bundle.append(piece)
        self._bytes += len(piece.data)
        if self._bytes >= BUNDLE_BYTES and not is_block(self._bundle):
            self.end()

    def end(self) -> None:
        """Complete the bundle that is under way."""
        if self._bundle:
            self._put(self._bundle)
            self._bundle, self._bytes = [], 0


def blocks_in(agents: range) -> Iterator[range]:
    start = agents.start
    while start < agents.stop:
        stop = min(agents.stop, (start // AGENTS_A_BLOCK + 1) * AGENTS_A_BLOCK)
        yield range(start, stop)
        start = stop


def begins_and_ends(agents: range, size: int) -> tuple[bool, bool]:
    """Return whether a block begins with the first of these, and whether one ends with the last."""
    return agents.start % AGENTS_A_BLOCK == 0, agents.stop % AGENTS_A_BLOCK == 0 or agents.stop == size


def is_block(bundle: list[Column]) -> bool:
    return bool(bundle) and bundle[0].name == AGENTS


def joined(parts: Iterable[Iterable[Column]]) -> list[Column]:
    """Return one block, of whose agents each part has some: one piece of each column, with the values of all parts."""
    columns: dict[str, list[Column]] = {}
    for piece in chain.from_iterable(parts):
        columns.setdefault(piece.name, []).append(piece)
    return [
        piece_of(name, np.concatenate([piece.numbers for piece in pieces]))
        if pieces[0].dtype
        else Column(name, _encode([value for piece in pieces for value in _values(piece.data)]))
        for name, pieces in columns.items()
    ]


def packed(content: list[Column] | int) -> bytes:
    """Return a bundle, or the number of them, as bytes: msgpack, compressed."""
    return compressed(_encode(content), 1)


def unpacked(payload: bytes) -> list[Column]:
    return _pieces(expanded(payload, UNPACKED_MAX))


def unpacked_or_number(payload: bytes) -> list[Column] | int:
    """Return the pieces of a bundle, or the number of bundles.

    Raises:
        ValueError: it is neither.
    """
    return _pieces_or_number(expanded(payload, UNPACKED_MAX))
