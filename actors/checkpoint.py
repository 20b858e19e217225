"""Checkpoints: the world and the actors between two ticks, so that a resumed run need not begin at tick 0.

A checkpoint is a cache of the journal: it names the frame after which it was taken by offset and link, and one whose
frame the journal does not have is refused. It is written beside the others and put in place whole; the latest are kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from actors.disk import Disk, put_whole
from actors.engine import EngineState
from actors.errors import DamagedError, JournalError
from actors.frames import ORIGIN, Damage, encode_frame, link_of
from actors.journal import read_frames
from actors.oracle_statistics import OracleState
from actors.supervisor import SupervisorState
from actors.tally import TallyState
from prism.columns import Column, Columns

MAGIC = b"PRISMC\r\n"
FORMAT = 1
_PREFIX, _SUFFIX = "checkpoint-", ".bin"
_decode_column = msgspec.msgpack.Decoder(Column).decode


class RunState(msgspec.Struct, frozen=True, kw_only=True):
    """What the actors hold between two ticks, the world aside.

    Args:
        guards: `{row: how often its guard raised}`.
    """

    engine: EngineState = EngineState()
    tally: TallyState = TallyState()
    supervisor: SupervisorState = SupervisorState()
    oracle: OracleState = OracleState()
    guards: dict[str, int] = {}


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
    """The first frame of a checkpoint; `columns` frames of columns follow."""

    format: int = FORMAT
    position: Position
    state: RunState
    columns: int


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A run between two ticks."""

    position: Position
    state: RunState
    columns: Sequence[Column]

    @property
    def name(self) -> str:
        """The file it is kept in."""
        return f"{_PREFIX}{self.position.tick:012d}{_SUFFIX}"


def write_checkpoint(disk: Disk, checkpoint: Checkpoint, keep: int = 2) -> None:
    """Put a checkpoint in place, and remove all but the latest `keep`."""
    put_whole(disk, checkpoint.name, _encode(checkpoint))
    for name in checkpoints(disk)[keep:]:
        disk.remove(name)


def checkpoints(disk: Disk) -> list[str]:
    """The names of the checkpoints, latest first."""
    return sorted((name for name in disk.names() if name.startswith(_PREFIX) and name.endswith(_SUFFIX)), reverse=True)


def read_checkpoint(disk: Disk, name: str) -> Checkpoint:
    """A checkpoint.

    Raises:
        DamagedError: it is not what was written.
        JournalError: it has another format.
    """
    if disk.read(name, 0, len(MAGIC)) != MAGIC:
        raise DamagedError(name, 0, f"it does not begin with {MAGIC!r}")
    head, columns, link = None, [], ORIGIN
    for start, found in read_frames(disk, name, len(MAGIC)):
        if isinstance(found, Damage):
            raise DamagedError(name, found.offset, found.problem)
        if found.link != link_of(link, found.payload):
            raise DamagedError(name, start, "a frame does not follow from the one before it")
        link = found.link
        if head is None:
            head = _head(name, start, found.payload)
        else:
            columns.append(_column(name, start, found.payload))
    if head is None or len(columns) != head.columns:
        raise DamagedError(name, disk.size(name), "it ends before its last column")
    return Checkpoint(position=head.position, state=head.state, columns=columns)


def columns_of(checkpoint: Checkpoint) -> Columns:
    """The world's columns, to be read back."""
    return Columns(checkpoint.columns)


def _head(name: str, start: int, payload: bytes) -> Head:
    try:
        head = msgspec.msgpack.decode(payload, type=Head)
    except msgspec.DecodeError as error:
        raise DamagedError(name, start, f"its head cannot be read: {error}") from None
    if head.format != FORMAT:
        raise JournalError(f"{name}: has format {head.format}, and this version of PRISM reads {FORMAT}")
    return head


def _column(name: str, start: int, payload: bytes) -> Column:
    try:
        return _decode_column(payload)
    except msgspec.DecodeError as error:
        raise DamagedError(name, start, f"a column cannot be read: {error}") from None


def _encode(checkpoint: Checkpoint) -> Iterator[bytes]:
    head = Head(position=checkpoint.position, state=checkpoint.state, columns=len(checkpoint.columns))
    payload = msgspec.msgpack.encode(head)
    link = link_of(ORIGIN, payload)
    yield MAGIC + encode_frame(link, payload)
    for column in checkpoint.columns:
        payload = msgspec.msgpack.encode(column)
        link = link_of(link, payload)
        yield encode_frame(link, payload)
