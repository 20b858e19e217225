"""The scrapes of a run's page: at its end it stays until its scraper has read it twice more."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Condition, current_thread, main_thread

WANTED = 2
"""The scrapes after the end: a single one may be lost."""
INTERVALS = 2.5
"""The intervals between scrapes within which two of them come."""
MARGIN_S = 1.0


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
        self._latest: float | None = None
        self._interval_s = 0.0
        self._is_given_up = False

    def add(self) -> None:
        """Note a scrape."""
        now = self._clock()
        with self._changed:
            if self._latest is not None:
                self._interval_s = now - self._latest
            self._latest = now
            self._count += 1
            self._changed.notify_all()

    def patience_s(self, longest_s: float) -> float:
        """Return the seconds within which two more scrapes should come, at most `longest_s`.

        The result is 0 if nobody has scraped, or if the scraper has missed two scrapes and so seems gone. After a
        single scrape the interval is not known, and the result is `longest_s`.
        """
        if self._latest is None:
            return 0.0
        expected_s = longest_s if self._count == 1 else INTERVALS * self._interval_s + MARGIN_S
        return 0.0 if self._clock() - self._latest > expected_s else min(longest_s, expected_s)

    def wait_for(self, longest_s: float) -> None:
        """Wait for two more scrapes, only as long as they should take, at most `longest_s`. A signal ends the wait."""
        wanted, patience_s = self._count + WANTED, self.patience_s(longest_s)
        if patience_s:
            with _on_signal(self._give_up), self._changed:
                self._changed.wait_for(lambda: self._is_given_up or self._count >= wanted, patience_s)

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
