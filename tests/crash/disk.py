"""A disk in memory with a page cache. It crashes, fills up or breaks at a chosen operation, and can be read after that.

What is written is visible at once. A file's content is on the medium after `sync`, a new name or a changed one after
`sync_directory`. Until then a power cut may keep it, lose it, or keep a part of it, and `Cut` names the ways.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from enum import StrEnum, unique
from itertools import accumulate
from random import Random

import msgspec

from actors.store.disk import Disk

READS = frozenset({"names", "size", "read"})


@unique
class Cut(StrEnum):
    """The effect of a crash on the bytes that were not on the medium."""

    KILLED = "killed"
    """No effect: only the process is gone, and the cache stays. The bytes are still not on the medium."""
    LOST = "lost"
    """All of them are gone."""
    TORN = "torn"
    """In each file the first of them are there."""
    ZEROED = "zeroed"
    """The file keeps its length, with zeros from some place on."""
    FLIPPED = "flipped"
    """All of them are there, with some bits wrong."""
    REORDERED = "reordered"
    """The later ones are there, with zeros in place of the earlier ones; each name survives by itself."""


class File:
    """A file's content in the cache, and on the medium."""

    def __init__(self, content: bytes = b"") -> None:
        self.content = bytearray(content)
        self.durable = content
        self.clean = len(content)  # the number of first bytes that are the same in both, and safe
        self.appended: list[int] = []  # lengths of the appends that are not synced yet

    def sync(self) -> None:
        self.durable, self.clean, self.appended = bytes(self.content), len(self.content), []

    def truncate(self, size: int) -> None:
        del self.content[size:]
        self.clean = min(self.clean, size)
        self.appended = []

    def after(self, cut: Cut, random: Random) -> bytes:
        unsafe = len(self.content) - self.clean
        if cut == Cut.LOST or random.random() < 0.2:  # each file by itself may be as it was when it was synced
            return self.durable
        content, kept = bytearray(self.content), self.clean + random.randint(0, unsafe)
        if cut == Cut.TORN:
            del content[kept:]
        elif cut == Cut.ZEROED:
            content[kept:] = bytes(len(content) - kept)
        elif cut == Cut.FLIPPED and unsafe:
            for _ in range(random.randint(1, 3)):
                content[random.randrange(self.clean, len(content))] ^= 1 << random.randrange(8)
        elif cut == Cut.REORDERED:
            kept = random.choice([kept, *accumulate(self.appended, initial=self.clean)])
            content[self.clean : kept] = bytes(kept - self.clean)
        return bytes(content)


class CrashedError(BaseException):
    """The machine stops. Nothing in the product may catch this."""


class Crash(msgspec.Struct, frozen=True, kw_only=True):
    """A crash of the machine at an operation."""

    at: int  # the number of the operation that changes something, from 1
    share: float  # how much of it is done: 0 nothing, 1 all of it, in between a part of what is appended


class DiskFault(msgspec.Struct, frozen=True, kw_only=True):
    """An operation that fails."""

    at: int  # its number, from 1, of all that concerns the fault
    # ENOSPC concerns appends, and lets a part of one through; EIO concerns all operations, those that read too
    code: int = errno.EIO
    lasts: bool = False  # whether all later ones fail, too


class SimulatedDisk(Disk):
    """A directory in memory, with files that are on the medium at first.

    `crash`: when the machine stops; `fault`: which operation fails; `seed`: of how much of an append comes through
    before a disk is full.
    """

    def __init__(
        self,
        files: Mapping[str, bytes] | None = None,
        *,
        crash: Crash | None = None,
        fault: DiskFault | None = None,
        seed: int = 0,
    ) -> None:
        self.crash, self.fault = crash, fault
        self.operations: list[tuple[str, str]] = []
        """`(operation, file)` of all operations so far, also those that only read."""
        self.changes = 0  # the number of operations that change something
        self.is_dead = False
        self._appends = 0
        self._random = Random(seed)
        self._files = {name: File(content) for name, content in (files or {}).items()}
        self._durable = dict(self._files)
        self._renamed: list[tuple[str | None, str, File | None]] = []
        """`(name before, name, file)` of every change of a name since the last sync of the directory; None for no
        name."""

    def names(self) -> list[str]:
        self._begin("names", "")
        return sorted(self._files)

    def size(self, name: str) -> int:
        self._begin("size", name)
        return len(self._file(name).content)

    def read(self, name: str, offset: int, size: int) -> bytes:
        self._begin("read", name)
        return bytes(self._file(name).content[offset : offset + size])

    def append(self, name: str, data: bytes) -> None:
        def write(share: float) -> None:
            if name not in self._files:
                self._name(None, name, File())
            written = data[: round(len(data) * share)]
            self._files[name].content += written
            self._files[name].appended.append(len(written))

        with self._change("append", name) as share:
            if self._is_full():
                write(self._random.random())
                raise self._error(name, errno.ENOSPC)
            write(share)

    def sync(self, name: str) -> None:
        with self._change("sync", name) as share:
            if share == 1.0:
                self._file(name).sync()

    def truncate(self, name: str, size: int) -> None:
        with self._change("truncate", name) as share:
            if share:
                self._file(name).truncate(size)

    def rename(self, name: str, to: str) -> None:
        with self._change("rename", name) as share:
            file = self._file(name)
            if share:
                self._name(name, to, file)

    def remove(self, name: str) -> None:
        with self._change("remove", name) as share:
            self._file(name)
            if share:
                self._name(None, name, None)

    def sync_directory(self) -> None:
        with self._change("sync_directory", "") as share:
            if share == 1.0:
                self._durable, self._renamed = dict(self._files), []

    def visible_names(self) -> list[str]:
        """Return the names that every process sees. This and the next two are no operations."""
        return sorted(self._files)

    @property
    def files(self) -> dict[str, bytes]:
        """Every file's content as every process sees it."""
        return {name: self.visible(name) for name in self._files}

    def durable_files(self) -> dict[str, bytes]:
        """Return every file's content as it is on the medium."""
        return {name: self.durable(name) for name in self._durable}

    def visible(self, name: str) -> bytes:
        """Return a file's content as every process sees it; empty if there is no file. It is no operation."""
        return bytes(self._files[name].content) if name in self._files else b""

    def durable(self, name: str) -> bytes:
        """Return the part of a file that survives every crash."""
        file = self._durable.get(name)
        return file.durable[: file.clean] if file is not None else b""

    def surviving(self, cut: Cut, seed: int) -> SimulatedDisk:
        """Return the disk after a crash. The new disk does not crash."""
        random = Random(seed)
        if cut == Cut.KILLED:
            found = type(self)(seed=seed)
            found._files, found._durable, found._renamed = deepcopy((self._files, self._durable, self._renamed))
            return found
        names, renamed = dict(self._durable), self._renamed
        if cut == Cut.REORDERED:
            renamed = [change for change in renamed if random.random() < 0.5]
        else:  # in order
            renamed = [] if cut == Cut.LOST else renamed[: random.randint(0, len(renamed))]
        for before, name, file in renamed:
            _rename(names, before, name, file)
        contents = {name: file.after(cut, random) for name, file in sorted(names.items())}
        return type(self)(contents, seed=seed)

    def _name(self, before: str | None, name: str, file: File | None) -> None:
        self._renamed.append((before, name, file))
        _rename(self._files, before, name, file)

    def _file(self, name: str) -> File:
        if name not in self._files:
            raise self._error(name, errno.ENOENT)
        return self._files[name]

    def _begin(self, operation: str, name: str) -> None:
        if self.is_dead:
            raise CrashedError
        self.operations.append((operation, name))
        fault, number = self.fault, len(self.operations)
        if fault is not None and fault.code == errno.EIO and self._is_due(fault, number):
            raise self._error(name, errno.EIO)

    def _is_full(self) -> bool:
        fault = self.fault
        self._appends += 1
        return fault is not None and fault.code == errno.ENOSPC and self._is_due(fault, self._appends)

    @staticmethod
    def _is_due(fault: DiskFault, number: int) -> bool:
        return number == fault.at or (fault.lasts and number > fault.at)

    @contextmanager
    def _change(self, operation: str, name: str) -> Iterator[float]:
        """Do the part of an operation that the crash allows, and return its result."""
        self._begin(operation, name)
        self.changes += 1
        if self.crash is None or self.crash.at != self.changes:
            yield 1.0
            return
        if self.crash.share:
            yield self.crash.share
        self.is_dead = True
        raise CrashedError

    @staticmethod
    def _error(name: str, code: int) -> OSError:
        return OSError(code, os.strerror(code), name or "the run directory")


def _rename(names: dict[str, File], before: str | None, name: str, file: File | None) -> None:
    if before is not None:
        names.pop(before, None)
    if file is None:
        names.pop(name, None)
    else:
        names[name] = file
