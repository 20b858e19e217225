"""Measures of mailboxes: how long messages wait in the few that everybody sends to, and sums over all agents' ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import TypeVar

from actors.core.mailbox import Mailbox
from actors.metrics.histogram import Histogram

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


SHARE = 1_000
"""Mailboxes looked at in one step, which takes less than a millisecond."""


class MailboxTotals:
    """Figures of many mailboxes, as old as the step in which each was last looked at.

    Up to 1,000 mailboxes they are exact; of a million, which take 1,000 steps, they are minutes old.

    Args:
        mailboxes: all of them.
    """

    def __init__(self, mailboxes: Sequence[Mailbox[bytes]]) -> None:
        self._mailboxes = mailboxes
        self._next = 0
        self._refused = self._dropped = 0
        self.depth_max = 0
        """The most messages that ever waited in one of them."""
        self.refused = self.dropped = 0
        """Messages refused and dropped by all of them, at the end of the latest sweep."""

    def step(self) -> None:
        """Look at the next share of them."""
        end = min(self._next + SHARE, len(self._mailboxes))
        for mailbox in self._mailboxes[self._next : end]:
            counts = mailbox.statistics()
            self.depth_max = max(self.depth_max, counts.depth_max)
            self._refused += counts.refused
            self._dropped += counts.dropped
        self._next = end
        if end == len(self._mailboxes):
            self.refused, self.dropped = self._refused, self._dropped
            self._refused = self._dropped = self._next = 0
