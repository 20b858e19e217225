"""A file with a page cache, and its content after a power cut."""

from __future__ import annotations

from enum import StrEnum, unique
from itertools import accumulate
from random import Random


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
        self.clean = len(content)
        """The number of first bytes that are the same in both, and safe."""
        self.appended: list[int] = []
        """Lengths of the appends that are not synced yet."""

    def sync(self) -> None:
        self.durable, self.clean, self.appended = bytes(self.content), len(self.content), []

    def truncate(self, size: int) -> None:
        del self.content[size:]
        self.clean = min(self.clean, size)
        self.appended = []

    def copy(self) -> File:
        other = File(self.durable)
        other.content, other.clean, other.appended = bytearray(self.content), self.clean, list(self.appended)
        return other

    def after(self, cut: Cut, random: Random) -> bytes:
        """Return the content after a power cut."""
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
