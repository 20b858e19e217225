"""Pauses of the garbage collector, which would examine very many objects that all stay in use."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

FREEZE_FROM_AGENTS = 2000
"""The fewest agents whose objects are frozen: taken out of further collections.

The collection before the freeze examines every object of the process (44 ms in a fresh one, 70 ms with kernels,
more in a large notebook); the time that the freeze saves grows with the agents. Measured on the default configuration:
7% of the CPU time of 5,000 and 20,000 agents that are resident, and no difference from noise with 1,000 or fewer.
"""


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


@contextmanager
def agents_frozen(agents: int) -> Iterator[None]:
    """Keep the objects that exist when the block begins out of collections, from FREEZE_FROM_AGENTS agents on.

    Args:
        agents: the number of agents that are objects; in a compiled run none is, and the collection would cost a tenth
            of its time.
    """
    freezes = agents >= FREEZE_FROM_AGENTS
    if freezes:
        gc.collect()  # otherwise garbage would be frozen as well
        gc.freeze()
    try:
        yield
    finally:
        if freezes:
            gc.unfreeze()  # otherwise they would stay frozen until the process ends
