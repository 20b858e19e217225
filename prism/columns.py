"""A world's state as named columns of msgpack, in pieces small enough to be made between two events.

A million agents are a dozen columns of a million values. Encoding one at once would hold up everything else for tens
of milliseconds, so a column comes as pieces of at most `PIECE` values, under the same name, in order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple, TypeVar

import msgspec

PIECE = 32_768
"""Values in a piece: about 2 ms of encoding."""

T = TypeVar("T")
_encode = msgspec.msgpack.Encoder(enc_hook=list).encode  # a deque is a list here


class Column(NamedTuple):
    """A piece of a column: msgpack of a list of values."""

    name: str
    data: bytes


def pack(name: str, values: Sequence[Any]) -> Iterator[Column]:
    """A list as pieces; an empty one is one empty piece."""
    for start in range(0, len(values) or 1, PIECE):
        yield Column(name, _encode(values[start : start + PIECE]))


def pack_items(name: str, items: Mapping[Any, Any], piece: int = PIECE) -> Iterator[Column]:
    """A dictionary as pieces of `[key, value]` pairs in its order.

    Args:
        piece: fewer of them where each is large.
    """
    pairs = iter(items.items())
    first = True
    while (batch := list(islice(pairs, piece))) or first:
        yield Column(name, _encode(batch))
        first = False


class Columns:
    """Columns to be read back, each exactly once.

    Args:
        pieces: as they were written.
    """

    def __init__(self, pieces: Iterable[Column]) -> None:
        self._pieces: dict[str, list[bytes]] = {}
        for name, data in pieces:
            self._pieces.setdefault(name, []).append(data)

    def values(self, name: str, of: type[T]) -> list[T]:
        """The values of a column.

        Raises:
            KeyError: there is no such column.
            msgspec.DecodeError: it holds something else.
        """
        decode = msgspec.msgpack.Decoder(list[of]).decode  # type: ignore[valid-type]  # built from the argument
        return [value for piece in self._pieces.pop(name) for value in decode(piece)]

    def value(self, name: str, of: type[T]) -> T:
        """The only value of a column."""
        (only,) = self.values(name, of)
        return only

    def items(self, name: str, key: type[T], value: Any) -> dict[T, Any]:
        """A dictionary from its pairs, in its order."""
        return dict(self.values(name, tuple[key, value]))  # type: ignore[valid-type]

    @property
    def unread(self) -> list[str]:
        """The names of the columns nobody has read."""
        return sorted(self._pieces)
