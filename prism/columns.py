"""A world's state as named columns of msgpack, cut into pieces that are quick to encode.

A million agents are a dozen columns of a million values. Encoding one column at once would block everything else for
tens of milliseconds, so a column is several pieces of at most `PIECE` values, with the same name and in order.

A dictionary becomes two columns, its keys and its values. A dictionary of lists becomes three: keys, lengths, and the
values of all lists one after the other. No tuple or list is made for an entry: with a million entries that took as long
as all the rest of a copy, and the garbage collector had to look at each of them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple, TypeVar, overload

import msgspec
import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
"""Whole numbers in memory, such as one for each person."""
Floats = NDArray[np.float64]
"""Numbers in memory."""

PIECE = 32_768
"""Values in a piece: about 2 ms of encoding."""

BLOCK = 1 << 18
"""Values that are copied or looked up at once: of a million people's lists, temporary arrays would take as much memory
as all else."""

T = TypeVar("T")
V = TypeVar("V")
N = TypeVar("N", bound=np.generic)
_encode = msgspec.msgpack.Encoder().encode


class OnAccess(Sequence[T]):
    """A sequence whose items are made when somebody asks for them."""

    @abstractmethod
    def made(self, place: int) -> T:
        """Return the item at a place, from 0 on."""

    def at(self, places: Ints) -> list[T]:
        return [*map(self.made, places.tolist())]

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> list[T]: ...
    def __getitem__(self, place: int | slice) -> T | list[T]:
        if isinstance(place, slice):
            return self.at(np.arange(*place.indices(len(self))))
        return self.made(range(len(self))[place])


class Column(NamedTuple):
    """A piece of a column: its name, and msgpack of a list of values."""

    name: str
    data: bytes


def pack(name: str, values: Iterable[Any], piece: int = PIECE) -> Iterator[Column]:
    """Yield the values as pieces; no values are one empty piece.

    Args:
        piece: fewer values where each is large.
    """
    left, first = iter(values), True
    while (batch := list(islice(left, piece))) or first:
        yield Column(name, _encode(batch))
        first = False


def pack_array(
    name: str, values: NDArray[Any], kept: Callable[[NDArray[Any]], NDArray[Any]] = lambda piece: piece
) -> Iterator[Column]:
    """Yield the values of an array as pieces; no values are one empty piece.

    Args:
        kept: returns what is kept of the values of a piece.
    """
    for start in range(0, max(1, len(values)), PIECE):
        yield piece_of(name, kept(values[start : start + PIECE]))


def piece_of(name: str, values: NDArray[Any]) -> Column:
    return Column(name, _encode(values.tolist()))


def pack_items(name: str, items: Mapping[Any, Any]) -> Iterator[Column]:
    """Yield a dictionary in its order: the column `name.key`, then the values as `name`."""
    yield from pack(f"{name}.key", items)
    yield from pack(name, items.values())


class Rows(NamedTuple):
    """Lists of whole numbers in three arrays.

    Args:
        keys: the owner of each list.
        lengths: of each list.
        values: of all lists, one after the other.
    """

    keys: Ints
    lengths: Ints
    values: Ints

    def only(self, which: NDArray[np.bool_]) -> Rows:
        """Return the lists with these of their values, without those that become empty."""
        owners = np.repeat(np.arange(len(self.keys)), self.lengths)[which]
        lengths = np.bincount(owners, minlength=len(self.keys))
        return Rows(self.keys[lengths > 0], lengths[lengths > 0], self.values[which])


def pack_rows(name: str, rows: Rows) -> Iterator[Column]:
    """Yield lists in three arrays: the columns `name.key` and `name.length`, and the values as `name`."""
    yield from pack_array(f"{name}.key", rows.keys)
    yield from pack_array(f"{name}.length", rows.lengths)
    yield from pack_array(name, rows.values)


def pieces_of(name: str, rows: Rows) -> Iterator[Column]:
    """Yield lists in three arrays as one piece of each of the columns of `pack_rows`."""
    yield piece_of(f"{name}.key", rows.keys)
    yield piece_of(f"{name}.length", rows.lengths)
    yield piece_of(name, rows.values)


def places_in_lists(lengths: Ints) -> Ints:
    """Return the place of each value in its list, of lists one after the other: 0, 1, 2, 0, 1 for lengths 3 and 2."""
    ends = lengths.cumsum()
    return np.asarray(np.arange(int(ends[-1]) if len(ends) else 0) - (ends - lengths).repeat(lengths))


def begins_run(values: NDArray[Any]) -> NDArray[np.bool_]:
    found = np.empty(len(values), dtype=np.bool_)
    found[:1] = True
    np.not_equal(values[1:], values[:-1], out=found[1:])
    return found


def runs(values: NDArray[Any]) -> tuple[Ints, Ints]:
    """Return where runs of equal values begin, and their lengths. `np.diff` with two ends takes four times as long."""
    starts = begins_run(values).nonzero()[0]
    lengths = np.empty_like(starts)
    lengths[:-1], lengths[-1:] = starts[1:] - starts[:-1], len(values) - starts[-1:]
    return starts, lengths


def distinct(values: NDArray[N]) -> NDArray[N]:
    """Return the different values, ascending. `np.unique` finds them by hashing, which takes sixty times as long."""
    ordered: NDArray[N] = np.sort(values)
    return ordered[begins_run(ordered)]


def ascending(numbers: Ints) -> NDArray[np.intp]:
    """Return the stable order of numbers from 0 on. NumPy sorts narrow ones by their digits, ten times as fast."""
    return np.argsort(numbers.astype(np.min_scalar_type(int(numbers.max(initial=0)))), kind="stable")


class Columns:
    """Columns to be read back, each exactly once.

    Args:
        pieces: the pieces, in the order in which they were written.
    """

    def __init__(self, pieces: Iterable[Column]) -> None:
        self._pieces: dict[str, list[bytes]] = {}
        for name, data in pieces:
            self._pieces.setdefault(name, []).append(data)

    def values(self, name: str, of: type[T]) -> list[T]:
        """Return the values of a column.

        Raises:
            KeyError: there is no such column.
            msgspec.DecodeError: it holds something else.
        """
        return list(self._each(name, of))

    def array(self, name: str) -> Ints:
        """Return the values of a column of whole numbers. Besides the array, only one piece is in memory at a time.

        Raises:
            KeyError: there is no such column.
            msgspec.DecodeError: it holds something else.
        """
        decode = msgspec.msgpack.Decoder(list[int]).decode
        return np.concatenate([np.array(decode(piece), dtype=np.int64) for piece in self._pieces.pop(name)])

    def value(self, name: str, of: type[T]) -> T:
        (only,) = self.values(name, of)
        return only

    def items(self, name: str, key: type[T], value: Any) -> dict[T, Any]:
        """Return a dictionary made from its two columns, in its order."""
        return dict(zip(self._each(f"{name}.key", key), self._each(name, value), strict=True))

    def lists(self, name: str, key: type[T], of: type[V]) -> dict[T, list[V]]:
        """Return a dictionary of lists made from its three columns, in its order.

        Raises:
            ValueError: the columns have different lengths.
        """
        lengths, values = self.values(f"{name}.length", int), self.values(name, of)
        if sum(lengths) != len(values):
            raise ValueError(f"{name}: expected {sum(lengths)} values, got {len(values)}")
        left, keys = iter(values), self._each(f"{name}.key", key)
        return {each: list(islice(left, length)) for each, length in zip(keys, lengths, strict=True)}

    def rows(self, name: str) -> Rows:
        """Return lists of whole numbers from their three columns, in arrays.

        Raises:
            ValueError: the columns have different lengths.
        """
        rows = Rows(self.array(f"{name}.key"), self.array(f"{name}.length"), self.array(name))
        if len(rows.keys) != len(rows.lengths) or int(rows.lengths.sum()) != len(rows.values):
            raise ValueError(f"{name}: expected {int(rows.lengths.sum())} values, got {len(rows.values)}")
        return rows

    @property
    def unread(self) -> list[str]:
        return sorted(self._pieces)

    def _each(self, name: str, of: Any) -> Iterator[Any]:
        """Return an iterator over the values of a column; one piece is decoded at a time."""
        decode = msgspec.msgpack.Decoder(list[of]).decode
        return chain.from_iterable(map(decode, self._pieces.pop(name)))


def looked_up(found: Mapping[int, int], keys: Ints, missing: int) -> Ints:
    """Return the value of each key, or `missing` for an unknown key. It needs only a few more blocks of memory."""
    known, values = (np.fromiter(side, np.int64, len(found)) for side in (found.keys(), found.values()))
    order = np.argsort(known)
    no_key = np.iinfo(np.int64).min
    known, values = np.append(known[order], no_key), np.append(values[order], missing)
    result = np.empty_like(keys)
    for start in range(0, len(keys), BLOCK):
        block = keys[start : start + BLOCK]
        places = np.searchsorted(known[:-1], block)
        result[start : start + BLOCK] = np.where(known[places] == block, values[places], missing)
    return result
