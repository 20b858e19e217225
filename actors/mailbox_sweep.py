"""Sums over the mailboxes of all agents, some of them at a time: a million at once would take half a second."""

from __future__ import annotations

from collections.abc import Sequence

from actors.mailbox import Mailbox

SHARE = 1_000
"""Mailboxes looked at in one step, which takes less than a millisecond."""


class MailboxSweep:
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
