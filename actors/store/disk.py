"""The operations on the files of a run, as an interface, so that a test can use a disk that fails; and files of frames.

Journals, logs of oracles and checkpoints are files of frames: a magic number, then frames.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar, cast

import msgspec

from actors.core.errors import RESUME, DamagedError, JournalError
from actors.core.files import open_own, opened
from actors.core.frames import DECODE_ERRORS, HEAD, ORIGIN, Damage, Frame, link_of, read_frame


class OpenFile(NamedTuple):
    """A file that is open for reading."""

    read: Callable[[int, int], bytes]  # at most so many bytes from an offset, fewer at the end: `read(offset, size)`
    size: Callable[[], int]  # in bytes


class Disk(Protocol):
    """A directory of files that are appended to, cut, or put in place whole. Every call may raise OSError.

    Appended data survives a killed process at once, and a power cut after `sync`; a new name survives a power cut after
    `sync_directory`.
    """

    def names(self) -> list[str]:
        """Return the names of the files, in order."""

    def size(self, name: str) -> int:
        """Return a file's length in bytes."""

    def read(self, name: str, offset: int, size: int) -> bytes:
        """Return at most `size` bytes from `offset`; fewer at the end."""

    @contextmanager
    def open_file(self, name: str) -> Iterator[OpenFile]:
        """Open a file for reading: it stays the same file, even when another file takes its name."""
        yield OpenFile(partial(self.read, name), partial(self.size, name))

    def append(self, name: str, data: bytes) -> None:
        """Append to a file, which is created if there is none."""

    def sync(self, name: str) -> None:
        """Wait until a file's content is on the medium."""

    def truncate(self, name: str, size: int) -> None:
        """Cut a file to this length."""

    def rename(self, name: str, to: str) -> None:
        """Give a file another name, and replace the file that had it."""

    def remove(self, name: str) -> None:
        """Remove a file."""

    def sync_directory(self) -> None:
        """Wait until the names are on the medium."""


class RealDisk(Disk):
    """A directory of the file system. Without `syncs` the operating system decides when data reaches the medium."""

    def __init__(self, path: Path, *, syncs: bool = True) -> None:
        self.path = path
        self._syncs = syncs
        self._open: dict[str, int] = {}  # `{name: descriptor}` of the files that were appended to

    def names(self) -> list[str]:
        return sorted(entry.name for entry in self.path.iterdir() if entry.is_file())

    def size(self, name: str) -> int:
        return (self.path / name).stat().st_size

    def read(self, name: str, offset: int, size: int) -> bytes:
        with self._named(name), opened(self.path / name) as descriptor:
            return os.pread(descriptor, size, offset)

    @contextmanager
    def open_file(self, name: str) -> Iterator[OpenFile]:
        with self._named(name), opened(self.path / name) as descriptor:
            yield OpenFile(
                lambda offset, size: os.pread(descriptor, size, offset), lambda: os.fstat(descriptor).st_size
            )

    def append(self, name: str, data: bytes) -> None:
        with self._named(name):
            descriptor, left = self._descriptor(name), memoryview(data)
            while left:
                left = left[os.write(descriptor, left) :]

    def sync(self, name: str) -> None:
        if self._syncs:
            with self._named(name):
                getattr(os, "fdatasync", os.fsync)(self._descriptor(name))  # macOS has no fdatasync

    def truncate(self, name: str, size: int) -> None:
        with self._named(name):
            os.ftruncate(self._descriptor(name), size)

    def rename(self, name: str, to: str) -> None:
        self._forget(name)
        self._forget(to)
        (self.path / name).replace(self.path / to)

    def remove(self, name: str) -> None:
        self._forget(name)
        (self.path / name).unlink()

    def sync_directory(self) -> None:
        if self._syncs:
            descriptor = os.open(self.path, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def close(self) -> None:
        for name in list(self._open):
            self._forget(name)

    def _descriptor(self, name: str) -> int:
        if name not in self._open:
            self._open[name] = open_own(self.path / name, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        return self._open[name]

    @contextmanager
    def _named(self, name: str) -> Iterator[None]:
        """Add the file's name to errors: errors of a descriptor have no name."""
        try:
            yield
        except OSError as error:
            error.filename = str(self.path / name)
            raise

    def _forget(self, name: str) -> None:
        if (descriptor := self._open.pop(name, None)) is not None:
            os.close(descriptor)


def write_whole(disk: Disk, name: str, pieces: Iterable[bytes]) -> None:
    """Write a file so that a crash leaves the old one or the new one, never a part of it.

    If it cannot be written, it is an OSError, and the old one is unchanged.
    """
    draft = f".{name}.tmp"
    with suppress(FileNotFoundError):
        disk.remove(draft)
    try:
        for piece in pieces:
            disk.append(draft, piece)
        disk.sync(draft)
        disk.rename(draft, name)
    except OSError:
        with suppress(OSError):  # on a full disk the space of a partial file is needed
            disk.remove(draft)
        raise
    disk.sync_directory()


_BLOCK = 1 << 20
_HEAD_MAX = 1 << 26  # the most bytes that are read of a head

H = TypeVar("H")


def check_magic(disk: Disk, name: str, magic: bytes) -> None:
    """Check that a file begins with its magic number; if not, it is a DamagedError."""
    if disk.read(name, 0, len(magic)) != magic:
        raise DamagedError(name, 0, f"it does not begin with {magic!r}")


def read_frames(disk: Disk, name: str, offset: int) -> Iterator[tuple[int, Frame | Damage]]:
    """Yield `(offset, frame)` of a file of frames, which is read in blocks; the last item is the damage, if any."""
    with reading(name), disk.open_file(name) as file:
        yield from frames_in(file, offset)


def frames_in(file: OpenFile, offset: int) -> Iterator[tuple[int, Frame | Damage]]:
    size = file.size()
    data, base, start = b"", offset, 0
    while base + start < size:
        frame = read_frame(data, start, base + start)
        if isinstance(frame, Frame):
            yield base + start, frame
            start = frame.end - base
        elif frame.is_end and base + len(data) < size:  # the block ends here, but the file goes on
            data, base, start = data[start:], base + start, 0
            data += file.read(base + len(data), max(_BLOCK, len(data)))
        else:
            yield base + start, frame
            return


def chained_payloads(disk: Disk, name: str, magic: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield `(offset, payload)` of each frame of a file whose frames are one chain; a break of it is a DamagedError."""
    check_magic(disk, name, magic)
    link = ORIGIN
    for start, frame in read_frames(disk, name, len(magic)):
        if isinstance(frame, Damage):
            raise DamagedError(name, frame.offset, frame.problem)
        if frame.link != link_of(link, frame.payload):
            raise DamagedError(name, start, "a frame does not follow from the one before it")
        link = frame.link
        yield start, frame.payload


def first_frame(file: OpenFile, name: str, magic: bytes) -> Frame:
    """Return the first frame of a file; it is a DamagedError if there is none."""
    data = file.read(0, len(magic) + HEAD.size)
    if not data.startswith(magic):
        raise DamagedError(name, 0, f"it does not begin with {magic!r}")
    length = HEAD.unpack_from(data, len(magic))[0] if len(data) == len(magic) + HEAD.size else 0
    data += file.read(len(data), min(length, _HEAD_MAX))
    frame = read_frame(data, len(magic), len(magic))
    if isinstance(frame, Damage):
        raise DamagedError(name, frame.offset, frame.problem)
    if frame.link != link_of(ORIGIN, frame.payload):
        raise DamagedError(name, len(magic), "its first frame follows from another one")
    return frame


def decoded_head(name: str, offset: int, payload: bytes, of: type[H], number: int) -> H:
    """Return the head of a file, whose frame is at this offset, if it is one of this type and format.

    A file of another format is a JournalError, and anything else a DamagedError.
    """
    found, problem = None, ""
    try:
        head: Any = msgspec.msgpack.decode(payload, type=of)
        if head.format == number:
            return cast("H", head)
        found = head.format
    except DECODE_ERRORS as error:
        problem = str(error)
        with suppress(*DECODE_ERRORS):
            content = msgspec.msgpack.decode(payload)
            found = content.get("format") if isinstance(content, dict) else None
    if not isinstance(found, int) or found == number:
        raise DamagedError(name, offset, f"its head cannot be read: {problem}")
    raise JournalError(f"{name}: has format {found}, and this version of PRISM reads {number}")


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Turn an OSError in the block into a JournalError that names the file."""
    try:
        yield
    except OSError as error:
        raise JournalError(
            f"{error.filename or name}: {error.strerror}; nothing is lost: repair the disk, then {RESUME}"
        ) from error
