"""The processes that pack segments, as the system lists them."""

from __future__ import annotations

import time
from pathlib import Path

from tests.patience import HANG_S


def packers_of(run: int) -> list[int]:
    """Return the processes that pack segments for a process."""
    return [pid for pid, parent in _packers().items() if parent == run]


def ends(pid: int) -> None:
    """Wait until a process has ended."""
    until = time.monotonic() + HANG_S
    while pid in _packers():
        assert time.monotonic() < until, f"{pid} goes on"
        time.sleep(0.01)


def _packers() -> dict[int, int]:
    """Return `{process: its parent}` of those that have not ended."""
    found = {}
    for place in Path("/proc").glob("[0-9]*"):
        try:
            command, status = (place / "cmdline").read_bytes(), (place / "stat").read_text(encoding="utf-8")
        except OSError:
            continue
        state, parent = status.rpartition(")")[2].split()[:2]
        if b"actors.persistence.packing" in command and state != "Z":
            found[int(place.name)] = int(parent)
    return found
