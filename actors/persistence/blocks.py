"""Column blocks: the messages of many ticks, field by field, as a sealed segment of the journal keeps them.

A message is taken apart without being decoded, and put together again to the same bytes. Whatever does not have the
form of a tick's messages is kept as it is, in one block.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from actors.core.frames import DECODE_ERRORS, tick_payload

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]
Blocks = dict[str, bytes]

COUNTS: Final = "counts"
"""The block with the number of messages in each tick."""
KINDS: Final = "kinds"
"""The block with the place of each message's form among the forms, a byte each."""
WHOLE: Final = "payloads"
"""The block with the payloads of all ticks as they are, if they cannot be taken apart."""

_INTEGER, _VALUE, _REST = "i", "v", "r"
_FIELDS: Final = {7: _INTEGER + _VALUE + _INTEGER + _VALUE + _REST}
"""`{kind: how the fields after the tick are kept}`: those of an effect that took place are its agent, kind, post,
parent and topics."""
_USUAL: Final = _INTEGER + _REST
"""The agent, and all the rest as one value."""
_PAD: Final = 16
_MIX: Final = np.uint64(0x9E3779B97F4A7C15)

_raws = msgspec.msgpack.Decoder(tuple[int, list[msgspec.Raw]]).decode
_encode = msgspec.msgpack.encode


class Form(NamedTuple):
    """The form of messages that begin alike: the byte of their array, their kind, and how their fields are kept.

    Args:
        fields: for each field after the tick a letter: `i`, an integer from 0; `v`, a value; `r`, all that is left.
    """

    array: int
    kind: int
    fields: str


class _UnusualError(Exception):
    """Payloads cannot be taken apart."""


def pack(tick: int, payloads: Sequence[bytes]) -> tuple[list[Form], Blocks]:
    """Return the forms of the messages of consecutive ticks, and their columns.

    Args:
        tick: the first tick.
    """
    try:
        forms, blocks = _packed(tick, payloads)
        if unpack(tick, forms, blocks) == list(payloads):
            return forms, blocks
    except _UnusualError:
        pass
    return [], {WHOLE: _encode(list(payloads))}


def unpack(tick: int, forms: Sequence[Form], blocks: Mapping[str, bytes]) -> list[bytes]:
    """Return the payloads of ticks from their columns.

    Raises:
        ValueError: these are no columns of such ticks.
        KeyError: one is missing.
    """
    if WHOLE in blocks:
        return msgspec.msgpack.decode(blocks[WHOLE], type=list[bytes])
    counts = _from_planes(blocks[COUNTS], "<u4").astype(np.int64)
    kinds = np.frombuffer(blocks[KINDS], np.uint8)
    heads = [tick_payload(tick + number, (), int(count)) for number, count in enumerate(counts.tolist())]
    ticks = _Texts.of([_encode(tick + number) for number in range(len(counts))])
    of_tick = np.repeat(np.arange(len(counts)), counts)
    columns = [[*_columns(form, number, blocks)] for number, form in enumerate(forms)]
    widths = 2 + ticks.widths[of_tick]
    for number, each in enumerate(columns):
        widths[kinds == number] += sum(column.widths for column in each)
    before = np.cumsum([len(head) for head in heads])
    starts = np.cumsum(widths) - widths + before[of_tick]
    bounds = np.append(0, before + np.cumsum(widths)[np.cumsum(counts) - 1] if len(widths) else before)
    if len(widths) and not counts.all():  # a tick without messages ends where the one before it does
        bounds = np.append(0, before + np.append(0, np.cumsum(widths))[np.cumsum(counts)])
    data: Bytes = np.zeros(int(bounds[-1]) + _PAD, dtype=np.uint8)
    for head, start in zip(heads, bounds.tolist(), strict=False):
        data[start : start + len(head)] = np.frombuffer(head, np.uint8)
    for number, form in enumerate(forms):
        mine = kinds == number
        at = starts[mine]
        data[at], data[at + 1] = form.array, form.kind
        at = at + 2
        for column in (ticks.taken(of_tick[mine]), *columns[number]):
            column.write(data, at)
            at = at + column.widths
    return [data[start:end].tobytes() for start, end in zip(bounds.tolist(), bounds[1:].tolist(), strict=False)]


def _packed(tick: int, payloads: Sequence[bytes]) -> tuple[list[Form], Blocks]:
    counts, sizes, of_body = list[int](), list[int](), list[int]()
    at = 0
    for number, payload in enumerate(payloads):
        widths = _widths_of(tick + number, payload)
        of_body.append(at + len(payload) - sum(widths))
        counts.append(len(widths))
        sizes += widths
        at += len(payload)
    data = np.frombuffer(b"".join(payloads) + bytes(_PAD), np.uint8)
    width = np.array(sizes, dtype=np.int64)
    count = np.array(counts, dtype=np.int64)
    before = np.append(0, np.cumsum(width))[np.cumsum(count) - count]
    starts = np.cumsum(width) - width + np.repeat(np.array(of_body, dtype=np.int64) - before, count)
    tick_widths = np.repeat([len(_encode(tick + number)) for number in range(len(payloads))], count)
    found, kinds = np.unique(data[starts].astype(np.int64) << 8 | data[starts + 1], return_inverse=True)
    if len(found) > 255 or any(code >> 12 != 9 or code & 0x80 for code in found.tolist()):
        raise _UnusualError
    forms = [Form(code >> 8, code & 255, _fields_of(code)) for code in found.tolist()]
    blocks = {COUNTS: _planes(count.astype("<u4")), KINDS: kinds.astype(np.uint8).tobytes()}
    for number, form in enumerate(forms):
        mine = kinds == number
        starts_of = starts[mine]
        blocks |= _taken_apart(data, starts_of + 2 + tick_widths[mine], starts_of + width[mine], form, number)
    return forms, blocks


def _widths_of(tick: int, payload: bytes) -> list[int]:
    """Return the width of each message of a payload."""
    try:
        recorded, messages = _raws(payload)
    except DECODE_ERRORS:
        raise _UnusualError from None
    if not payload.startswith(tick_payload(tick, (), len(messages))) or recorded != tick:
        raise _UnusualError
    return [len(bytes(message)) for message in messages]


def _fields_of(code: int) -> str:
    """Return how the fields of messages are kept whose first two bytes these are."""
    count, fields = (code >> 8 & 15) - 2, _FIELDS.get(code & 255, _USUAL)
    if count < len(fields):
        raise _UnusualError
    return fields


def _taken_apart(data: Bytes, at: Ints, ends: Ints, form: Form, number: int) -> Iterator[tuple[str, bytes]]:
    """Yield the blocks of the messages of one form.

    Args:
        at: where their first field after the tick begins; `ends`: where they end.
    """
    left = (form.array & 15) - 2
    for place, field in enumerate(form.fields):
        name = _name(number, place)
        widths = ends - at if field == _REST else _width_at(data, at)
        if (at + widths > ends).any():
            raise _UnusualError
        if field == _INTEGER:
            yield name, _planes(np.diff(_Numbers.read(data, at).values, prepend=0).astype("<i8"))
        else:
            texts = _Texts.read(data, at, widths)
            array = bytes([0x90 | (left if field == _REST else 1)])
            yield name, _planes(texts.codes.astype("<u4"))
            yield f"{name}.values", _array_head(len(texts.texts)) + b"".join(array + text for text in texts.texts)
        at, left = at + widths, left - 1


def _columns(form: Form, number: int, blocks: Mapping[str, bytes]) -> Iterator[_Numbers | _Texts]:
    """Yield the columns of a form."""
    for place, field in enumerate(form.fields):
        name = _name(number, place)
        if field == _INTEGER:
            yield _Numbers(np.cumsum(_from_planes(blocks[name], "<i8")))
        else:
            values = msgspec.msgpack.decode(blocks[f"{name}.values"], type=list[msgspec.Raw])
            yield _Texts([bytes(value)[1:] for value in values], _from_planes(blocks[name], "<u4").astype(np.int64))


def _name(number: int, place: int) -> str:
    return f"{number}.{place}"


def _array_head(count: int) -> bytes:
    return b"\xdd" + count.to_bytes(4, "big")


def _planes(values: NDArray[Any]) -> bytes:
    """Return the first bytes of all values, then the second bytes, and so on: so they compress best."""
    return values.view(np.uint8).reshape(len(values), -1).T.tobytes()


def _from_planes(planes: bytes, dtype: str) -> NDArray[Any]:
    width = np.dtype(dtype).itemsize
    return np.frombuffer(planes, np.uint8).reshape(width, -1).T.copy().view(dtype).reshape(-1)


_WIDTH: Bytes = np.zeros(256, dtype=np.uint8)
"""The width of a msgpack value by its first byte; 0 if it takes more than that to know it."""
_WIDTH[:0x80], _WIDTH[0xE0:] = 1, 1
_WIDTH[0xA0:0xC0] = np.arange(1, 33)
for _first, _its_width in zip(range(0xC0, 0xD4), (1, 0, 1, 1, *[0] * 6, 5, 9, 2, 3, 5, 9, 2, 3, 5, 9), strict=True):
    _WIDTH[_first] = _its_width


def _width_at(data: Bytes, at: Ints) -> Ints:
    """Return the widths of the values that begin at these places."""
    widths: Ints = _WIDTH[data[at]].astype(np.int64)
    if not widths.all():
        raise _UnusualError
    return widths


def _rows(data: Bytes, width: int) -> NDArray[np.uint8]:
    """Return the data as overlapping rows: row i begins at byte i."""
    return np.lib.stride_tricks.sliding_window_view(data, width, writeable=data.flags.writeable)


class _Numbers:
    """A column of integers from 0.

    Args:
        values: they; `widths`: how many bytes each takes.
    """

    def __init__(self, values: Ints) -> None:
        self.values = values
        self.widths = np.array([1, 2, 3, 5, 9])[np.searchsorted([0x80, 0x100, 0x10000, 1 << 32], values, side="right")]

    @classmethod
    def read(cls, data: Bytes, at: Ints) -> _Numbers:
        """Return the integers that begin at these places."""
        first = data[at]
        values = first.astype(np.int64)
        for tag, dtype in (0xCC, ">u1"), (0xCD, ">u2"), (0xCE, ">u4"), (0xCF, ">u8"):
            those = first == tag
            if those.any():
                rows = _rows(data, np.dtype(dtype).itemsize)[at[those] + 1]
                values[those] = np.ascontiguousarray(rows).view(dtype).reshape(-1).astype(np.int64)
        if (first[(first >= 0x80)] & 0xFC != 0xCC).any() or (values < 0).any():
            raise _UnusualError
        return cls(values)

    def write(self, data: Bytes, at: Ints) -> None:
        """Write each to its place."""
        ones = self.widths == 1
        data[at[ones]] = self.values[ones]
        for width, tag, dtype in (2, 0xCC, ">u1"), (3, 0xCD, ">u2"), (5, 0xCE, ">u4"), (9, 0xCF, ">u8"):
            those = self.widths == width
            if those.any():
                data[at[those]] = tag
                rows = self.values[those].astype(dtype).view(np.uint8).reshape(-1, width - 1)
                _rows(data, width - 1)[at[those] + 1] = rows


class _Texts:
    """A column of byte strings, each of which may stand in many places.

    Args:
        texts: the different ones; `codes`: the number of each place's among them.
    """

    def __init__(self, texts: Sequence[bytes], codes: Ints) -> None:
        self.texts = texts
        self.codes = codes
        self.sizes = np.array([len(text) for text in texts], dtype=np.int64)
        self.widths = self.sizes[codes]

    @classmethod
    def of(cls, texts: Sequence[bytes]) -> _Texts:
        """Return a column in which each stands once."""
        return cls(texts, np.arange(len(texts)))

    @classmethod
    def read(cls, data: Bytes, at: Ints, widths: Ints) -> _Texts:
        """Return those that begin at these places and have these widths."""
        texts, codes = list[bytes](), np.zeros(len(at), dtype=np.int64)
        for width in np.unique(widths).tolist():
            those = np.flatnonzero(widths == width)
            rows = _rows(data, width)[at[those]] if width else np.zeros((len(those), 0), np.uint8)
            first, inverse = _different(rows)
            codes[those] = len(texts) + inverse
            texts += [row.tobytes() for row in rows[first]]
        return cls(texts, codes)

    def taken(self, places: Ints) -> _Texts:
        """Return a column with those of some places."""
        return _Texts(self.texts, self.codes[places])

    def write(self, data: Bytes, at: Ints) -> None:
        """Write each to its place."""
        for width in np.unique(self.sizes).tolist():
            mine = np.flatnonzero(self.sizes == width)
            those = self.widths == width
            if width and those.any():
                rows = np.frombuffer(b"".join(self.texts[place] for place in mine.tolist()), np.uint8)
                numbers = np.searchsorted(mine, self.codes[those])
                _rows(data, width)[at[those]] = rows.reshape(-1, width)[numbers]


def _different(rows: NDArray[np.uint8]) -> tuple[Ints, Ints]:
    """Return the places of the different rows in the order of their first, and the number of each row's among them."""
    words = np.zeros((len(rows), -(-rows.shape[1] // 8) * 8), dtype=np.uint8)
    words[:, : rows.shape[1]] = rows
    keys = np.zeros(len(rows), dtype=np.uint64)
    for column in words.view(np.uint64).T:
        keys = (keys ^ column) * _MIX
        keys ^= keys >> np.uint64(29)
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    if (rows != rows[first][inverse]).any():
        raise _UnusualError  # two rows have one key: it would take 2^32 of them
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return first[order], rank[inverse]
