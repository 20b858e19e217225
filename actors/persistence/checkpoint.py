"""Checkpoints: the world and the actors between two ticks, so that a resumed run need not begin at tick 0.

A checkpoint is a cache of the journal: it names the frame after which it was taken by offset and link, and one whose
frame the journal does not have is refused. It is written beside the others and put in place whole; the latest are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec

from actors.core.errors import DamagedError, JournalError
from actors.core.frames import DECODE_ERRORS, ORIGIN, Damage, link_of
from actors.core.state import RunState
from actors.persistence.disk import Disk
from actors.persistence.framed_files import check_magic, read_frames
from prism.columns import Column, Columns

MAGIC = b"PRISMC\r\n"
FORMAT = 2
_PREFIX, _SUFFIX = "checkpoint-", ".bin"
_decode: Callable[[bytes], list[Column] | int] = msgspec.msgpack.Decoder(list[Column] | int).decode


class Position(msgspec.Struct, frozen=True, kw_only=True):
    """Where a checkpoint stands in the other files.

    Args:
        tick: ticks committed before it.
        journal_bytes: the journal's length after them, and `link` its last link.
        answers_bytes: from where on the oracle's log may hold answers that have not taken effect yet.
        answers_end: the log's length; all of it is on the medium before the checkpoint is.
    """

    tick: int
    journal_bytes: int
    link: bytes
    answers_bytes: int
    answers_end: int = 0


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """The first frame of a checkpoint. Frames of pieces of columns follow, and last the number of pieces."""

    format: int = FORMAT
    position: Position
    state: RunState


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A run between two ticks."""

    position: Position
    state: RunState
    columns: Sequence[Column]

    @property
    def name(self) -> str:
        """The file it is kept in."""
        return name_at(self.position.tick)


def name_at(tick: int) -> str:
    """The file that a checkpoint after this many ticks is kept in."""
    return f"{_PREFIX}{tick:012d}{_SUFFIX}"


def is_draft(name: str) -> bool:
    """Whether a file is a checkpoint that was not put in place."""
    return name.startswith(f".{_PREFIX}") and name.endswith(f"{_SUFFIX}.tmp")


def checkpoints(disk: Disk) -> list[str]:
    """The names of the checkpoints, latest first."""
    return sorted((name for name in disk.names() if name.startswith(_PREFIX) and name.endswith(_SUFFIX)), reverse=True)


def read_checkpoint(disk: Disk, name: str) -> Checkpoint:
    """A checkpoint.

    Raises:
        DamagedError: it is not what was written.
        JournalError: it has another format.
    """
    check_magic(disk, name, MAGIC)
    head, columns, count = None, list[Column](), None
    for start, payload in _payloads(disk, name):
        if count is not None:
            raise DamagedError(name, start, "it goes on after its end")
        if head is None:
            head = _head(name, start, payload)
        elif isinstance(found := _columns_or_count(name, start, payload), int):
            count = found
        else:
            columns += found
    if head is None or count != len(columns):
        raise DamagedError(name, disk.size(name), "it ends before its last column")
    return Checkpoint(position=head.position, state=head.state, columns=columns)


def columns_of(checkpoint: Checkpoint) -> Columns:
    """The world's columns, to be read back."""
    return Columns(checkpoint.columns)


def _head(name: str, start: int, payload: bytes) -> Head:
    try:
        head = msgspec.msgpack.decode(payload, type=Head)
    except DECODE_ERRORS as error:
        raise DamagedError(name, start, f"its head cannot be read: {error}") from None
    if head.format != FORMAT:
        raise JournalError(f"{name}: has format {head.format}, and this version of PRISM reads {FORMAT}")
    return head


def _payloads(disk: Disk, name: str) -> Iterator[tuple[int, bytes]]:
    """The payload of each frame and where the frame starts, if each follows from the one before it."""
    link = ORIGIN
    for start, found in read_frames(disk, name, len(MAGIC)):
        if isinstance(found, Damage):
            raise DamagedError(name, found.offset, found.problem)
        if found.link != link_of(link, found.payload):
            raise DamagedError(name, start, "a frame does not follow from the one before it")
        link = found.link
        yield start, found.payload


def _columns_or_count(name: str, start: int, payload: bytes) -> list[Column] | int:
    try:
        return _decode(payload)
    except DECODE_ERRORS as error:
        raise DamagedError(name, start, f"its columns cannot be read: {error}") from None
