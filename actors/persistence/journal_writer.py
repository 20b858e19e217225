"""The writer of a journal: it appends ticks, and seals them in segments where there are enough of them.

Where a segment ends depends on the ticks alone: after the first of them with which the ticks that are not sealed fill
it. So equal runs have equal segments, however often they were interrupted, and however their ticks came to be written.
It is full with its size, and with so many ticks that most agents can be foreseen by what they did in them; where ticks
are large, it is full earlier, because a segment is taken apart in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from actors.core.errors import DamagedError
from actors.core.frames import Damage, Frame, encode_frame
from actors.persistence.disk import Disk, write_whole
from actors.persistence.framed_files import frames_in
from actors.persistence.journal import JOURNAL, UNSEALED, Sealed, TickFrame, head_bytes, read_tail
from actors.persistence.segments import write_segment

_COPIED_BYTES = 1 << 20
"""Bytes of ticks that are copied at a time."""

LEAST_TICKS: Final = 16
"""Ticks of a segment, at least, where it does not have more than `LARGEST` times its size with them."""
LARGEST: Final = 8
"""The size at which a segment is full with any number of ticks, in sizes of a segment."""


def together(size: float, tick: float) -> float:
    """Return the bytes of a segment.

    Args:
        size: its size; `tick`: the bytes of a tick.
    """
    return max(size, tick, min(LEAST_TICKS * tick, LARGEST * size))


class JournalWriter:
    """A journal that is written.

    Args:
        segment_bytes: the size of a segment: the bytes of ticks that are sealed together, at least; 0 seals nothing.
    """

    def __init__(self, disk: Disk, segment_bytes: int = 0) -> None:
        self._disk = disk
        self._segment_bytes = segment_bytes
        self._unsealed: _Unsealed | None = None
        """The ticks in `journal.prism`; None until the first are appended, or if nothing is sealed."""
        self._is_synced = False
        """False if the file may hold data that is not on the medium. What an earlier process wrote may not be there."""

    def append(self, frames: Sequence[bytes]) -> None:
        """Append ticks, wait until they are on the medium, and seal what is full. It may raise OSError."""
        if self._unsealed is None and self._segment_bytes:
            self._open()
        for part, unsealed in self._parts(frames):
            self._is_synced = False
            self._disk.append(JOURNAL, b"".join(part))
            self.sync()
            self._unsealed = unsealed
            if unsealed is not None and unsealed.fill(self._segment_bytes):
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
        size, ticks = self._disk.size(JOURNAL) - tail.at, 0
        if size:
            with self._disk.open_file(JOURNAL) as file:
                ticks = sum(isinstance(frame, Frame) for _, frame in frames_in(file, tail.at))
        self._unsealed = _Unsealed(size, ticks)
        if self._unsealed.fill(self._segment_bytes):
            self.sync()
            self._seal()

    def _parts(self, frames: Sequence[bytes]) -> Iterator[tuple[list[bytes], _Unsealed | None]]:
        """Yield the frames in parts, each up to the end of a segment, with what is not sealed after it."""
        part, unsealed = list[bytes](), self._unsealed
        for frame in frames:
            part.append(frame)
            if unsealed is not None:
                unsealed = _Unsealed(unsealed.size + len(frame), unsealed.ticks + 1)
                if unsealed.fill(self._segment_bytes):
                    yield part, unsealed
                    part, unsealed = [], _Unsealed(0, 0)
        if part:
            yield part, unsealed

    def _seal(self) -> None:
        """Seal every tick that is in the file: first the segment is on the medium, then the file loses them."""
        tail = read_tail(self._disk)
        sealed, last = tail.sealed, b""

        def payloads() -> Iterator[bytes]:
            nonlocal last
            with self._disk.open_file(JOURNAL) as file:
                for _, found in frames_in(file, tail.at):
                    frame = _whole(found)
                    yield frame.payload
                    last = frame.link

        segment = write_segment(self._disk, sealed.start, sealed.tick, sealed.link, payloads)
        if segment.after != last:
            raise DamagedError(JOURNAL, tail.at, "its ticks do not follow from the last that is sealed")
        now = Sealed(first=sealed.first, start=segment.end, tick=segment.tick + segment.ticks, link=segment.after)
        write_whole(self._disk, JOURNAL, [head_bytes(tail.header, now)])
        self._unsealed = _Unsealed(0, 0)


class _Unsealed(NamedTuple):
    """The ticks that are not sealed: their bytes, and their number."""

    size: int
    ticks: int

    def fill(self, size: int) -> bool:
        """Return whether they fill a segment of this size."""
        return self.size >= size and (self.ticks >= LEAST_TICKS or self.size >= LARGEST * size)


def _whole(frame: Frame | Damage) -> Frame:
    if isinstance(frame, Damage):
        raise DamagedError(JOURNAL, frame.offset, frame.problem)
    return frame
