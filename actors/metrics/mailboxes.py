"""Measures of mailboxes: waits in those with many senders, and totals over all agents' mailboxes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import TypeVar

from actors.core.mailbox import Mailbox
from actors.metrics.histogram import Histogram

T = TypeVar("T")


class TimedMailbox(Mailbox[T]):
    """A mailbox that times the wait of the oldest message in each batch.

    The wait of a message whose sender waited for room is counted from its arrival in the mailbox.

    Args:
        name: its name in errors.
        capacity: the most messages it holds.
        waits: counts the wait of the oldest message, in seconds, once a batch.
        clock: seconds, from any start.
    """

    __slots__ = ("_clock", "_oldest", "_waits")

    def __init__(self, name: str, capacity: int, waits: Histogram, clock: Callable[[], float] = perf_counter) -> None:
        super().__init__(name, capacity)
        self._waits = waits
        self._clock = clock
        self._oldest = 0.0

    def put(self, message: T) -> bool:
        """Put a message in and return True; return False at once when there is no room or a sender waits for room."""
        if not self.pending:
            self._oldest = self._clock()
        return super().put(message)

    def take_all(self) -> list[T]:
        """Remove and return every message, oldest first; empty when there is none."""
        messages = super().take_all()
        if messages:
            now = self._clock()
            self._waits.observe(now - self._oldest)
            self._oldest = now  # the arrival of messages whose senders waited for room, if any
        return messages


STEP_MAILBOXES = 1_000
"""Mailboxes that one step reads, which takes less than a millisecond."""


class MailboxTotals:
    """Totals over many mailboxes, which are read in steps.

    Up to 1,000 mailboxes the totals are exact; those of a million, which take 1,000 steps, are minutes old.

    Args:
        mailboxes: all of them.
    """

    def __init__(self, mailboxes: Sequence[Mailbox[bytes]]) -> None:
        self._mailboxes = mailboxes
        self._next = 0
        self._refused = 0
        self.depth_max = 0
        """The most messages that have waited in one of them."""
        self.refused = 0
        """Messages refused by all of them, after the latest complete pass."""

    def step(self) -> None:
        """Read the next mailboxes."""
        end = min(self._next + STEP_MAILBOXES, len(self._mailboxes))
        for mailbox in self._mailboxes[self._next : end]:
            depth_max, refused = mailbox.pressure()
            self.depth_max = max(self.depth_max, depth_max)
            self._refused += refused
        self._next = end
        if end == len(self._mailboxes):
            self.refused = self._refused
            self._refused = self._next = 0
