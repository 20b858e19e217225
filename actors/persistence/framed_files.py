"""Files of frames: a magic number, then one frame after the other. The journal, the oracle's log and checkpoints."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from actors.core.errors import DamagedError, JournalError
from actors.core.frames import Damage, Frame, read_frame
from actors.persistence.disk import Disk

_BLOCK = 1 << 20


def check_magic(disk: Disk, name: str, magic: bytes) -> None:
    """Check that a file begins with its magic number.

    Raises:
        DamagedError: it does not.
    """
    if disk.read(name, 0, len(magic)) != magic:
        raise DamagedError(name, 0, f"it does not begin with {magic!r}")


def read_frames(disk: Disk, name: str, offset: int) -> Iterator[tuple[int, Frame | Damage]]:
    """`(offset, frame)` of any file of frames, read block by block; the last item is the damage, if there is any.

    Raises:
        JournalError: it cannot be read.
    """
    with reading(name):
        size = disk.size(name)
    data, base, start = b"", offset, 0
    while base + start < size:
        found = read_frame(data, start, base + start)
        if isinstance(found, Frame):
            yield base + start, found
            start = found.end - base
        elif found.is_end and base + len(data) < size:  # only the block ends here
            data, base, start = data[start:], base + start, 0
            with reading(name):
                data += disk.read(name, base + len(data), max(_BLOCK, len(data)))
        else:
            yield base + start, found
            return


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Turn what the system says about a file that cannot be read into one clear line."""
    try:
        yield
    except OSError as error:
        raise JournalError(
            f"{error.filename or name}: {error.strerror}; nothing is lost by that: mend it, then use `prism resume`"
        ) from error
