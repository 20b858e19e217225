"""The operations on the files of a run, as an interface, so that a test can use a disk that fails."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple, Protocol

from actors.core.files import open_own, opened


class OpenFile(NamedTuple):
    """A file that is open for reading."""

    # returns at most so many bytes from an offset, fewer at the end: `read(offset, size)`
    read: Callable[[int, int], bytes]
    size: Callable[[], int]  # returns its length in bytes


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
    """A directory of the file system.

    Args:
        syncs: False lets the operating system decide when data reaches the medium.
    """

    def __init__(self, path: Path, *, syncs: bool = True) -> None:
        self.path = path
        self._syncs = syncs
        self._open: dict[str, int] = {}
        """`{name: descriptor}` of the files that were appended to."""

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
                _flush(self._descriptor(name))

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
        descriptor = self._open.pop(name, None)
        if descriptor is not None:
            os.close(descriptor)


def write_whole(disk: Disk, name: str, pieces: Iterable[bytes]) -> None:
    """Write a file so that a crash leaves the old one or the new one, never a part of it.

    Raises:
        OSError: it cannot be written; the old one is unchanged.
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


_flush = getattr(os, "fdatasync", os.fsync)  # macOS has no fdatasync
