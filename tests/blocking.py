"""The rule that no task may make a blocking call, for the tests that enforce it."""

from collections.abc import Iterator
from contextlib import contextmanager

from blockbuster import BlockBuster, blockbuster_ctx


@contextmanager
def nothing_blocks(modules: str | None = None) -> Iterator[BlockBuster]:
    """Let a blocking call in a task raise `BlockingError`: sleeping, files, sockets, locks.

    Args:
        modules: Only calls from this package are looked at; from anywhere by default.
    """
    with blockbuster_ctx(modules) as calls:
        # A measurement of coverage notes what each thread runs, under one lock for all threads.
        calls.functions["threading.Lock.acquire"].can_block_in("coverage/collector.py", "lock_data")
        yield calls
