"""A directory in memory, for what is done ten thousand times: a file system would be too slow."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from actors.persistence.disk import Disk


class MemoryDisk(Disk):
    """Files as bytes, and their changes.

    Args:
        files: `{name: content}`.
    """

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files = dict(files)

    @classmethod
    def of(cls, directory: Path) -> Self:
        return cls({path.name: path.read_bytes() for path in directory.iterdir()})

    def names(self) -> list[str]:
        return sorted(self.files)

    def size(self, name: str) -> int:
        return len(self._content(name))

    def read(self, name: str, offset: int, size: int) -> bytes:
        return self._content(name)[offset : offset + size]

    def append(self, name: str, data: bytes) -> None:
        self.files[name] = self.files.get(name, b"") + data

    def sync(self, name: str) -> None:
        self._content(name)

    def truncate(self, name: str, size: int) -> None:
        self.files[name] = self._content(name)[:size]

    def rename(self, name: str, to: str) -> None:
        self.files[to] = self.files.pop(name)

    def remove(self, name: str) -> None:
        if name not in self.files:
            raise FileNotFoundError(name)
        del self.files[name]

    def sync_directory(self) -> None:
        """Do nothing: names are there at once."""

    def _content(self, name: str) -> bytes:
        if name not in self.files:
            raise FileNotFoundError(name)
        return self.files[name]
