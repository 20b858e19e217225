"""The scrapes of a run's page: at its end it stays until its scraper has read it twice more."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, current_thread, main_thread

WANTED = 2
"""The scrapes after the end: a single one may be lost."""


class Scrapes:
    """The times of the latest scrapes by Prometheus, or by a client that scrapes as it does. For any thread.

    Other clients may read the page only once, so nothing waits for them.

    Args:
        clock: seconds, from any start.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._latest = float("-inf")
        self._left = WANTED
        self._enough = Event()

    def add(self) -> None:
        self._latest = self._clock()
        self._left -= 1
        if self._left <= 0:
            self._enough.set()

    def wait_for(self, longest_s: float) -> None:
        """Wait for two more scrapes, at most `longest_s`. A signal ends the wait.

        Do not wait if nobody has scraped for that time.
        """
        self._left = WANTED
        self._enough.clear()
        if self._clock() - self._latest <= longest_s:
            with _on_signal(self._enough.set):
                self._enough.wait(longest_s)


@contextmanager
def _on_signal(function: Callable[[], None]) -> Iterator[None]:
    """Call a function at SIGINT and SIGTERM in the block; in a thread that gets no signals, do nothing."""
    if current_thread() is not main_thread():
        yield
        return
    kinds = (signal.SIGINT, signal.SIGTERM)
    before = {kind: signal.signal(kind, lambda *_: function()) for kind in kinds}
    try:
        yield
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)
