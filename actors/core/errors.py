"""The errors of a run: actors, mailboxes, run directories and their files.

PrismError
+-- ActorError
    +-- MailboxClosedError     a message for a mailbox that is closed
    +-- RunningLoopError       a run that would hold up the event loop it is begun in
    +-- RunDirectoryError      a run directory that cannot be used                  (exit 2)
    |   +-- NoMeasureError     a number that a run does not have                    (exit 2)
    |   +-- RunLockedError     a run directory in use by another process            (exit 2)
    +-- UntrustedCodeError     a user's own code that its user has not allowed      (exit 2)
    +-- InterruptedRunError    a run stopped by a signal in the middle of a tick    (exit 129, 130, 143)
    +-- AddressError           an address that cannot be listened on                (exit 2)
    +-- PlaceError             a place that cannot run the cells of an experiment   (exit 2)
    +-- JournalError           a record that cannot be written or read
        +-- DiskFailedError    a full or broken disk, found when a file of a run is created or replaced
        +-- DamagedError       a file whose content is not what was written
        +-- DivergedError      a tick that was run again with another result
"""

from __future__ import annotations

import errno
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from prism.errors import PrismError

E = TypeVar("E", bound=BaseException)


RESUME, REPEAT = "continue with `prism resume`", "run the same command again"
"""The remedies after the disk is repaired: resume the run, or repeat the command that made it."""

CODE_FILES_TOLD = 4
"""The most files of code that one error names."""


def first_error(group: BaseExceptionGroup[BaseException], kind: type[E]) -> E | None:
    """Return the first error of a kind in a group of groups."""
    error: BaseException | None = group.subgroup(kind)
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error if isinstance(error, kind) else None


@contextmanager
def ungrouped() -> Iterator[None]:
    """Raise the error of PRISM in a group that the block raises, or the only one in it, instead of the group."""
    try:
        yield
    except BaseExceptionGroup as group:
        error: BaseException = first_error(group, PrismError) or group
        while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
            error = error.exceptions[0]
        if isinstance(error, BaseExceptionGroup):
            raise
        raise error from error.__cause__


class ActorError(PrismError):
    """The root of the errors of a run."""


class PlaceError(ActorError):
    """A place that cannot run the cells of an experiment: Ray is missing, or no cluster is there, or none with room."""


class ShardLostError(ActorError):
    """A process with a part of the agents has ended, or its node."""

    def __init__(self, shard: int, reason: str) -> None:
        self.shard, self.reason = shard, reason
        super().__init__(f"shard {shard} is lost ({reason}); `prism resume` goes on from the latest checkpoint")


class UntrustedCodeError(ActorError):
    """A user's own code, `{file: SHA-256}`, that this user has not allowed, or only as other code of that name."""

    def __init__(self, files: Mapping[Path, str], *, is_changed: bool = False) -> None:
        self.files = dict(files)
        which = "is not the code that you have run here before" if is_changed else "you have not run here before"
        listed = _listed({str(file): sha256 for file, sha256 in self.files.items()})
        super().__init__(f"not run: {listed}: code that {which}; read it, and allow it with --trust")

    @property
    def reason(self) -> str:
        """The reason why something is not shown, for a page that others read: without places of this machine."""
        listed = _listed({file.name: sha256 for file, sha256 in self.files.items()})
        return f"only code could tell it that was not run: {listed}; --trust lets it be run"


def _listed(files: Mapping[str, str]) -> str:
    listed = [f"{name} (sha256 {sha256[:12]})" for name, sha256 in files.items()]
    more = f" and {len(listed) - CODE_FILES_TOLD:,} more" if len(listed) > CODE_FILES_TOLD else ""
    return f"{', '.join(listed[:CODE_FILES_TOLD])}{more}"


class MailboxClosedError(ActorError):
    def __init__(self, mailbox: str) -> None:
        super().__init__(f"mailbox {mailbox!r} is closed and takes no more messages")


class RunningLoopError(ActorError, RuntimeError):
    def __init__(self, function: str) -> None:
        super().__init__(
            f"{function}() cannot be called inside a running event loop, such as a notebook's: "
            f"use await {function}_async(...)"
        )


class RunDirectoryError(ActorError):
    """A run directory that cannot be used."""


class NoMeasureError(RunDirectoryError, LookupError):
    """A number that a run does not have."""


class RunLockedError(RunDirectoryError):
    def __init__(self, path: Path, holder: str) -> None:
        super().__init__(f"{path}: is in use by {holder}; one process at a time may work on a run")


class InterruptedRunError(ActorError):
    """A run that was stopped by a signal while its server was away, so that the tick under way could not end."""

    def __init__(self, signal: str, ticks: int, reason: str) -> None:
        self.signal, self.reason = signal, reason
        super().__init__(
            f"stopped by {signal} after {ticks:,} whole ticks, while the oracle was away ({reason}); no choice was "
            "made in its place, and `prism resume` goes on with the next tick"
        )


class JournalError(ActorError):
    """A record that cannot be written or read."""


class DiskFailedError(JournalError):
    """A disk that is full or broken. Once it is repaired, the same command can be run again."""


class DamagedError(JournalError):
    """A file of a run whose content is not what was written; `offset`: the first byte that cannot be trusted."""

    def __init__(self, file: str, offset: int, problem: str, remedy: str = "") -> None:
        self.file, self.offset, self.problem = file, offset, problem
        super().__init__(f"{file}: damaged at byte {offset}: {problem}{f'; {remedy}' if remedy else ''}")


class DivergedError(JournalError):
    """A tick that was run again with another result: the first, with the agent, the field and the two values."""

    def __init__(self, tick: int, difference: str) -> None:
        self.tick, self.difference = tick, difference
        super().__init__(f"tick {tick} came out differently than in the journal: {difference}")


class AddressError(ActorError):
    """An address that cannot be listened on; `names`: the settings of the host and of the port."""

    def __init__(self, use: str, host: str, port: int, error: OSError | UnicodeError, names: tuple[str, str]) -> None:
        problem = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        if isinstance(error, OSError) and error.errno in {errno.EADDRINUSE, errno.EACCES}:
            remedy = f"set {names[1]} to another port, or to 0 for any free one"
        else:  # the name is unknown, or the address is another machine's
            remedy = f"set {names[0]} to an address of this machine, such as 127.0.0.1"
        super().__init__(f"{use}: cannot listen on {host}:{port}: {problem}; {remedy}")


_REMEDIES = {
    errno.ENOSPC: "free some space",
    errno.EDQUOT: "free some space",
    errno.EFBIG: "raise ulimit -f",
    errno.EIO: "repair the disk",
}
DISK_ERRNOS = frozenset(_REMEDIES)
"""Error numbers of a failing disk, not of a wrong request: no space, a quota used up, a size limit, a fault."""


def run_directory_error(error: OSError, problem: str) -> RunDirectoryError | DiskFailedError:
    """Return the error for an operation on a run's directory that the system refuses; `problem` says what and where."""
    problem = f"{problem}: {error.strerror or error}"
    if error.errno in DISK_ERRNOS:
        return DiskFailedError(f"{problem}; {disk_remedy(error, REPEAT)}")
    return RunDirectoryError(problem)


def disk_remedy(error: OSError, then: str) -> str:
    """Return what to do about a disk that failed. `then`: `RESUME` or `REPEAT`."""
    return f"{_REMEDIES.get(error.errno or errno.EIO, _REMEDIES[errno.EIO])}, then {then}"
