"""A world's state as named columns of msgpack, in pieces small enough to be made between two events.

A million agents are a dozen columns of a million values. Encoding one at once would hold up everything else for tens
of milliseconds, so a column comes as pieces of at most `PIECE` values, under the same name, in order.

A dictionary is two columns, its keys and its values, and a dictionary of lists three: keys, lengths, and all lists laid
end to end. No tuple or list is made for an entry: with a million entries that took as long as all the rest of a copy,
and each was one more thing for the garbage collector to look at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple, TypeVar

import msgspec

PIECE = 32_768
"""Values in a piece: about 2 ms of encoding."""

LISTS_A_PIECE = PIECE // 4
"""Lists that are looked at in one go, however short they are."""

T = TypeVar("T")
V = TypeVar("V")
_encode = msgspec.msgpack.Encoder().encode


class Column(NamedTuple):
    """A piece of a column: msgpack of a list of values."""

    name: str
    data: bytes


def pack(name: str, values: Iterable[Any], piece: int = PIECE) -> Iterator[Column]:
    """Values as pieces; none at all are one empty piece.

    Args:
        piece: fewer values where each is large.
    """
    left, first = iter(values), True
    while (batch := list(islice(left, piece))) or first:
        yield Column(name, _encode(batch))
        first = False


def pack_items(name: str, items: Mapping[Any, Any], piece: int = PIECE) -> Iterator[Column]:
    """A dictionary in its order: the column `name.key`, and its values as `name`."""
    yield from pack(f"{name}.key", items)
    yield from pack(name, items.values(), piece)


def pack_lists(name: str, lists: Mapping[Any, Sequence[Any]], piece: int = PIECE) -> Iterator[Column]:
    """A dictionary of lists in its order: the columns `name.key` and `name.length`, and their values as `name`.

    Args:
        piece: values in a piece, about: it ends with a list.
    """
    yield from pack(f"{name}.key", lists)
    left, first = iter(lists.values()), True
    while (batch := list(islice(left, LISTS_A_PIECE))) or first:
        lengths = list(map(len, batch))  # here and not in a pass of their own, while the lists are in the cache
        yield Column(f"{name}.length", _encode(lengths))
        step = max(1, len(batch) * piece // max(1, sum(lengths)))
        for start in range(0, max(1, len(batch)), step):
            yield Column(name, _encode(list(chain.from_iterable(batch[start : start + step]))))
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
        return list(self._each(name, of))

    def value(self, name: str, of: type[T]) -> T:
        """The only value of a column."""
        (only,) = self.values(name, of)
        return only

    def items(self, name: str, key: type[T], value: Any) -> dict[T, Any]:
        """A dictionary from its keys and values, in its order."""
        return dict(zip(self._each(f"{name}.key", key), self._each(name, value), strict=True))

    def lists(self, name: str, key: type[T], of: type[V]) -> dict[T, list[V]]:
        """A dictionary of lists, in its order.

        Raises:
            ValueError: the columns do not fit each other.
        """
        lengths, values = self.values(f"{name}.length", int), self.values(name, of)
        if sum(lengths) != len(values):
            raise ValueError(f"{name}: expected {sum(lengths)} values, got {len(values)}")
        left, keys = iter(values), self._each(f"{name}.key", key)
        return {each: list(islice(left, length)) for each, length in zip(keys, lengths, strict=True)}

    @property
    def unread(self) -> list[str]:
        """The names of the columns nobody has read."""
        return sorted(self._pieces)

    def _each(self, name: str, of: Any) -> Iterator[Any]:
        """The values of a column, a piece decoded at a time."""
        decode = msgspec.msgpack.Decoder(list[of]).decode
        return chain.from_iterable(map(decode, self._pieces.pop(name)))
