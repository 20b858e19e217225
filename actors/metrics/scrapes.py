"""The scrapes of a run's page: at its end it stays until its scraper has read it twice more."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Condition, current_thread, main_thread

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
        self._changed = Condition()
        self._count = 0
        self._latest = float("-inf")
        self._is_given_up = False

    def add(self) -> None:
        with self._changed:
            self._latest = self._clock()
            self._count += 1
            self._changed.notify_all()

    def wait_for(self, longest_s: float) -> None:
        """Wait for two more scrapes, at most `longest_s`. A signal ends the wait.

        Do not wait if nobody has scraped for that time.
        """
        wanted = self._count + WANTED
        if self._clock() - self._latest <= longest_s:
            with _on_signal(self._give_up), self._changed:
                self._changed.wait_for(lambda: self._is_given_up or self._count >= wanted, longest_s)

    def _give_up(self) -> None:
        self._is_given_up = True
        with self._changed:
            self._changed.notify_all()


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
