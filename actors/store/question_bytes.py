"""The bytes of many questions at once, as agents send them: msgpack, worked out of their columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec
import numpy as np

from prism.agents.contexts import SEEN
from prism.agents.waves import Kind
from prism.columns import Ints
from prism.rows import Bytes, Heap, Values, part_of
from prism.tables import PACKED_HEAP, Shape

CHUNK: Final = 4096
"""Questions whose bytes are put together at once: as many rows as wide as the longest."""
_START: Final = b"\x97\x03"
"""An array of seven, with the tag of questions before its fields."""
_NONE, _FALSE, _FLOAT = 0xC0, 0xC2, 0xCB
_Width = tuple[int | None, int, int, int]
"""A form of numbers in msgpack: the byte before them, their bytes, the least, and what is above the most."""
_WHOLE: Final[Sequence[_Width]] = (
    *((None, 1, -32, 128), (0xCC, 1, 0, 1 << 8), (0xCD, 2, 0, 1 << 16), (0xCE, 4, 0, 1 << 32), (0xCF, 8, 0, 1 << 63)),
    *((0xD0, 1, -(1 << 7), 0), (0xD1, 2, -(1 << 15), 0), (0xD2, 4, -(1 << 31), 0), (0xD3, 8, -(1 << 63), 0)),
)
_OF_TEXT: Final[Sequence[_Width]] = (
    *((None, 1, 0, 32), (0xD9, 1, 0, 1 << 8), (0xDA, 2, 0, 1 << 16), (0xDB, 4, 0, 1 << 32)),
)
_OF_LIST: Final[Sequence[_Width]] = ((None, 1, 0, 16), (0xDC, 2, 0, 1 << 16))
_TEXT, _LIST = 0xA0, 0x90
_encode: Final = msgspec.msgpack.Encoder().encode
_options: Final = msgspec.json.Decoder(tuple[str, ...]).decode

_Cells = tuple[Bytes, Ints]
"""The bytes of a field of each question, of shape (questions, most bytes), and how many of them count."""


def question_bytes(before: bytes, ticks: Ints, columns: Sequence[Values], shape: Shape, kinds: Sequence[Kind]) -> Heap:
    """Return the bytes of each question, after some others.

    Args:
        ticks: that of each; columns: the other columns of the table of questions, whose shape is given.
    """
    named = Heap.of([_encode(each.trigger) + _encode(each.from_state) + _options_of(each) for each in kinds])
    ends = [(start, min(start + CHUNK, len(ticks))) for start in range(0, len(ticks), CHUNK)]
    parts = [_chunk(before, ticks[a:b], [part_of(each, a, b) for each in columns], shape, named) for a, b in ends]
    lengths = np.concatenate([np.empty(0, np.int64), *(lengths for _, lengths in parts)])
    return Heap(np.concatenate([np.empty(0, np.uint8), *(data for data, _ in parts)]), np.cumsum(lengths))


def _options_of(kind: Kind) -> bytes:
    try:
        return _encode(_options(kind.effect))
    except msgspec.DecodeError:  # the kind of an update
        return b""


def _chunk(before: bytes, ticks: Ints, columns: Sequence[Values], shape: Shape, named: Heap) -> tuple[Bytes, Ints]:
    agents, codes, *about = columns
    start = np.frombuffer(before + _START, np.uint8)
    cells = [
        _same(start, len(ticks)),
        _written(ticks, _WHOLE),
        _written(agents.astype(np.int64), _WHOLE),
        _heap(named.at(codes)),
    ]
    if shape.columns[2][0] != SEEN:
        cells.append(_heap(about[0]))
    else:
        # A context is an array of its fields; of those that only a wider context has, some stay empty.
        is_seen, fields = about[0] != 0, list[_Cells]()
        count = np.zeros(len(ticks), np.int64)
        for (_, dtype), values in zip(shape.columns[3:], about[1:], strict=True):
            fields += _field(dtype, values)
            count += fields[-1][1] > 0 if dtype == PACKED_HEAP else 1
        head = _written(count, _OF_LIST, _LIST)
        nothing = np.full((len(ticks), 1), _NONE, np.uint8), np.where(is_seen, 0, 1)
        cells += [nothing, *((data, np.where(is_seen, lengths, 0)) for data, lengths in (head, *fields))]
    data = np.hstack([each for each, _ in cells])
    is_used = np.hstack([np.arange(each.shape[1]) < lengths[:, None] for each, lengths in cells])
    found: Bytes = data[is_used]
    return found, np.sum([lengths for _, lengths in cells], axis=0)


def _field(dtype: str, values: Values) -> list[_Cells]:
    """Return a field of contexts: with the length of a text before it."""
    if dtype == "|u1":
        return [((_FALSE + values.astype(np.uint8))[:, None], np.ones(len(values), np.int64))]
    if not isinstance(values, Heap):
        return [_floats(values) if values.dtype.kind == "f" else _written(values.astype(np.int64), _WHOLE)]
    own = _heap(values)
    return [own] if dtype == PACKED_HEAP else [_written(own[1], _OF_TEXT, _TEXT), own]


def _same(data: Bytes, rows: int) -> _Cells:
    return np.broadcast_to(data, (rows, len(data))), np.full(rows, len(data))


def _heap(values: Heap) -> _Cells:
    lengths = values.lengths
    data = np.zeros((len(values), int(lengths.max(initial=0))), np.uint8)
    data[np.arange(data.shape[1]) < lengths[:, None]] = values.data
    return data, lengths


def _floats(values: Any) -> _Cells:
    data = np.full((len(values), 9), _FLOAT, np.uint8)
    data[:, 1:] = values.astype(">f8").view(np.uint8).reshape(-1, 8)
    return data, np.full(len(values), 9)


def _written(numbers: Ints, widths: Sequence[_Width], short: int = 0) -> _Cells:
    """Return numbers in the first width that has room for each.

    `short`: what is added to one that stands alone.
    """
    data, sizes = np.zeros((len(numbers), 9), np.uint8), np.zeros(len(numbers), np.int64)
    ordered = numbers.astype(">i8").view(np.uint8).reshape(-1, 8)
    for code, width, least, most in widths:
        rows = np.flatnonzero((sizes == 0) & (numbers >= least) & (numbers < most))
        at = int(code is not None)
        data[rows, 0] = code or 0
        data[rows, at : at + width] = ordered[rows, 8 - width :] if at else ordered[rows, 7:] | short
        sizes[rows] = at + width
        if sizes.all():
            break
    return data, sizes
