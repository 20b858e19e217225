"""Files of frames: a magic number, then frames. The journal, the oracle's log and checkpoints are such files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Protocol, TypeVar

import msgspec

from actors.core.errors import RESUME, DamagedError, JournalError
from actors.core.frames import DECODE_ERRORS, HEAD, ORIGIN, Damage, Frame, link_of, read_frame
from actors.store.disk import Disk, OpenFile

_BLOCK = 1 << 20
_HEAD_MAX = 1 << 26
"""The most bytes that are read of a head."""


class Head(Protocol):
    """The head of a file, which is its first frame."""

    @property
    def format(self) -> int:
        """The version of the file's layout."""


H = TypeVar("H", bound=Head)


def check_magic(disk: Disk, name: str, magic: bytes) -> None:
    """Check that a file begins with its magic number.

    Raises:
        DamagedError: it begins with something else.
    """
    if disk.read(name, 0, len(magic)) != magic:
        raise DamagedError(name, 0, f"it does not begin with {magic!r}")


def read_frames(disk: Disk, name: str, offset: int) -> Iterator[tuple[int, Frame | Damage]]:
    """Yield `(offset, frame)` of a file of frames, which is read in blocks; the last item is the damage, if any.

    Raises:
        JournalError: it cannot be read.
    """
    with reading(name), disk.open_file(name) as file:
        yield from frames_in(file, offset)


def frames_in(file: OpenFile, offset: int) -> Iterator[tuple[int, Frame | Damage]]:
    size = file.size()
    data, base, start = b"", offset, 0
    while base + start < size:
        frame = read_frame(data, start, base + start)
        if isinstance(frame, Frame):
            yield base + start, frame
            start = frame.end - base
        elif frame.is_end and base + len(data) < size:  # the block ends here, but the file goes on
            data, base, start = data[start:], base + start, 0
            data += file.read(base + len(data), max(_BLOCK, len(data)))
        else:
            yield base + start, frame
            return


def chained_payloads(disk: Disk, name: str, magic: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield `(offset, payload)` of each frame of a file whose frames are one chain.

    Raises:
        DamagedError: a frame is damaged, or does not follow from the one before it.
        JournalError: the file cannot be read.
    """
    check_magic(disk, name, magic)
    link = ORIGIN
    for start, frame in read_frames(disk, name, len(magic)):
        if isinstance(frame, Damage):
            raise DamagedError(name, frame.offset, frame.problem)
        if frame.link != link_of(link, frame.payload):
            raise DamagedError(name, start, "a frame does not follow from the one before it")
        link = frame.link
        yield start, frame.payload


def first_frame(file: OpenFile, name: str, magic: bytes) -> Frame:
    """Return the first frame of a file.

    Raises:
        DamagedError: it has none.
    """
    data = file.read(0, len(magic) + HEAD.size)
    if not data.startswith(magic):
        raise DamagedError(name, 0, f"it does not begin with {magic!r}")
    length = HEAD.unpack_from(data, len(magic))[0] if len(data) == len(magic) + HEAD.size else 0
    data += file.read(len(data), min(length, _HEAD_MAX))
    frame = read_frame(data, len(magic), len(magic))
    if isinstance(frame, Damage):
        raise DamagedError(name, frame.offset, frame.problem)
    if frame.link != link_of(ORIGIN, frame.payload):
        raise DamagedError(name, len(magic), "its first frame follows from another one")
    return frame


def decoded_head(name: str, offset: int, payload: bytes, of: type[H], number: int) -> H:
    """Return the head of a file.

    Args:
        payload: the head's frame, at this offset of the file.
        of: its type; `number`: the format that this version reads.

    Raises:
        DamagedError: it is no such head.
        JournalError: it has another format.
    """
    found, problem = None, ""
    try:
        head = msgspec.msgpack.decode(payload, type=of)
        if head.format == number:
            return head
        found = head.format
    except DECODE_ERRORS as error:
        problem = str(error)
        with suppress(*DECODE_ERRORS):
            content = msgspec.msgpack.decode(payload)
            found = content.get("format") if isinstance(content, dict) else None
    if not isinstance(found, int) or found == number:
        raise DamagedError(name, offset, f"its head cannot be read: {problem}")
    raise JournalError(f"{name}: has format {found}, and this version of PRISM reads {number}")


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Turn an OSError in the block into a JournalError that names the file."""
    try:
        yield
    except OSError as error:
        raise JournalError(
            f"{error.filename or name}: {error.strerror}; nothing is lost: repair the disk, then {RESUME}"
        ) from error
