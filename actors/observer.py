"""What the actors of a run tell whoever watches it. They tell it in any case; by default nobody listens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from actors.core.snapshot import RunSnapshot
from actors.mailbox import Mailbox, MailboxStatistics
from prism.measure import Measure


class RunView(Protocol):
    """What an observer may look at of a run, on the run's thread and between two of its steps."""

    @property
    def mailboxes(self) -> Sequence[Mailbox[bytes]]:
        """The agents' mailboxes, by number."""

    def measures(self) -> Sequence[Measure]:
        """What the world shows of itself. Between two ticks only."""

    def snapshot(self, mailboxes: Mapping[str, MailboxStatistics]) -> RunSnapshot:
        """Return the state of the run now.

        Args:
            mailboxes: counts of the mailboxes `engine`, `decisions` and `oracle`, which the observer has made.
        """


class Observer:
    """Listens to a run, all of it on the run's thread, and keeps nothing. `actors.metrics.Metrics` does.

    An observer must not raise, must not wait, and must not change anything: a run is the same with and without it.
    """

    def mailbox(self, name: str, capacity: int) -> Mailbox[bytes]:
        """A mailbox that many send to, of `engine`, `decisions` or `oracle`."""
        return Mailbox(name, capacity)

    def watches(self, run: RunView) -> None:
        """A run is ready to begin; this is the one."""

    async def run(self) -> None:
        """Live alongside the simulation, until cancelled at its end."""

    def tick_ended(self, duration_s: float) -> None:
        """A tick was committed, and took this long."""

    def asked(self, waited_s: float) -> None:
        """A question is put to the oracle after it has waited this long."""

    def answered(self, reason: str, duration_s: float, tick: int) -> None:
        """A call to the oracle ended: `reason` why it failed, empty for an answer; `tick` that of the question."""

    def committed(self, duration_s: float, size: int, ticks: int = 1) -> None:
        """Frames of `ticks` ticks, `size` bytes in all, were written to the journal and synced."""

    def resumed(self, size: int, ticks: int) -> None:
        """The journal holds `ticks` ticks in `size` bytes from before this process."""

    def checkpointed(self) -> None:
        """A checkpoint was written and synced."""
