"""A world's state as named columns of msgpack, cut into pieces that are quick to encode, and bundles of these.

To encode a million values at once would block all else for tens of milliseconds, so a column is pieces of at most
`PIECE` values, with the same name and in order. A dictionary becomes two columns, its keys and its values; one of lists
three: keys, lengths, and the values of all lists. No tuple or list is made for an entry: that took as long as all the
rest of a copy. Bundles are compressed: what all agents have in common first, then one for each block of agents.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, Final, NamedTuple, TypeVar, overload

import msgspec
import numpy as np
from numpy.typing import NDArray

from prism.planes import compressed, expanded, in_planes, out_of_planes

Ints = NDArray[np.int64]  # whole numbers in memory, such as one for each person
Floats = NDArray[np.float64]  # numbers in memory

PIECE = 32_768  # values in a piece: about 2 ms of encoding

BLOCK = 1 << 18
"""Values that are copied or looked up at once: of a million people's lists, temporary arrays would take as much memory
as all else."""

T = TypeVar("T")
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
    """A piece of a column."""

    name: str
    data: bytes  # msgpack of a list of values; or the bytes of numbers, as `prism.planes` has them
    dtype: str = ""  # the numbers; empty for a list
    ascends: bool = False  # as of `in_planes`

    @property
    def numbers(self) -> NDArray[Any]:
        """The numbers of a piece that has no list. It raises a ValueError if it has one, or is damaged."""
        if self.dtype not in _LIMITS:
            raise ValueError(f"{self.name}: expected an array of numbers")
        count = len(self.data) // np.dtype(self.dtype).itemsize
        return out_of_planes(np.frombuffer(self.data, np.uint8), self.dtype, count, ascends=self.ascends)


_INTEGERS: Final = ("|u1", "<u2", "<u4", "|i1", "<i2", "<i4", "<i8")
_FLOAT: Final = "<f8"
_LIMITS: Final = {_FLOAT: (0, 0), **{dtype: (np.iinfo(dtype).min, np.iinfo(dtype).max) for dtype in _INTEGERS}}
"""`{numbers of a piece: the least and the greatest integer among them}`."""


def pack(name: str, values: Iterable[Any], piece: int = PIECE) -> Iterator[Column]:
    """Yield the values as pieces; no values are one empty piece. `piece`: fewer values where each is large."""
    left, first = iter(values), True
    while (batch := list(islice(left, piece))) or first:
        yield Column(name, _encode(batch))
        first = False


def pack_array(
    name: str, values: NDArray[Any], kept: Callable[[NDArray[Any]], NDArray[Any]] = lambda piece: piece
) -> Iterator[Column]:
    """Yield what is `kept` of the values of an array as pieces; no values are one empty piece."""
    for start in range(0, max(1, len(values)), PIECE):
        yield piece_of(name, kept(values[start : start + PIECE]))


def pack_fields(name: str, records: NDArray[Any]) -> Iterator[Column]:
    for field in records.dtype.names or ():
        yield from pack_array(f"{name}.{field}", records[field])


def records_in(columns: Columns, name: str, kind: np.dtype[Any]) -> NDArray[Any]:
    fields, records = kind.names or (), np.empty(0, dtype=kind)
    for field in fields:
        column, is_float = f"{name}.{field}", kind[field].kind == "f"
        values = columns.values(column, float) if is_float else columns.array(column)
        if field == fields[0]:
            records = np.empty(len(values), dtype=kind)
        records[field] = values
    return records


def piece_of(name: str, values: NDArray[Any]) -> Column:
    """Return an array as one piece, of the narrowest numbers that hold it; texts are a list."""
    if values.dtype.kind == "O":
        return Column(name, _encode(values.tolist()))
    dtype = _FLOAT
    if values.dtype.kind != "f":
        low, high = int(values.min(initial=0)), int(values.max(initial=0))
        dtype = next(each for each in _INTEGERS if _LIMITS[each][0] <= low and high <= _LIMITS[each][1])
    ascends, data = in_planes(np.ascontiguousarray(values, dtype=dtype))
    return Column(name, data, dtype, ascends)


def pack_items(name: str, items: Mapping[Any, Any]) -> Iterator[Column]:
    """Yield a dictionary in its order: the column `name.key`, then the values as `name`."""
    yield from pack(f"{name}.key", items)
    yield from pack(name, items.values())


class Rows(NamedTuple):
    """Lists of whole numbers in three arrays."""

    keys: Ints  # the owner of each list
    lengths: Ints  # of each list
    values: Ints  # of all lists, one after the other


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
    """Columns to be read back, each exactly once. `pieces`: in the order in which they were written."""

    def __init__(self, pieces: Iterable[Column]) -> None:
        self._pieces: dict[str, list[Column]] = {}
        for piece in pieces:
            self._pieces.setdefault(piece.name, []).append(piece)

    def values(self, name: str, of: type[T]) -> list[T]:
        """Return the values of a column. No such column is a KeyError, and other values a ValueError."""
        return list(self._each(name, of))

    def array(self, name: str) -> Ints:
        """Return the values of a column of whole numbers. It raises the errors of `values`."""
        found = [piece.numbers for piece in self._pieces.pop(name)]
        if any(numbers.dtype.kind == "f" for numbers in found):
            raise ValueError(f"{name}: expected whole numbers")
        return np.concatenate(found, dtype=np.int64)

    def value(self, name: str, of: type[T]) -> T:
        (only,) = self.values(name, of)
        return only

    def items(self, name: str, key: type[T], value: Any) -> dict[T, Any]:
        """Return a dictionary made from its two columns, in its order."""
        return dict(zip(self._each(f"{name}.key", key), self._each(name, value), strict=True))

    def rows(self, name: str) -> Rows:
        """Return lists of whole numbers from their three columns, which must fit each other, in arrays."""
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
        for piece in self._pieces.pop(name):
            yield from msgspec.convert(piece.numbers.tolist(), list[of]) if piece.dtype else decode(piece.data)


def places_among(ordered: Ints, values: Ints) -> Ints:
    """Return the place of each value among ascending ones; -1 for one that is not there."""
    if not len(ordered):
        return np.full(len(values), -1)
    found = np.minimum(np.searchsorted(ordered, values), len(ordered) - 1)
    return np.where(ordered[found] == values, found, -1)


AGENTS: Final = "agents"  # the column with which a block begins: the numbers of its agents
AGENTS_A_BLOCK: Final = 2_048
"""The agents of a block. A piece with fifty values for each takes some milliseconds of encoding."""
BUNDLE_BYTES = 1 << 20
"""The least bytes of the pieces in a bundle of what agents have in common. The thread that writes waits for its turn
with the loop a few times for each bundle: with a bundle for each piece it would fall behind."""
UNPACKED_MAX: Final = 1 << 28  # the most bytes of the pieces in one bundle

_pieces = msgspec.msgpack.Decoder(list[Column]).decode
_pieces_or_number: Callable[[bytes], list[Column] | int] = msgspec.msgpack.Decoder(list[Column] | int).decode
_values = msgspec.msgpack.Decoder(list[msgspec.Raw]).decode


class Bundles(msgspec.Struct, frozen=True):
    """All bundles of a world, packed. Iterating yields their pieces."""

    common: list[bytes]  # those of what agents have in common
    blocks: list[bytes]  # those of each block of agents, in order

    @staticmethod
    def of(pieces: Iterable[Column | bytes]) -> Bundles:
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
    """Pieces of columns on their way into bundles. `put`: takes each bundle, once it is complete."""

    def __init__(self, put: Callable[[list[Column] | bytes], None]) -> None:
        self._put = put
        self._bundle: list[Column] = []
        self._bytes = 0

    def add(self, piece: Column | bytes) -> None:
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
    """Return the pieces of a bundle, or the number of bundles. It raises a ValueError if it is neither."""
    return _pieces_or_number(expanded(payload, UNPACKED_MAX))
