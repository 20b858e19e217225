"""Shapes: how the fields of messages follow one another, and the columns of all messages that have the same shape.

Messages are not decoded. A shape is taken from one of them, and every message that fits it has the same fields in the
same order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from actors.persistence.fields import (
    FLOAT,
    IS_NUMBER,
    PAD,
    Bytes,
    Floats,
    Ints,
    Numbers,
    Texts,
    UnusualError,
    widths_at,
)

Item = int | str
"""A part of a message: an array of so many fields, which follow; `n`, an integer from 0; `f`, a floating-point number;
or `t` and a number: so many other values, which are kept as one."""

_DEEPEST: Final = 4
"""Arrays in arrays in arrays that are taken apart."""
_ALIKE: Final = 64
"""The number of different values up to which a column always counts as having few."""
_SHAPES_MAX: Final = 12
"""The most shapes of the messages of a kind. Messages that fit no shape are kept with all their fields as one value."""


class Shape(NamedTuple):
    """A shape.

    Args:
        array: the byte of the messages' arrays; `kind`: the byte after it.
        items: the parts after the agent.
    """

    array: int
    kind: int
    items: tuple[Item, ...]

    @property
    def is_whole(self) -> bool:
        """True if all fields after the agent are one value, so that every message of the kind has this shape."""
        return self.items == (f"t{(self.array & 15) - 3}",)


class Collected:
    """The columns of a shape, as more and more messages are added."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.letters = [item[0] for item in shape.items if isinstance(item, str)]
        self._parts: list[list[NDArray[Any]]] = [[] for _ in self.letters]
        self._texts: list[dict[bytes, int]] = [{} for _ in self.letters]

    def add(self, data: Bytes, places: Sequence[Ints]) -> None:
        """Add messages.

        Args:
            places: for each item, where it begins in each message; last, where the messages end.
        """
        column = 0
        for number, item in enumerate(self.shape.items):
            if isinstance(item, int):
                continue
            at, letter = places[number], self.letters[column]
            values: NDArray[Any]
            if letter == "n":
                values = Numbers.read(data, at).values
            elif letter == "f":
                values = Floats.read(data, at).bits
            else:
                values = self._codes(Texts.read(data, at, places[number + 1] - at), self._texts[column])
            self._parts[column].append(values)
            column += 1

    def values(self, column: int) -> Ints:
        """Return a column: numbers, the bits of floating-point numbers, or the place of each value among `texts`."""
        return np.concatenate(self._parts[column])

    def texts(self, column: int) -> list[bytes]:
        """Return the different values of a column, in the order of their first."""
        return [*self._texts[column]]

    @staticmethod
    def _codes(texts: Texts, known: dict[bytes, int]) -> NDArray[np.int32]:
        numbers = np.array([known.setdefault(text, len(known)) for text in texts.texts], dtype=np.int32)
        return numbers[texts.codes]


class Shapes:
    """The shapes of messages, found as they come."""

    def __init__(self) -> None:
        self.found: list[Collected] = []
        self._of: dict[tuple[int, int], list[int]] = {}
        """`{(array, kind): the places of its shapes}`, in the order in which they are tried."""

    def add(self, data: Bytes, at: Ints, ends: Ints, array: int, kind: int) -> Ints:
        """Add messages of one kind, and return the place of each one's shape among those found.

        Args:
            at: where the fields after the agent begin; `ends`: where the messages end.

        Raises:
            UnusualError: they cannot be taken apart.
        """
        found, left = np.zeros(len(at), dtype=np.int64), np.arange(len(at))
        known, tried = self._of.setdefault((array, kind), []), 0
        while len(left):
            if tried == len(known):
                known.append(len(self.found))
                self.found.append(Collected(self._new(data, at[left], ends[left], array, kind, tried)))
            collected = self.found[known[tried]]
            rows, places = _fitting(data, at[left], ends[left], collected.shape)
            if len(rows):
                collected.add(data, places)
            found[left[rows]] = known[tried]
            left, tried = np.delete(left, rows), tried + 1
        return found

    @staticmethod
    def _new(data: Bytes, at: Ints, ends: Ints, array: int, kind: int, tried: int) -> Shape:
        """Return the shape of the first of these messages."""
        count = (array & 15) - 3
        whole = Shape(array, kind, (f"t{count}",))
        if tried == _SHAPES_MAX or _has_few(len(Texts.read(data, at, ends - at).texts), len(at)):
            return whole
        try:
            items, end = _items(data, int(at[0]), count, 0)
        except UnusualError:  # there is a map in it
            return whole
        if end != ends[0]:
            return whole
        rows, places = _fitting(data, at, ends, Shape(array, kind, tuple(items)))
        split = list[Item]()
        for number, item in enumerate(items):
            many = isinstance(item, str) and item[0] == "t" and item != "t1"
            if many and not _has_few(
                len(Texts.read(data, places[number], places[number + 1] - places[number]).texts), len(rows)
            ):
                split += ["t1"] * int(str(item)[1:])
            else:
                split.append(item)
        return Shape(array, kind, tuple(split))


def _has_few(different: int, count: int) -> bool:
    return different <= max(_ALIKE, count // 16)


def head_of(fields: int) -> bytes:
    """Return the beginning of an array of so many fields."""
    return bytes([0x90 | fields]) if fields < 16 else b"\xdc" + fields.to_bytes(2, "big")


def _items(data: Bytes, at: int, count: int, depth: int) -> tuple[list[Item], int]:
    """Return the items of so many values from a place on, and the place where they end."""
    items = list[Item]()
    for _ in range(count):
        first, fields, head = int(data[at]), *_array(data, at)
        if IS_NUMBER[first] or first == FLOAT:
            items.append("n" if IS_NUMBER[first] else "f")
            at += _width(data, at)
        elif fields and depth < _DEEPEST and IS_NUMBER[data[at + head]]:
            within, at = _items(data, at + head, fields, depth + 1)
            items += [fields, *within]
        else:
            before = items.pop() if items and str(items[-1])[0] == "t" else "t0"
            items.append(f"t{int(str(before)[1:]) + 1}")
            at += _width(data, at)
    return items, at


def _array(data: Bytes, at: int) -> tuple[int, int]:
    """Return the fields of the array that begins at a place, and the width of its head; 0 fields if there is none."""
    first = int(data[at])
    if first & 0xF0 == 0x90:
        return first & 15, 1
    return (int(data[at + 1]) << 8 | int(data[at + 2]), 3) if first == 0xDC else (0, 0)


def _width(data: Bytes, at: int) -> int:
    width = int(widths_at(data, np.array([at]))[0])
    if not width:
        raise UnusualError
    return width


def _fitting(data: Bytes, at: Ints, ends: Ints, shape: Shape) -> tuple[Ints, list[Ints]]:
    """Return a mask of the messages that have a shape, the places where their items begin, and where they end."""
    if shape.is_whole:
        return np.arange(len(at)), [at, ends]
    rows, places = np.arange(len(at)), list[Ints]()
    for item in shape.items:
        good, widths = _fits(data, at, item)
        good &= at + widths <= ends
        if not good.all():
            rows, at, ends, widths = rows[good], at[good], ends[good], widths[good]
            places = [each[good] for each in places]
        places.append(at)
        at = at + widths
    good = at == ends
    return rows[good], [*(each[good] for each in places), at[good]]


def _fits(data: Bytes, at: Ints, item: Item) -> tuple[NDArray[np.bool_], Ints]:
    """Return a mask of the values at these places that are such an item, and their widths."""
    first = data[at]
    if isinstance(item, int):
        head = head_of(item)
        good = np.ones(len(at), dtype=np.bool_)
        for place, byte in enumerate(head):
            good &= data[at + place] == byte
        return good, np.full(len(at), len(head), dtype=np.int64)
    if item == "n":
        return IS_NUMBER[first], widths_at(data, at)
    if item == "f":
        return first == FLOAT, np.full(len(at), 9, dtype=np.int64)
    good, end = np.ones(len(at), dtype=np.bool_), at.copy()
    for _ in range(int(item[1:])):
        good &= _is_other(data, end)
        widths = widths_at(data, end)
        good &= (widths > 0) & (end + widths <= len(data) - PAD)
        end = np.where(good, end + widths, at)
    return good, end - at


def _is_other(data: Bytes, at: Ints) -> NDArray[np.bool_]:
    """Return a mask of the values at these places that are no numbers, and no arrays that begin with a number."""
    first = data[at]
    is_record = (first & 0xF0 == 0x90) & (first != 0x90) & IS_NUMBER[data[np.minimum(at + 1, len(data) - 1)]]
    found: NDArray[np.bool_] = ~(IS_NUMBER[first] | (first == FLOAT) | is_record | (first == 0xDC))
    return found
