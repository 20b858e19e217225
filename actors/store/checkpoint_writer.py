"""The writer of a checkpoint: it writes the first part while the rest is still being copied.

The event loop adds columns, and a thread encodes, hashes and writes them, so that little is left to write when the copy
is complete. The file gets its name only when the whole file, and all data that it depends on, is on the medium.
"""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from types import TracebackType

import anyio
import msgspec

from actors.core.frames import ORIGIN, encode_frame, link_of
from actors.core.state import RunState
from actors.store.checkpoint import (
    KEPT,
    MAGIC,
    Checkpoint,
    Head,
    Position,
    checkpoint_name,
    checkpoint_names,
    is_draft,
)
from actors.store.disk import Disk
from prism.bundles import Bundler, packed
from prism.columns import Column

_encode = msgspec.msgpack.Encoder().encode


class CheckpointWriter:
    """A writer of one checkpoint. As a context manager it ends with the block, and is whole unless the block raises.

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
        """End whatever makes it outside of this process. A copy ends by itself, with the block of whoever makes it."""

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
