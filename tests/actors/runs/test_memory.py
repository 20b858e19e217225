"""Memory that was freed goes back to the system, when a run begins and after its checkpoints."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from actors import Observer, run
from actors.runtime.gc_pause import agents_frozen
from deploy.soak.memory import memory_of
from prism.config import Config

PIECE, PIECES = 10_000, 8000  # bytes: too long for Python's own arenas, too short for a mapping of its own
FREED = PIECE * PIECES


def kept_free() -> tuple[list[bytes], int]:
    """Let glibc keep what was freed, below a piece that is in use; return that piece and the resident memory."""
    pieces = [b"x" * (PIECE + number % 2) for number in range(PIECES)]
    last = pieces[-1:]
    del pieces
    return last, memory_of("self").rss_bytes


class Wasteful(Observer):
    """An observer that has freed much by the end of the last tick."""

    held: tuple[list[bytes], int] = [], 0

    def tick_ended(self, duration_s: float) -> None:
        self.held = kept_free()


def test_what_was_freed_before_a_run_begins_is_returned() -> None:
    held, before = kept_free()
    with agents_frozen(0):
        assert memory_of("self").rss_bytes < before - FREED // 2
    assert len(held) == 1


def test_what_was_freed_before_a_checkpoint_is_returned_after_it(tmp_path: Path) -> None:
    observer = Wasteful()
    run(Config(population={"size": 40}, simulation={"ticks": 3}), out=tmp_path / "run", observer=observer)  # type: ignore[arg-type]
    assert memory_of("self").rss_bytes < observer.held[1] - FREED // 2


HEAPS = """
import ctypes, sys, threading
from actors.runtime.gc_pause import share_one_heap
if sys.argv[1] == "shared":
    share_one_heap()
held = []
threads = [threading.Thread(target=lambda: held.extend(bytes(5000) for _ in range(2000))) for _ in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
ctypes.CDLL(None).malloc_stats()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="heaps of threads are glibc's")
def test_threads_of_a_run_share_one_heap() -> None:
    shown = {
        way: subprocess.run([sys.executable, "-c", HEAPS, way], capture_output=True, text=True, check=True).stderr
        for way in ("shared", "apart")
    }
    assert "Arena 1:" not in shown["shared"]
    assert "Arena 1:" in shown["apart"]
