"""A checkpoint on its way to the disk: it is written while the rest of it is still being copied.

The event loop adds columns, and a thread encodes, hashes and writes them, so that little is left to be written when the
copy is made. The file has its name only when all of it, and everything that it relies on, is on the medium.
"""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from types import TracebackType

import anyio
import msgspec

from actors.core.frames import ORIGIN, encode_frame, link_of
from actors.core.state import RunState
from actors.persistence.checkpoint import MAGIC, Checkpoint, Head, Position, checkpoints, is_draft, name_at
from actors.persistence.disk import Disk
from prism.columns import Column

FRAME_BYTES = 1 << 20
"""A frame ends with the piece that brings it here. The thread gets its turn with the loop some times a frame: with a
frame for each piece it would fall behind."""

_encode = msgspec.msgpack.Encoder().encode


class CheckpointWriter:
    """A checkpoint that is being made. As a context manager it ends with the block, whole unless that raises.

    Args:
        position: where it stands; `state`: what the actors hold. Columns follow by `add`.
    """

    def __init__(self, position: Position, state: RunState) -> None:
        self.position = position
        self.has_ended = False
        """Whether nothing will be added any more."""
        self.is_whole = False
        """Whether all of it was added."""
        self._name = name_at(position.tick)
        self._draft = f".{self._name}.tmp"
        self._waiting: deque[Head | list[Column] | int] = deque([Head(position=position, state=state)])
        """Frames, which the thread takes while the loop adds to them: the head, then pieces, then their number."""
        self._gathered: list[Column] = []
        """The next frame."""
        self._bytes = 0
        """Of the next frame."""
        self._pieces = 0
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
            self._waiting += [self._gathered, self._pieces]
        self.has_ended = True
        self._added.set()

    def add(self, column: Column) -> None:
        """The next piece of a column."""
        self._gathered.append(column)
        self._pieces += 1
        self._bytes += len(column.data)
        if self._bytes >= FRAME_BYTES:
            self._waiting.append(self._gathered)
            self._gathered, self._bytes = [], 0
            self._added.set()

    async def more(self) -> bool:
        """Wait until there is something to write; False if all of it has been."""
        while not self._waiting and not self.has_ended:
            self._added = anyio.Event()
            await self._added.wait()
        return bool(self._waiting) and (self.is_whole or not self.has_ended)

    def write(self, disk: Disk) -> None:
        """Write what there is so far. Blocks."""
        if not self._is_begun:
            self._is_begun = True
            self.remove(disk)
            disk.append(self._draft, MAGIC)
        while self._waiting:
            payload = _encode(self._waiting.popleft())
            self._link = link_of(self._link, payload)
            disk.append(self._draft, encode_frame(self._link, payload))

    def put(self, disk: Disk, keep: int) -> None:
        """Put it in place, and remove all but the latest `keep` and what crashes have left of others. Blocks."""
        disk.sync(self._draft)
        disk.rename(self._draft, self._name)
        disk.sync_directory()
        for name in [*checkpoints(disk)[keep:], *filter(is_draft, disk.names())]:
            disk.remove(name)

    def remove(self, disk: Disk) -> None:
        """Remove what is written of it. Blocks."""
        with suppress(FileNotFoundError):
            disk.remove(self._draft)


def write_checkpoint(disk: Disk, checkpoint: Checkpoint, keep: int = 2) -> None:
    """Put a whole checkpoint in place, and remove all but the latest `keep`."""
    with CheckpointWriter(checkpoint.position, checkpoint.state) as draft:
        for column in checkpoint.columns:
            draft.add(column)
    draft.write(disk)
    draft.put(disk, keep)
