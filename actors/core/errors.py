"""What goes wrong between running actors.

PrismError
+-- ActorError
    +-- MailboxClosedError     a message for a mailbox that takes no more
    +-- MailboxFullError       a message over the limit of a mailbox that fails
    +-- MailboxReaderError     a second reader of one mailbox
    +-- RestartLimitError      an actor that crashed too often to be restarted
    +-- BarrierError           an answer that belongs to another tick
    +-- RunDirectoryError      a run directory that cannot be used              (exit 2)
    |   +-- RunLockedError     another process is at work in it                 (exit 2)
    |   +-- ResumeRefusedError what is there now is not what the run began with (exit 2)
    |       +-- ForkRefusedError a fork that would have another past            (exit 2)
    +-- MetricsAddressError    an address that cannot be listened on            (exit 2)
    +-- WatchError             metrics of another run that cannot be read
    +-- JournalError           a record that cannot be written or read
        +-- DiskFailedError    a full or broken disk, found when a file of a run is begun or replaced
        +-- DamagedError       a file that is not what was written
        +-- DivergedError      a run that is done again and comes out differently
"""

from __future__ import annotations

import errno
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, TypeVar

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


class RunLockedError(RunDirectoryError):
    """Another process is at work in a run directory."""

    def __init__(self, path: Path, holder: str) -> None:
        self.path = path
        self.holder = holder
        super().__init__(f"{path}: is in use by {holder}; one process at a time may work on a run")


class ResumeRefusedError(RunDirectoryError):
    """A run that cannot go on, because what is there now is not what it began with.

    Args:
        path: the run.
        changes: what has changed, in words.
        remedy: what to do.
    """

    refusal: ClassVar[str] = "cannot go on"

    def __init__(self, path: Path, changes: Sequence[str], remedy: str) -> None:
        self.path = path
        self.changes = tuple(changes)
        self.remedy = remedy
        super().__init__(f"{path}: {self.refusal}: {'; '.join(changes)}. {remedy}")


class ForkRefusedError(ResumeRefusedError):
    """A run of which no such fork can be made."""

    refusal = "cannot branch off"


class JournalError(ActorError):
    """A record that cannot be written or read."""


class DiskFailedError(JournalError):
    """A disk that is full or broken: once it is mended, the same command does what it was to do."""


class DamagedError(JournalError):
    """A file of a run that is not what was written.

    Args:
        file: its name.
        offset: the byte from which on it cannot be trusted.
        problem: how one can tell.
        remedy: what to do.
    """

    def __init__(self, file: str, offset: int, problem: str, remedy: str = "") -> None:
        self.file = file
        self.offset = offset
        self.problem = problem
        self.remedy = remedy
        super().__init__(f"{file}: damaged at byte {offset}: {problem}{f'; {remedy}' if remedy else ''}")


class DivergedError(JournalError):
    """A tick that was run again and came out differently.

    Args:
        tick: the first that differs.
        difference: which agent and field, and the two values.
    """

    def __init__(self, tick: int, difference: str) -> None:
        self.tick = tick
        self.difference = difference
        super().__init__(f"tick {tick} came out differently than in the journal: {difference}")


class MetricsAddressError(ActorError):
    """The metrics' address cannot be listened on."""

    def __init__(self, host: str, port: int, problem: str) -> None:
        self.host = host
        self.port = port
        self.problem = problem
        super().__init__(
            f"metrics: cannot listen on {host}:{port}: {problem}; set metrics.port to another port, or to 0 for any "
            "free one"
        )


class WatchError(ActorError):
    """The metrics of a run that goes on elsewhere cannot be read."""

    def __init__(self, where: str, problem: str) -> None:
        self.where = where
        self.problem = problem
        super().__init__(f"{where}: {problem}")


PASSING = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
"""What is wrong with a disk and not with what was asked for: no room, none left of a quota, a limit, a fault."""


def unusable(error: OSError, what: str) -> RunDirectoryError | DiskFailedError:
    """What to raise when the system cannot do something to a run's directory.

    Args:
        what: the file or directory, and what cannot be done to it.
    """
    kind = DiskFailedError if error.errno in PASSING else RunDirectoryError
    return kind(f"{what}: {error.strerror}")
