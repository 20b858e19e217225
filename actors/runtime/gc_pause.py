"""Pauses of the garbage collector, which would examine very many objects that all stay in use; and what was freed."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from contextlib import contextmanager

FREEZE_FROM_AGENTS = 2000
"""The fewest agents whose objects are frozen: taken out of further collections.

The collection before the freeze examines every object of the process (44 ms in a fresh one, 70 ms with kernels,
more in a large notebook); the time that the freeze saves grows with the agents. Measured on the default configuration:
7% of the CPU time of 5,000 and 20,000 agents that are resident, and no difference from noise with 1,000 or fewer.
"""


M_ARENA_MAX = -8
"""glibc's number for the most heaps of a process."""


@contextmanager
def collector_paused() -> Iterator[None]:
    """Turn garbage collection off in the block: it would examine all objects again and again, and find no garbage."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def return_free_memory() -> None:
    """Return what was freed to the system, where the C library is glibc, which keeps it; this takes a millisecond.

    Otherwise every peak of a start, a fork or a checkpoint would stay: 100 MiB of the 410 of a soak.
    """
    if (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)) is not None:
        trim(0)


def share_one_heap() -> None:
    """Let all threads that begin from now on use one heap of the C library, where it is glibc.

    The top of another thread's heap is never returned: each segment that is sealed would leave 2 MiB more in use.
    """
    if (mallopt := getattr(ctypes.CDLL(None), "mallopt", None)) is not None:
        mallopt(M_ARENA_MAX, 1)


@contextmanager
def agents_frozen(agents: int) -> Iterator[None]:
    """Keep the objects that exist when the block begins out of collections, if so many agents are objects."""
    freezes = agents >= FREEZE_FROM_AGENTS
    if freezes:
        gc.collect()  # otherwise garbage would be frozen as well
        gc.freeze()
    return_free_memory()
    try:
        yield
    finally:
        if freezes:
            gc.unfreeze()  # otherwise they would stay frozen until the process ends
