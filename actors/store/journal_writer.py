"""The writer of a journal: it appends ticks, and seals them in segments where there are enough of them.

The end of a segment depends on the ticks alone: it is after the first tick with which the unsealed ticks fill it. So
equal runs have equal segments, however often they were interrupted or how their ticks were written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import msgspec

from actors.core.errors import DamagedError
from actors.core.frames import Damage, Frame, encode_frame
from actors.store.disk import Disk, write_whole
from actors.store.framed_files import frames_in
from actors.store.journal import JOURNAL, TickFrame, head_bytes, read_tail
from actors.store.segments import Segment, write_segment

_COPIED_BYTES = 1 << 20
"""Bytes that are copied at a time."""


class JournalWriter:
    """A journal that is written.

    Segments are written beside the ticks that follow them: `write_segments` may run in one thread while another appends
    and syncs, and begins segments. Nothing else may be called meanwhile.

    Args:
        segment_bytes: the size of a segment: the bytes of ticks that are sealed together, at least; 0 seals nothing.
    """

    def __init__(self, disk: Disk, segment_bytes: int = 0) -> None:
        self._disk = disk
        self._segment_bytes = segment_bytes
        self._unsealed: range | None = None
        """The places of the ticks after the last full segment; None until the first is appended, if any is sealed."""
        self._full: list[_Full] = []
        """The segments that are full, and not taken out of `journal.prism`: first those that are written."""
        self._is_synced = False
        """False if the file may hold data that is not on the medium. What an earlier process wrote may not be there."""

    @property
    def full(self) -> int:
        """The segments that are full, and still in `journal.prism`."""
        return len(self._full)

    @property
    def is_ahead(self) -> bool:
        """True if more than one segment is full."""
        return len(self._full) > 1

    @property
    def has_written(self) -> bool:
        """True if at least one of the full segments is written."""
        return bool(self._full) and self._full[0].segment is not None

    def open(self) -> None:
        """Count the ticks that an earlier process has left, once. It may raise OSError."""
        if self._unsealed is not None or not self._segment_bytes:
            return
        tail = read_tail(self._disk)
        self._unsealed = range(tail.sealed.start, tail.sealed.start)
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
        while self._full:
            self.write_segments()
            self.take_out()

    def write_segments(self) -> None:
        """Write the full segments, in order. It may raise OSError."""
        tail = read_tail(self._disk)
        sealed = tail.sealed
        for full in self._full:
            if full.segment is None:
                links = list[bytes]()
                try:
                    payloads = self._payloads(full, links)
                    full.segment = write_segment(self._disk, sealed, tail.header.tables, payloads)
                except ValueError as error:
                    raise DamagedError(JOURNAL, full.start - tail.shift, f"a tick cannot be read: {error}") from None
                if full.segment.after != links[-1]:
                    at = full.start - tail.shift
                    raise DamagedError(JOURNAL, at, "its ticks do not follow from the last that is sealed")
            sealed = sealed.after(full.segment)

    def take_out(self) -> None:
        """Take the ticks of the segments that are written out of `journal.prism`. It may raise OSError."""
        written = [each.segment for each in self._full if each.segment is not None]
        if not written:
            return
        tail = read_tail(self._disk)
        now = tail.sealed.after(written[-1])
        with self._disk.open_file(JOURNAL) as file:
            places = range(now.start - tail.shift, file.size(), _COPIED_BYTES)
            left = (file.read(place, _COPIED_BYTES) for place in places)
            write_whole(self._disk, JOURNAL, chain([head_bytes(tail.header, now)], left))
        self._is_synced = True
        del self._full[: len(written)]

    def _count(self, sizes: Iterable[int]) -> None:
        """Note where segments end, after frames of these sizes."""
        if self._unsealed is None:
            return
        for size in sizes:
            start, end = self._unsealed.start, self._unsealed.stop + size
            if end - start >= self._segment_bytes:
                self._full.append(_Full(start, end))
                start = end
            self._unsealed = range(start, end)

    def _payloads(self, full: _Full, links: list[bytes]) -> Iterator[bytes]:
        """Yield the payloads of a full segment, which are still in `journal.prism`; note their links."""
        shift = read_tail(self._disk).shift
        with self._disk.open_file(JOURNAL) as file:
            for _, found in frames_in(file, full.start - shift):
                if isinstance(found, Damage):
                    raise DamagedError(JOURNAL, found.offset, found.problem)
                yield found.payload
                links.append(found.link)
                if found.end + shift >= full.end:
                    return


class _Full(msgspec.Struct):
    """A full segment.

    Args:
        start: its place in the journal; `end`: the place after it.
        segment: its head; None until it is written.
    """

    start: int
    end: int
    segment: Segment | None = None
