"""A mailbox that knows how long its messages wait. For the few mailboxes that everybody sends to, not for agents'."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import TypeVar

from actors.histogram import Histogram
from actors.mailbox import Mailbox

T = TypeVar("T")


class TimedMailbox(Mailbox[T]):
    """A mailbox whose reader takes batches, each of which is timed by its oldest message.

    A message that waited outside for room counts from when it was let in.

    Args:
        name: whose it is, for errors.
        capacity: most messages waiting.
        waits: where the oldest message's wait is counted, in seconds, once a batch.
        clock: seconds, from any start.
    """

    __slots__ = ("_clock", "_oldest", "_waits")

    def __init__(self, name: str, capacity: int, waits: Histogram, clock: Callable[[], float] = perf_counter) -> None:
        super().__init__(name, capacity)
        self._waits = waits
        self._clock = clock
        self._oldest = 0.0

    def put(self, message: T) -> bool:
        """True once the message is in; False, at once, when there is no room or somebody waits for room."""
        if not self.pending:
            self._oldest = self._clock()
        return super().put(message)

    def take_all(self) -> list[T]:
        """Every message, oldest first; empty when there is none."""
        messages = super().take_all()
        if messages:
            now = self._clock()
            self._waits.observe(now - self._oldest)
            self._oldest = now  # that of the messages that have been let in meanwhile, if any were
        return messages
