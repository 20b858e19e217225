"""The garbage collector, kept from looking at very many objects that all stay."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

FREEZE_FROM_AGENTS = 1000
"""The smallest population whose objects are taken out of the collector's sight.

The collection before the freeze looks at every object of the process (44 ms in a fresh one, more in a large notebook);
what it saves grows with the agents. Measured on the default configuration: 7% of the CPU time of 5,000 and 20,000
agents, nothing that can be told from noise with 1,000 or fewer.
"""


@contextmanager
def collector_paused() -> Iterator[None]:
    """No garbage collection in the block: it would look at all that is there again and again, and find nothing."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextmanager
def agents_frozen(agents: int) -> Iterator[None]:
    """No collection looks at what is there when the block begins, where there are agents enough for that to matter."""
    freezes = agents >= FREEZE_FROM_AGENTS
    if freezes:
        gc.collect()  # or garbage would be kept as well
        gc.freeze()
    try:
        yield
    finally:
        if freezes:
            gc.unfreeze()  # or it would be kept for the rest of the process
