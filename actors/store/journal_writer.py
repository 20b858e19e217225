"""The writer of a journal: it appends ticks, and seals them in segments where there are enough of them.

The end of a segment depends on the ticks alone: it is after the first tick with which the unsealed ticks fill it. So
equal runs have equal segments, however often they were interrupted or how their ticks were written.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

from actors.core.errors import DamagedError
from actors.core.frames import Damage, Frame, encode_frame
from actors.store.disk import Disk, write_whole
from actors.store.framed_files import frames_in
from actors.store.journal import JOURNAL, TickFrame, head_bytes, read_tail
from actors.store.segments import write_segment

_COPIED_BYTES = 1 << 20
"""Bytes that are copied at a time."""


class JournalWriter:
    """A journal that is written. Its methods block, and may raise OSError.

    Args:
        segment_bytes: the size of a segment: the bytes of ticks that are sealed together, at least; 0 seals nothing.
    """

    def __init__(self, disk: Disk, segment_bytes: int = 0) -> None:
        self._disk = disk
        self._segment_bytes = segment_bytes
        self._unsealed: range | None = None
        """The places of the ticks after the last full segment; None until the first is appended, if any is sealed."""
        self._full: list[int] = []
        """The places at which full segments end that are not sealed yet."""
        self._is_synced = False
        """False if the file may hold data that is not on the medium. What an earlier process wrote may not be there."""

    def append(self, frames: Sequence[bytes]) -> None:
        """Append ticks, and wait until they are on the medium."""
        self._open()
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

    def seal(self) -> bool:
        """Seal the ticks that fill segments, also those that an earlier process has left; return whether any do."""
        self._open()
        if not self._full:
            return False
        tail = read_tail(self._disk)
        sealed = tail.sealed
        with self._disk.open_file(JOURNAL) as file:
            frames = frames_in(file, tail.at)
            for end in self._full:
                at, payloads, link = sealed.start - tail.shift, list[bytes](), sealed.link
                for _, found in frames:
                    if isinstance(found, Damage):
                        raise DamagedError(JOURNAL, found.offset, found.problem)
                    payloads.append(found.payload)
                    link = found.link
                    if found.end + tail.shift >= end:
                        break
                try:
                    sealed = sealed.after(write_segment(self._disk, sealed, tail.header.tables, payloads))
                except ValueError as error:
                    raise DamagedError(JOURNAL, at, f"a tick cannot be read: {error}") from None
                if sealed.link != link:
                    raise DamagedError(JOURNAL, at, "its ticks do not follow from the last that is sealed")
            places = range(sealed.start - tail.shift, file.size(), _COPIED_BYTES)
            left = (file.read(place, _COPIED_BYTES) for place in places)
            write_whole(self._disk, JOURNAL, chain([head_bytes(tail.header, sealed)], left))
        self._is_synced = True
        self._full.clear()
        return True

    def _open(self) -> None:
        """Count the ticks that an earlier process has left, once."""
        if self._unsealed is not None or not self._segment_bytes:
            return
        tail = read_tail(self._disk)
        self._unsealed = range(tail.sealed.start, tail.sealed.start)
        if self._disk.size(JOURNAL) > tail.at:
            with self._disk.open_file(JOURNAL) as file:
                self._count(frame.end - start for start, frame in frames_in(file, tail.at) if isinstance(frame, Frame))

    def _count(self, sizes: Iterable[int]) -> None:
        """Note where segments end, after frames of these sizes."""
        if self._unsealed is None:
            return
        for size in sizes:
            start, end = self._unsealed.start, self._unsealed.stop + size
            if end - start >= self._segment_bytes:
                self._full.append(end)
                start = end
            self._unsealed = range(start, end)
