"""What goes wrong between running actors.

PrismError
+-- ActorError
    +-- MailboxClosedError     a message for a mailbox that takes no more
    +-- MailboxFullError       a message over the limit of a mailbox that fails
    +-- MailboxReaderError     a second reader of one mailbox
    +-- RestartLimitError      an actor that crashed too often to be restarted
    +-- BarrierError           an answer that belongs to another tick
    +-- RunDirectoryError      a run directory that cannot be used              (exit 2)
"""

from __future__ import annotations

from typing import TypeVar

from prism.errors import PrismError

E = TypeVar("E", bound=BaseException)


def first_of(group: BaseExceptionGroup[BaseException], kind: type[E]) -> E | None:
    """The first error of this kind in a group, however deep; None when there is none."""
    found = group.subgroup(kind)
    error: BaseException | None = found
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error if isinstance(error, kind) else None


class ActorError(PrismError):
    """The root of what goes wrong between running actors."""


class MailboxClosedError(ActorError):
    """A message was put into a mailbox that is closed."""

    def __init__(self, mailbox: str) -> None:
        self.mailbox = mailbox
        super().__init__(f"mailbox {mailbox!r} is closed and takes no more messages")


class MailboxFullError(ActorError):
    """A message came over the limit of a mailbox whose policy is to fail."""

    def __init__(self, mailbox: str, capacity: int) -> None:
        self.mailbox = mailbox
        self.capacity = capacity
        super().__init__(f"mailbox {mailbox!r} is full with {capacity} messages; raise run.mailbox_capacity")


class MailboxReaderError(ActorError):
    """A second task tried to read a mailbox."""

    def __init__(self, mailbox: str) -> None:
        self.mailbox = mailbox
        super().__init__(f"mailbox {mailbox!r} has a reader already; one actor reads one mailbox")


class RestartLimitError(ActorError):
    """An actor crashed more often than its restart intensity allows."""

    def __init__(self, actor: str, crashes: int, period_ticks: int, error: BaseException) -> None:
        self.actor = actor
        self.crashes = crashes
        self.period_ticks = period_ticks
        self.error = error
        super().__init__(
            f"actor {actor!r} crashed {crashes} times within {period_ticks} ticks, last with "
            f"{type(error).__name__}: {error}"
        )


class BarrierError(ActorError):
    """An agent answered for a tick that is not the one the engine is in."""

    def __init__(self, agent: int, expected: int, got: int) -> None:
        self.agent = agent
        self.expected = expected
        self.got = got
        super().__init__(f"agent {agent} answered for tick {got}, the engine is in tick {expected}")


class RunDirectoryError(ActorError):
    """A run directory that cannot be used."""
