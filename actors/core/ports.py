"""The ports of a run: what its actors tell an observer and a record, and ask of them.

By default nobody observes and nothing is recorded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import msgspec

from actors.core.mailbox import Mailbox, MailboxStatistics
from actors.core.messages import Decided
from actors.core.snapshot import RunSnapshot
from prism.agents import Question
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


class Address(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where a run's metrics are, and who may read them. The content of `metrics.json` while the run is under way.

    Args:
        url: without a path.
        username: whose password is needed, if any.
        tls_cert: the server's certificate, if any.
    """

    url: str
    username: str | None = None
    tls_cert: str | None = None


class Observer:
    """Listens to a run, all of it on the run's thread, and keeps nothing. `actors.metrics.observer.Metrics` does.

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


class Recorder(Protocol):
    """What the engine tells of each tick, and asks about a tick that has been run before."""

    def late(self, tick: int) -> frozenset[int] | None:  # noqa: ARG002  # nothing was run before
        """The agents whose decisions came too late in this tick when it was first run; None if this is the first time.

        In real time that depends on a clock, so it cannot be worked out again.
        """
        return None

    def is_recorded(self, tick: int) -> bool:  # noqa: ARG002  # nothing was run before
        """Whether this tick was run before, so that it is only done again."""
        return False

    async def commit(self, tick: int, frame: bytes) -> None:
        """A tick's frame, before the next tick begins.

        Raises:
            JournalError: it cannot be kept, or it is not what was recorded.
        """


class Answers(Protocol):
    """What the oracle actor tells of each answer, and asks about a question that has been asked before."""

    def known(self, question: Question[Any]) -> Decided | None:  # noqa: ARG002  # nothing was asked before
        """The answer that came when this question was first asked; None if it has to be asked now."""
        return None

    async def keep(self, decided: bytes) -> None:
        """An answer, before anybody acts on it."""


class Record(Recorder, Answers, Protocol):
    """Where a whole run is kept."""


class Unrecorded(Record):
    """No record: a run in memory."""

    async def commit(self, tick: int, frame: bytes) -> None:
        """Let it go."""

    async def keep(self, decided: bytes) -> None:
        """Let it go."""
