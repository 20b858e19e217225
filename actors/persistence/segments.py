"""Sealed segments: older ticks of a journal, a file for every few megabytes of them, in compressed columns.

A segment is written once, whole, and never changed. It holds only the payloads of its ticks. Their links are computed
when it is read, and lead from the link before it to the link after it: the hashes are of the payloads, not of their
stored form.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final
from zlib import decompressobj
from zlib import error as ZlibError  # noqa: N812  # it is a class

import msgspec
from msgspec import convert

from actors.core.errors import DamagedError, JournalError
from actors.core.frames import DECODE_ERRORS, HEAD, ORIGIN, PAYLOAD_MAX, Frame, encode_frame, link_of
from actors.persistence import blocks
from actors.persistence.disk import Disk, write_whole
from actors.persistence.framed_files import chained_payloads
from actors.persistence.packing import WINDOW, Pack, Payloads, packed

MAGIC: Final = b"PRISMS\r\n"
FORMAT: Final = 2
SEGMENT_PREFIX: Final = "journal-"
SEGMENT_SUFFIX: Final = ".seg"
TICKS_BYTES_MAX: Final = 6 * PAYLOAD_MAX
"""The most bytes of the ticks of one segment: 8 times the largest `run.segment_mb`, and a tick more, are less."""
COLUMNS_TIMES: Final = 16
"""The most times that columns are longer than their ticks. A number takes a byte there at least, and 8 here at most."""
COLUMNS_FREE_BYTES: Final = 1 << 20
"""Bytes that columns may always have, whatever the bytes of their ticks."""

_block: msgspec.msgpack.Decoder[tuple[str, bytes] | int] = msgspec.msgpack.Decoder(tuple[str, bytes] | int)


class Segment(msgspec.Struct, frozen=True, kw_only=True):
    """The head of a segment.

    Args:
        start: the place of its first tick's frame in the journal, in bytes, as if nothing was sealed; `end`: the place
            after its last.
        tick: its first tick; `ticks`: their number.
        before: the link before its first tick; `after`: that of its last.
        forms: the forms of its messages, in its file format.
    """

    format: int = FORMAT
    start: int
    end: int
    tick: int
    ticks: int
    before: bytes
    after: bytes
    forms: list[Any]


def segment_name(start: int) -> str:
    """Return the name of the segment that begins at this place of the journal."""
    return f"{SEGMENT_PREFIX}{start:015d}{SEGMENT_SUFFIX}"


def start_of(name: str) -> int:
    """Return the place of the journal at which a segment begins, by its name; -1 for a name that none has."""
    digits = name.removeprefix(SEGMENT_PREFIX).removesuffix(SEGMENT_SUFFIX)
    return int(digits) if digits.isdecimal() and name == segment_name(int(digits)) else -1


def segment_names(disk: Disk, end: int) -> list[str]:
    """Return the names of the segments that begin before a place of the journal, in order."""
    return sorted(name for name in disk.names() if 0 <= start_of(name) < end)


def write_segment(disk: Disk, start: int, tick: int, before: bytes, payloads: Payloads, pack: Pack = packed) -> Segment:
    """Write the ticks that begin at a place of the journal into a segment: the whole file, or nothing.

    Args:
        tick: the first tick; `before`: the link before it.
        payloads: gives the payloads of the ticks, each time it is called.
        pack: packs them.

    Raises:
        OSError: it cannot be written.
    """
    after, end, ticks = before, start, 0
    for payload in payloads():
        after, end, ticks = link_of(after, payload), end + HEAD.size + len(payload), ticks + 1
    forms, columns = pack(tick, payloads)
    segment = Segment(start=start, end=end, tick=tick, ticks=ticks, before=before, after=after, forms=forms)
    encode = msgspec.msgpack.encode
    pieces, link = [MAGIC], ORIGIN
    for part in (segment, *columns.items(), len(columns)):
        payload = encode(part)
        link = link_of(link, payload)
        pieces.append(encode_frame(link, payload))
    write_whole(disk, segment_name(start), pieces)
    return segment


def check_segment(disk: Disk, name: str) -> Segment:
    """Return the head of a segment whose bytes are as they were written. It is not decompressed.

    Raises:
        DamagedError: they are not.
        JournalError: it has another format, or cannot be read.
    """
    return _read(disk, name)[0]


def read_segment(disk: Disk, name: str) -> tuple[Segment, list[Frame]]:
    """Return the head of a segment, and the frames of its ticks as they stood in the journal.

    Raises:
        DamagedError: its content is not what was written.
        JournalError: it has another format, or cannot be read.
    """
    segment, compressed = _read(disk, name)
    frames, at, link = list[Frame](), segment.start, segment.before
    try:
        columns = dict(_columns(segment, compressed))
        for payload in blocks.unpack(segment.tick, convert(segment.forms, list[blocks.Form]), columns):
            at, link = at + HEAD.size + len(payload), link_of(link, payload)
            frames.append(Frame(payload, link, at))
            if at > segment.end:
                break
    except (*DECODE_ERRORS, KeyError, IndexError, ZlibError) as error:
        raise DamagedError(name, 0, f"its columns cannot be read: {error}") from None
    if (len(frames), at, link) != (segment.ticks, segment.end, segment.after):
        raise DamagedError(name, 0, "its ticks do not lead to the link that its head names")
    return segment, frames


def columns_of(disk: Disk, name: str) -> Iterator[bytes]:
    """Yield the columns of a segment, in which every text of its ticks stands as it is.

    Raises:
        DamagedError: they are not what was written.
        JournalError: it has another format, or cannot be read.
    """
    segment, compressed = _read(disk, name)
    try:
        for _, column in _columns(segment, compressed):
            yield column
    except (ValueError, ZlibError) as error:
        raise DamagedError(name, 0, f"its columns cannot be read: {error}") from None


def _columns(segment: Segment, compressed: Mapping[str, bytes]) -> Iterator[tuple[str, bytes]]:
    """Yield the names and the columns of a segment. No more memory is taken than ticks of its length need.

    Raises:
        ValueError: they are longer, or cut off.
        ZlibError: they are not compressed as PRISM does it.
    """
    length = segment.end - segment.start
    if not 0 <= length <= TICKS_BYTES_MAX:
        raise ValueError(f"its ticks are said to have {length:,} bytes, and {TICKS_BYTES_MAX:,} is the most")
    left = COLUMNS_TIMES * length + COLUMNS_FREE_BYTES
    for name, data in compressed.items():
        inflate = decompressobj(WINDOW)
        column = inflate.decompress(data, left + 1)
        left -= len(column)
        if left < 0:
            raise ValueError(f"they unpack to more than {COLUMNS_TIMES} times the {length:,} bytes of its ticks")
        if not inflate.eof:
            raise ValueError(f"{name} is cut off")
        yield name, column


def _read(disk: Disk, name: str) -> tuple[Segment, dict[str, bytes]]:
    """Return the head and the compressed blocks of a whole segment."""
    head: Segment | None = None
    found, count = dict[str, bytes](), -1
    for start, payload in chained_payloads(disk, name, MAGIC):
        if head is None:
            head = _head(name, start, payload)
            continue
        try:
            block = _block.decode(payload)
        except DECODE_ERRORS as error:
            raise DamagedError(name, start, f"a block cannot be read: {error}") from None
        if isinstance(block, int):
            count = block
        else:
            found[block[0]] = block[1]
    if head is None or count != len(found):
        raise DamagedError(name, disk.size(name), "it ends before its last block")
    return head, found


def _head(name: str, start: int, payload: bytes) -> Segment:
    try:
        segment = msgspec.msgpack.decode(payload, type=Segment)
    except DECODE_ERRORS as error:
        raise DamagedError(name, start, f"its head cannot be read: {error}") from None
    if segment.format != FORMAT:
        raise JournalError(f"{name}: has format {segment.format}, and this version of PRISM reads {FORMAT}")
    if segment_name(segment.start) != name:
        raise DamagedError(name, start, f"it begins at {segment.start} of the journal, and its name says otherwise")
    return segment
