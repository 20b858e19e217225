"""The memory and the load of this machine, and the memory of a process, from /proc; unknown without /proc."""

from __future__ import annotations

import os
import time
from pathlib import Path

import msgspec

_MEMORY = Path("/proc/meminfo")
_STATISTICS = Path("/proc/stat")
_CONTAINER = Path("/sys/fs/cgroup")


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """The load of a node at one instant."""

    cpu: float  # the share of its processors that is busy, 0 to 1
    memory: float  # the share of its memory that is used, 0 to 1
    cells: int | None = None  # the cells that it runs; None if unknown
    at: float = 0.0  # the time, in seconds of an arbitrary clock of the driver


def available_bytes() -> int | None:
    """Return the bytes of memory that can still be used: of the machine, or of the container if it has fewer."""
    left = _machine_bytes("MemAvailable")
    try:
        limit, used = (
            int((_CONTAINER / name).read_text(encoding="ascii")) for name in ("memory.max", "memory.current")
        )
        counted = dict(line.split() for line in (_CONTAINER / "memory.stat").read_text(encoding="ascii").splitlines())
        in_container = limit - used + int(counted.get("inactive_file", 0))  # files that were read make room for others
    except (OSError, ValueError):  # no container, or one without a limit
        return left
    return in_container if left is None else min(left, in_container)


def resident_bytes(process: int) -> int | None:
    """Return the memory that a process holds; None if it has ended."""
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1])
    except (OSError, IndexError, ValueError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")


class LoadMeter:
    """A meter of this machine: the load since it was read last."""

    def __init__(self) -> None:
        self._before = _processor_times()

    def read(self, cells: int | None = None) -> Load:
        (busy_before, all_before), (busy, total) = self._before, _processor_times()
        self._before = (busy, total)
        whole, left = _machine_bytes("MemTotal"), _machine_bytes("MemAvailable")
        memory = 1 - left / whole if whole and left is not None else 0.0
        cpu = (busy - busy_before) / (total - all_before) if total > all_before else 0.0
        return Load(cpu=cpu, memory=memory, cells=cells, at=time.monotonic())


def _processor_times() -> tuple[int, int]:
    """Return the busy and all the clock ticks of the processors since the start."""
    try:
        times = [int(text) for text in _STATISTICS.read_text(encoding="ascii").split("\n", 1)[0].split()[1:9]]
    except (OSError, ValueError):
        return 0, 0
    return sum(times) - times[3] - times[4], sum(times)


def _machine_bytes(name: str) -> int | None:
    try:
        for line in _MEMORY.read_text(encoding="ascii").splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    return None
