"""The writer of a journal: it appends ticks, and seals them in segments where there are enough of them.

Where a segment ends depends on the ticks alone: after the first of them with which the ticks that are not sealed fill
it. So equal runs have equal segments, however often they were interrupted, and however their ticks came to be written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from actors.core.errors import DamagedError
from actors.core.frames import Damage, Frame, encode_frame
from actors.persistence.disk import Disk, write_whole
from actors.persistence.framed_files import frames_in
from actors.persistence.journal import JOURNAL, UNSEALED, Sealed, TickFrame, head_bytes, read_tail
from actors.persistence.segments import write_segment

_COPIED_BYTES = 1 << 20
"""Bytes of ticks that are copied at a time."""


class JournalWriter:
    """A journal that is written.

    Args:
        segment_bytes: the bytes of ticks that are sealed together, at least; 0 seals nothing.
    """

    def __init__(self, disk: Disk, segment_bytes: int = 0) -> None:
        self._disk = disk
        self._segment_bytes = segment_bytes
        self._unsealed: int | None = None
        """Bytes of ticks in `journal.prism`; None until the first are appended, or if nothing is sealed."""
        self._is_synced = False
        """False if the file may hold data that is not on the medium. What an earlier process wrote may not be there."""

    def append(self, frames: Sequence[bytes]) -> None:
        """Append ticks, wait until they are on the medium, and seal what is full. It may raise OSError."""
        if self._unsealed is None and self._segment_bytes:
            self._open()
        for part in self._parts(frames):
            data = b"".join(part)
            self._is_synced = False
            self._disk.append(JOURNAL, data)
            self.sync()
            if self._unsealed is not None:
                self._unsealed += len(data)
                if self._unsealed >= self._segment_bytes:
                    self._seal()

    def copy(self, ticks: Iterable[TickFrame]) -> None:
        """Append ticks of another journal, some at a time, and wait until all are on the medium."""
        part, size = list[bytes](), 0
        for frame in ticks:
            part.append(encode_frame(frame.link, frame.payload))
            size += len(part[-1])
            if size >= _COPIED_BYTES:
                self.append(part)
                part, size = [], 0
        self.append(part)
        self.sync()

    def sync(self) -> None:
        """Wait until everything written is on the medium, also the last writes of an earlier process."""
        if not self._is_synced:
            self._disk.sync(JOURNAL)
            self._is_synced = True

    def _open(self) -> None:
        """Look what is in the file, and seal what an earlier process has left full."""
        tail = read_tail(self._disk)
        if tail.header.format == UNSEALED:  # as it was begun, so that nothing which reads it is taken by surprise
            self._segment_bytes = 0
            return
        self._unsealed = self._disk.size(JOURNAL) - tail.at
        if self._unsealed >= self._segment_bytes:
            self.sync()
            self._seal()

    def _parts(self, frames: Sequence[bytes]) -> Iterator[list[bytes]]:
        """Yield the frames in parts, each up to the end of a segment."""
        part, left = list[bytes](), self._segment_bytes - (self._unsealed or 0)
        for frame in frames:
            part.append(frame)
            left -= len(frame)
            if self._unsealed is not None and left <= 0:
                yield part
                part, left = [], self._segment_bytes
        if part:
            yield part

    def _seal(self) -> None:
        """Seal every tick that is in the file: first the segment is on the medium, then the file loses them."""
        tail = read_tail(self._disk)
        with self._disk.open_file(JOURNAL) as file:
            frames = [_whole(frame) for _, frame in frames_in(file, tail.at)]
        sealed = tail.sealed
        segment = write_segment(self._disk, sealed.start, sealed.tick, sealed.link, [frame.payload for frame in frames])
        if segment.after != frames[-1].link:
            raise DamagedError(JOURNAL, tail.at, "its ticks do not follow from the last that is sealed")
        now = Sealed(first=sealed.first, start=segment.end, tick=segment.tick + segment.ticks, link=segment.after)
        write_whole(self._disk, JOURNAL, [head_bytes(tail.header, now)])
        self._unsealed = 0


def _whole(frame: Frame | Damage) -> Frame:
    if isinstance(frame, Damage):
        raise DamagedError(JOURNAL, frame.offset, frame.problem)
    return frame
