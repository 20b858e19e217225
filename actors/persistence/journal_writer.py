"""The writer of a journal: it appends ticks, and seals them in segments where there are enough of them.

The end of a segment depends on the ticks alone: it is after the first tick with which the unsealed ticks fill it. So
equal runs have equal segments, however often they were interrupted or how their ticks were written. A segment is full
if it has its size, and enough ticks to predict most agents from their acts in them. With large ticks it is full
earlier, because a segment is taken apart in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Final, NamedTuple

import msgspec

from actors.core.errors import DamagedError
from actors.core.frames import Damage, Frame, encode_frame
from actors.persistence.disk import Disk, write_whole
from actors.persistence.framed_files import frames_in
from actors.persistence.journal import JOURNAL, TickFrame, head_bytes, read_tail
from actors.persistence.packers import NOBODY, Packers
from actors.persistence.packing import Pack, packed
from actors.persistence.segments import Segment, write_segment

_COPIED_BYTES = 1 << 20
"""Bytes that are copied at a time."""

LEAST_TICKS: Final = 16
"""The least ticks of a segment, unless they take more than `LARGEST` times its size."""
LARGEST: Final = 8
"""The size at which a segment is full with any number of ticks, as a multiple of the size of a segment."""


class JournalWriter:
    """A journal that is written.

    Segments are written beside the ticks that follow them: `write_segments` may run in one thread while another appends
    and syncs, and begins segments. Nothing else may be called meanwhile.

    Args:
        segment_bytes: the size of a segment: the bytes of ticks that are sealed together, at least; 0 seals nothing.
        packers: pack segments beside the run.
    """

    def __init__(self, disk: Disk, segment_bytes: int = 0, packers: Packers = NOBODY) -> None:
        self._disk = disk
        self._segment_bytes = segment_bytes
        self._packers = packers
        self._unsealed: _Unsealed | None = None
        """The ticks after the last full segment; None until the first are appended, or if nothing is sealed."""
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
        """True if more segments are full than may be packed at once, and one."""
        return len(self._full) > 1 + self._packers.at_once

    @property
    def has_written(self) -> bool:
        """True if at least one of the full segments is written."""
        return bool(self._full) and self._full[0].segment is not None

    @property
    def may_begin(self) -> bool:
        """True if a full segment waits that may be packed beside those that are being packed."""
        unwritten = [each for each in self._full if each.segment is None]
        begun = sum(each.pack is not None for each in unwritten)
        return begun < min(len(unwritten), self._packers.at_once)

    def open(self) -> None:
        """Count the ticks that an earlier process has left, once. It may raise OSError."""
        if self._unsealed is not None or not self._segment_bytes:
            return
        tail = read_tail(self._disk)
        self._unsealed = _Unsealed(tail.sealed.start, tail.sealed.tick)
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

    def begin_segments(self) -> None:
        """Begin to pack full segments, as many as may be packed at once. It may raise OSError."""
        while self.may_begin:
            full = next(each for each in self._full if each.pack is None and each.segment is None)
            full.pack = self._packers.begin(full.tick, partial(self._payloads, full))

    def write_segments(self) -> None:
        """Write full segments, in order, up to the first that a packer packs. It may raise OSError."""
        while (full := next((each for each in self._full if each.segment is None), None)) is not None:
            tail, links = read_tail(self._disk), list[bytes]()
            sealed = tail.sealed
            for segment in [each.segment for each in self._full if each.segment is not None]:
                sealed = sealed.after(segment)
            payloads = partial(self._payloads, full, links)
            segment = write_segment(self._disk, full.start, full.tick, sealed.link, payloads, full.pack or packed)
            if segment.after != links[-1]:
                at = full.start - tail.shift
                raise DamagedError(JOURNAL, at, "its ticks do not follow from the last that is sealed")
            full.segment = segment
            if full.pack is not None:
                return

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
            before = self._unsealed
            now = self._unsealed = _Unsealed(before.end + size, before.tick, before.size + size, before.ticks + 1)
            if now.fill(self._segment_bytes):
                self._full.append(_Full(now.end - now.size, now.end, now.tick))
                self._unsealed = _Unsealed(now.end, now.tick + now.ticks)

    def _payloads(self, full: _Full, links: list[bytes] | None = None) -> Iterator[bytes]:
        """Yield the payloads of a full segment, which are still in `journal.prism`; note their links."""
        shift = read_tail(self._disk).shift
        with self._disk.open_file(JOURNAL) as file:
            for _, found in frames_in(file, full.start - shift):
                if isinstance(found, Damage):
                    raise DamagedError(JOURNAL, found.offset, found.problem)
                yield found.payload
                if links is not None:
                    links.append(found.link)
                if found.end + shift >= full.end:
                    return


class _Full(msgspec.Struct):
    """A full segment.

    Args:
        start: its place in the journal; `end`: the place after it.
        tick: its first tick.
        pack: ends its packing; None until that is begun, and for good if the writer packs it.
        segment: its head; None until it is written.
    """

    start: int
    end: int
    tick: int
    pack: Pack | None = None
    segment: Segment | None = None


class _Unsealed(NamedTuple):
    """The ticks after the last full segment: the place where they end, the first of them, their bytes, their number."""

    end: int
    tick: int
    size: int = 0
    ticks: int = 0

    def fill(self, size: int) -> bool:
        return self.size >= size and (self.ticks >= LEAST_TICKS or self.size >= LARGEST * size)
