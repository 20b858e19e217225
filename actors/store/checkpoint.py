"""Checkpoints: the world and the actors between two ticks, so that a resume need not begin at tick 0.

A checkpoint is a cache of the journal. It names the frame after which it was taken by offset and link, and is refused
if the journal does not have that frame. It is written beside the others and put in place whole; two are kept.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Final

import anyio
import msgspec

from actors.core.errors import DamagedError
from actors.core.frames import DECODE_ERRORS, ORIGIN, encode_frame, link_of
from actors.core.state import RunState
from actors.store.disk import Disk
from actors.store.framed_files import chained_payloads, decoded_head
from prism.bundles import Bundler, Bundles, packed, unpacked_or_number
from prism.columns import Column

MAGIC = b"PRISMC\r\n"
FORMAT = 6
KEPT: Final = 2
"""The latest checkpoints that are kept: if the newest is damaged, a resume starts from the one before."""

_PREFIX, _SUFFIX = "checkpoint-", ".bin"


class Position(msgspec.Struct, frozen=True, kw_only=True):
    """The place of a checkpoint in the other files.

    Args:
        tick: ticks committed before it.
        journal_bytes: the journal's length after them; `link`: its last link.
        answers_bytes: the offset in the oracle's log from which it may hold answers that have not taken effect yet.
        answers_end: the log's length; all of it is on the medium before the checkpoint is.
        lines: `{file of lines: SHA-256 of its content}`.
    """

    tick: int
    journal_bytes: int
    link: bytes
    answers_bytes: int
    answers_end: int
    lines: dict[str, bytes]


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """The first frame of a checkpoint. Frames with a bundle of columns each follow, then one with the number of them.

    These further frames are compressed, usually to a quarter, so that the disk of a large run can keep up.
    """

    format: int = FORMAT
    position: Position
    state: RunState


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a run between two ticks."""

    position: Position
    state: RunState
    columns: Bundles

    @property
    def name(self) -> str:
        return checkpoint_name(self.position.tick)


def checkpoint_name(tick: int) -> str:
    """Return the name of the file of a checkpoint after this many ticks."""
    return f"{_PREFIX}{tick:012d}{_SUFFIX}"


def is_draft(name: str) -> bool:
    """Return whether a file is a checkpoint that was not put in place."""
    return name.startswith(f".{_PREFIX}") and name.endswith(f"{_SUFFIX}.tmp")


def checkpoint_names(disk: Disk) -> list[str]:
    return sorted((name for name in disk.names() if name.startswith(_PREFIX) and name.endswith(_SUFFIX)), reverse=True)


def tick_of(name: str) -> int:
    """Return the ticks before a checkpoint, by the name of its file; -1 for a name that no checkpoint has."""
    digits = name.removeprefix(_PREFIX).removesuffix(_SUFFIX)
    return int(digits) if digits.isdecimal() else -1


def read_checkpoint(disk: Disk, name: str) -> Checkpoint:
    """Read a checkpoint.

    Raises:
        DamagedError: its content is not what was written.
        JournalError: it has another format.
    """
    columns = Bundles([], [])
    head = _read(disk, name, columns.put)
    return Checkpoint(position=head.position, state=head.state, columns=columns)


def read_position(disk: Disk, name: str) -> Position:
    """Read a whole checkpoint, and return its position alone: many of them would not fit into memory.

    Raises:
        DamagedError: its content is not what was written.
        JournalError: it has another format.
    """
    return _read(disk, name, lambda *_: None).position


def _read(disk: Disk, name: str, take: Callable[[bytes, list[Column]], object]) -> Head:
    """Return the head of a checkpoint, and pass its bundles to `take`, packed and as they are."""
    head, taken, count = None, 0, None
    for start, payload in chained_payloads(disk, name, MAGIC):
        if count is not None:
            raise DamagedError(name, start, "it has content after its end")
        if head is None:
            head = decoded_head(name, start, payload, Head, FORMAT)
        else:
            try:
                content = unpacked_or_number(payload)
            except DECODE_ERRORS as error:
                raise DamagedError(name, start, f"its columns cannot be read: {error}") from None
            if isinstance(content, int):
                count = content
            else:
                take(payload, content)
                taken += 1
    if head is None or count != taken:
        raise DamagedError(name, disk.size(name), "it ends before its last column")
    return head


_encode = msgspec.msgpack.Encoder().encode


class CheckpointWriter:
    """A writer of one checkpoint, which writes the first part while the rest is still being copied.

    The event loop adds columns, and a thread encodes, hashes and writes them. The file gets its name only when the
    whole file, and all data that it depends on, is on the medium. As a context manager the writer ends with the block,
    and is whole unless the block raises.

    Args:
        state: the state of the actors. Columns follow by `add`.
    """

    def __init__(self, position: Position, state: RunState) -> None:
        self.position = position
        self.has_ended = False
        """True once no more columns will be added."""
        self.is_whole = False
        """True once every column was added."""
        self.size = 0
        """Bytes written so far."""
        self._name = checkpoint_name(position.tick)
        self._draft = f".{self._name}.tmp"
        self._waiting: deque[Head | list[Column] | bytes | int] = deque([Head(position=position, state=state)])
        """Frames, which the loop adds and the thread takes: the head, then bundles, then the number of bundles."""
        self._bundler = Bundler(self._put)
        self._bundles = 0
        self._added_bytes = self._written_bytes = 0
        """Bytes of whole frames: the loop changes the first count, and the thread the second."""
        self._link = ORIGIN
        self._is_begun = False
        self._added = anyio.Event()

    def __enter__(self) -> CheckpointWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.is_whole = kind is None
        if self.is_whole:
            self._bundler.end()
            self._waiting.append(self._bundles)
        self.has_ended = True
        self._added.set()

    @property
    def waiting_bytes(self) -> int:
        """Bytes that were added and are not yet written, about."""
        return self._added_bytes - self._written_bytes

    def add(self, piece: Column | bytes) -> None:
        """Add the next piece of a column, or a block of agents that is packed already."""
        self._bundler.add(piece)

    def _put(self, bundle: list[Column] | bytes) -> None:
        self._waiting.append(bundle)
        self._bundles += 1
        self._added_bytes += _size_of(bundle)
        self._added.set()

    async def has_more(self) -> bool:
        """Wait until there is a frame to write, and return True; return False once there are no more."""
        while not self._waiting and not self.has_ended:
            self._added = anyio.Event()
            await self._added.wait()
        return bool(self._waiting) and (self.is_whole or not self.has_ended)

    def write(self, disk: Disk) -> None:
        """Write the frames that wait. Blocks."""
        if not self._is_begun:
            self._is_begun = True
            self.remove(disk)
            disk.append(self._draft, MAGIC)
            self.size = len(MAGIC)
        while self._waiting:
            frame = self._waiting.popleft()
            if isinstance(frame, Head):
                payload = _encode(frame)
            else:
                payload = frame if isinstance(frame, bytes) else packed(frame)
            self._link = link_of(self._link, payload)
            encoded = encode_frame(self._link, payload)
            disk.append(self._draft, encoded)
            self.size += len(encoded)
            if isinstance(frame, list | bytes):
                self._written_bytes += _size_of(frame)

    def give_up(self) -> None:
        """End the process that makes it, if there is one. A copy in this process ends with the block that makes it."""

    def put_in_place(self, disk: Disk) -> None:
        """Give it its name; remove older checkpoints, and drafts that crashes left. Blocks."""
        disk.sync(self._draft)
        disk.rename(self._draft, self._name)
        disk.sync_directory()
        for name in [*checkpoint_names(disk)[KEPT:], *filter(is_draft, disk.names())]:
            disk.remove(name)

    def remove(self, disk: Disk) -> None:
        """Remove the part of it that is written. Blocks."""
        with suppress(FileNotFoundError):
            disk.remove(self._draft)


def _size_of(bundle: list[Column] | bytes) -> int:
    return len(bundle) if isinstance(bundle, bytes) else sum(len(column.data) for column in bundle)


def write_checkpoint(disk: Disk, checkpoint: Checkpoint) -> None:
    """Write a whole checkpoint, put it in place, and remove older ones."""
    with CheckpointWriter(checkpoint.position, checkpoint.state) as draft:
        for column in checkpoint.columns:
            draft.add(column)
    draft.write(disk)
    draft.put_in_place(disk)
