"""Segments of format 1, written as earlier versions of PRISM did, for tests of what still reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

import msgspec
import numpy as np

from actors.core.frames import HEAD, link_of
from actors.persistence.blocks import WHOLE, found_in
from actors.persistence.disk import Disk, write_whole
from actors.persistence.fields import Bytes, Ints, Numbers, Texts, UnusualError, planes, widths_at
from actors.persistence.first_blocks import Form
from actors.persistence.segments import FIRST, MAGIC, Segment, _chained, _compressed, segment_name

Blocks = dict[str, bytes]

COUNTS: Final = "counts"
"""The block with the number of messages in each tick."""
KINDS: Final = "kinds"
"""The block with the place of each message's form among the forms, a byte each."""
_INTEGER, _VALUE, _REST = "i", "v", "r"
_FIELDS: Final = {7: _INTEGER + _VALUE + _INTEGER + _VALUE + _REST}
"""`{kind: how the fields after the tick are kept}`: those of an effect that took place are its agent, kind, post,
parent and topics."""
_USUAL: Final = _INTEGER + _REST
"""The agent, and all the rest as one value."""
_encode = msgspec.msgpack.encode


def write_first(disk: Disk, start: int, tick: int, before: bytes, payloads: Callable[[], Iterable[bytes]]) -> Segment:
    """Write a segment of format 1; it takes the place of `write_segment`."""
    after, ticks = before, [*payloads()]
    for payload in ticks:
        after = link_of(after, payload)
    forms, blocks = pack(tick, ticks)
    end = start + sum(HEAD.size + len(payload) for payload in ticks)
    segment = Segment(
        format=FIRST, start=start, end=end, tick=tick, ticks=len(ticks), before=before, after=after, forms=forms
    )
    frames = [_encode(segment), *(_encode((name, _compressed(name, data))) for name, data in blocks.items())]
    write_whole(disk, segment_name(start), [MAGIC, *_chained([*frames, _encode(len(blocks))])])
    return segment


def pack(tick: int, payloads: Sequence[bytes]) -> tuple[list[Form], Blocks]:
    """Return the forms of the messages of consecutive ticks, and their columns.

    Args:
        tick: the first tick.
    """
    try:
        return _packed(tick, payloads)
    except UnusualError:
        return [], {WHOLE: _encode(list(payloads))}


def _packed(tick: int, payloads: Sequence[bytes]) -> tuple[list[Form], Blocks]:
    data, counts, starts, ends, tick_widths = found_in(tick, payloads)
    found, kinds = np.unique(data[starts].astype(np.int64) << 8 | data[starts + 1], return_inverse=True)
    if len(found) > 255 or any(code >> 12 != 9 or code & 0x80 for code in found.tolist()):
        raise UnusualError
    forms = [Form(code >> 8, code & 255, _fields_of(code)) for code in found.tolist()]
    blocks = {COUNTS: planes(np.array(counts, dtype="<u4")), KINDS: kinds.astype(np.uint8).tobytes()}
    for number, form in enumerate(forms):
        mine = kinds == number
        blocks |= _taken_apart(data, starts[mine] + 2 + tick_widths[mine], ends[mine], form, number)
    return forms, blocks


def _fields_of(code: int) -> str:
    """Return how the fields of messages are kept whose first two bytes these are."""
    count, fields = (code >> 8 & 15) - 2, _FIELDS.get(code & 255, _USUAL)
    if count < len(fields):
        raise UnusualError
    return fields


def _taken_apart(data: Bytes, at: Ints, ends: Ints, form: Form, number: int) -> Iterator[tuple[str, bytes]]:
    """Yield the blocks of the messages of one form.

    Args:
        at: where their first field after the tick begins; `ends`: where they end.
    """
    left = (form.array & 15) - 2
    for place, field in enumerate(form.fields):
        name = _name(number, place)
        widths = ends - at if field == _REST else widths_at(data, at)
        if not widths.all() or (at + widths > ends).any():
            raise UnusualError
        if field == _INTEGER:
            yield name, planes(np.diff(Numbers.read(data, at).values, prepend=0).astype("<i8"))
        else:
            texts = Texts.read(data, at, widths)
            array = bytes([0x90 | (left if field == _REST else 1)])
            yield name, planes(texts.codes.astype("<u4"))
            yield f"{name}.values", _array_head(len(texts.texts)) + b"".join(array + text for text in texts.texts)
        at, left = at + widths, left - 1


def _name(number: int, place: int) -> str:
    return f"{number}.{place}"


def _array_head(count: int) -> bytes:
    return b"\xdd" + count.to_bytes(4, "big")
