"""The memory of a process that is in RAM, by what takes it, as /proc/PID/smaps has it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

PARTS: Final = {
    "libraries_bytes": "libraries",
    "heaps_bytes": "kernels, arrays and buffers",
    "objects_bytes": "Python objects and large arrays",
}
"""`{field of Memory: its name in a report}`."""
_ARENA: Final = 64 << 20
"""glibc gives each thread a heap that begins at a multiple of this."""
_LINES: Final = re.compile(rb"^(?:([0-9a-f]+)-\S+ \S+ \S+ \S+ \d+ *(\S*)|Rss: +(\d+))", re.MULTILINE)
"""A mapping, by its first address and its file, and the KiB of it that are in RAM."""


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """The memory of a process that is in RAM.

    Args:
        libraries_bytes: of files: Python and its libraries; LLVM takes 70 MiB where kernels are compiled.
        heaps_bytes: that glibc keeps for C: kernels and their descriptions, arrays of up to 32 MiB, buffers.
        objects_bytes: all other: the objects of Python, and large arrays.
    """

    rss_bytes: int
    libraries_bytes: int
    heaps_bytes: int
    objects_bytes: int


def memory_of(pid: int | str) -> Memory:
    """Return the memory of a process now, by its number or `self`."""
    parts, part = dict.fromkeys(PARTS, 0), ""
    for found in _LINES.finditer(Path(f"/proc/{pid}/smaps").read_bytes()):
        start, file, resident_kib = found.groups()
        if start is None:
            parts[part] += 1024 * int(resident_kib)
        else:
            is_heap = file == b"[heap]" or (not file and int(start, 16) % _ARENA == 0)
            part = "libraries_bytes" if file.startswith(b"/") else "heaps_bytes" if is_heap else "objects_bytes"
    return Memory(rss_bytes=sum(parts.values()), **parts)


def told(gained: float, parts: Mapping[str, float], limit: str, *, rises: bool) -> str:
    """Return in a sentence what rose, and why it is no leak if it is none.

    Args:
        gained: MiB of all memory from the end of the warm-up on; `parts`: those of each part, by its name.
        limit: a slope below which a rise in the second half is none.
        rises: whether the memory goes on to rise there.
    """
    most = max(parts, key=lambda name: parts[name])
    rose = f"{gained:+.1f} MiB after the warm-up, {parts[most]:+.1f} in {most}"
    if rises:
        return f"The memory RISES: {rose}, and it goes on in the second half."
    why = "room that filled and stays" if gained > 0 else "what was freed went back to the system"
    return f"The memory does not rise: {rose}; in the second half by no more than chance or {limit}, so this is {why}."
