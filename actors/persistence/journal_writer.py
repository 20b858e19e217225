"""The writer of a journal: it appends ticks, and seals them in segments where there are enough of them.

The end of a segment depends on the ticks alone: it is after the first tick with which the unsealed ticks fill it. So
equal runs have equal segments, however often they were interrupted or how their ticks were written. A segment is full
if it has its size, and enough ticks to predict most agents from their acts in them. With large ticks it is full
earlier, because a segment is taken apart in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Final, NamedTuple

from actors.core.errors import DamagedError
from actors.core.frames import Damage, Frame, encode_frame
from actors.persistence.disk import Disk, OpenFile, write_whole
from actors.persistence.framed_files import frames_in
from actors.persistence.journal import JOURNAL, TickFrame, head_bytes, read_tail
from actors.persistence.segments import Segment, write_segment

_COPIED_BYTES = 1 << 20
"""Bytes that are copied at a time."""

LEAST_TICKS: Final = 16
"""The least ticks of a segment, unless they take more than `LARGEST` times its size."""
LARGEST: Final = 8
"""The size at which a segment is full with any number of ticks, as a multiple of the size of a segment."""


def together(size: float, tick: float) -> float:
    """Return the bytes of a segment.

    Args:
        size: its size; `tick`: the bytes of a tick.
    """
    return max(size, tick, min(LEAST_TICKS * tick, LARGEST * size))


class JournalWriter:
    """A journal that is written.

    Segments are written beside the ticks that follow them: `write_segments` may run in one thread while another appends
    and syncs. Nothing else may be called meanwhile.

    Args:
        segment_bytes: the size of a segment: the bytes of ticks that are sealed together, at least; 0 seals nothing.
    """

    def __init__(self, disk: Disk, segment_bytes: int = 0) -> None:
        self._disk = disk
        self._segment_bytes = segment_bytes
        self._unsealed: _Unsealed | None = None
        """The ticks after the last full segment; None until the first are appended, or if nothing is sealed."""
        self._ends: list[int] = []
        """The places of the journal where segments end that are full, and not taken out of `journal.prism`."""
        self._segments: list[Segment] = []
        """The segments that are written, and not taken out: the first of those that are full."""
        self._is_synced = False
        """False if the file may hold data that is not on the medium. What an earlier process wrote may not be there."""

    @property
    def full(self) -> int:
        """The segments that are full, and still in `journal.prism`."""
        return len(self._ends)

    @property
    def has_written(self) -> bool:
        """True if at least one of the full segments is written."""
        return bool(self._segments)

    def open(self) -> None:
        """Count the ticks that an earlier process has left, once. It may raise OSError."""
        if self._unsealed is not None or not self._segment_bytes:
            return
        tail = read_tail(self._disk)
        self._unsealed = _Unsealed(tail.sealed.start, 0, 0)
        if self._disk.size(JOURNAL) > tail.at:
            with self._disk.open_file(JOURNAL) as file:
                self._count(frame.end - start for start, frame in frames_in(file, tail.at) if isinstance(frame, Frame))

    def append(self, frames: Sequence[bytes]) -> None:
        """Append ticks, and wait until they are on the medium. It may raise OSError."""
        self.open()
        if not frames:
            return
        self._is_synced = False
        self._disk.append(JOURNAL, b"".join(frames))
        self.sync()
        self._count(map(len, frames))

    def copy(self, ticks: Iterable[TickFrame]) -> None:
        """Append ticks of another journal, some at a time, seal them, and wait until all are on the medium."""
        part, size = list[bytes](), 0
        for frame in ticks:
            part.append(encode_frame(frame.link, frame.payload))
            size += len(part[-1])
            if size >= _COPIED_BYTES:
                self.append(part)
                self.seal()
                part, size = [], 0
        self.append(part)
        self.seal()
        self.sync()

    def sync(self) -> None:
        """Wait until everything written is on the medium, also the last writes of an earlier process."""
        if not self._is_synced:
            self._disk.sync(JOURNAL)
            self._is_synced = True

    def seal(self) -> None:
        """Seal what is full. It may raise OSError."""
        self.write_segments()
        self.take_out()

    def write_segments(self) -> None:
        """Write the segments that are full. It may raise OSError."""
        while len(self._segments) < len(self._ends):
            self._segments.append(self._written(self._ends[len(self._segments)]))

    def take_out(self) -> None:
        """Take the ticks of the segments that are written out of `journal.prism`. It may raise OSError."""
        if not self._segments:
            return
        tail = read_tail(self._disk)
        now = tail.sealed.after(self._segments[-1])
        with self._disk.open_file(JOURNAL) as file:
            left = _bytes_from(file, now.start - tail.shift)
            write_whole(self._disk, JOURNAL, chain([head_bytes(tail.header, now)], left))
        self._is_synced = True
        del self._ends[: len(self._segments)]
        self._segments.clear()

    def _count(self, sizes: Iterable[int]) -> None:
        """Note where segments end, after frames of these sizes."""
        if self._unsealed is None:
            return
        for size in sizes:
            self._unsealed = self._unsealed.with_frame(size)
            if self._unsealed.fill(self._segment_bytes):
                self._ends.append(self._unsealed.end)
                self._unsealed = _Unsealed(self._unsealed.end, 0, 0)

    def _written(self, end: int) -> Segment:
        """Write the ticks after the last segment, up to a place of the journal, into the next one."""
        tail = read_tail(self._disk)
        sealed = tail.sealed.after(self._segments[-1]) if self._segments else tail.sealed
        at, last = sealed.start - tail.shift, b""

        def payloads() -> Iterator[bytes]:
            nonlocal last
            with self._disk.open_file(JOURNAL) as file:
                for _, found in frames_in(file, at):
                    frame = _whole(found)
                    yield frame.payload
                    last = frame.link
                    if frame.end + tail.shift >= end:
                        return

        segment = write_segment(self._disk, sealed.start, sealed.tick, sealed.link, payloads)
        if segment.after != last:
            raise DamagedError(JOURNAL, at, "its ticks do not follow from the last that is sealed")
        return segment


class _Unsealed(NamedTuple):
    """The ticks after the last full segment: the place of the journal where they end, their bytes, and their number."""

    end: int
    size: int
    ticks: int

    def with_frame(self, size: int) -> _Unsealed:
        """Return the unsealed ticks with a further frame of this size."""
        return _Unsealed(self.end + size, self.size + size, self.ticks + 1)

    def fill(self, size: int) -> bool:
        """Return whether they fill a segment of this size."""
        return self.size >= size and (self.ticks >= LEAST_TICKS or self.size >= LARGEST * size)


def _whole(frame: Frame | Damage) -> Frame:
    if isinstance(frame, Damage):
        raise DamagedError(JOURNAL, frame.offset, frame.problem)
    return frame


def _bytes_from(file: OpenFile, place: int) -> Iterator[bytes]:
    """Yield the bytes of a file from a place on, some at a time."""
    while part := file.read(place, _COPIED_BYTES):
        yield part
        place += len(part)
