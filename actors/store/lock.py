"""The lock of a run directory, so that one process at a time works on it, and the phase of that process.

The operating system releases the lock when the process ends, in whatever way.
"""

from __future__ import annotations

import fcntl
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import SimpleQueue
from threading import Thread

import msgspec

from actors.core.errors import RunDirectoryError, RunLockedError, run_directory_error
from actors.core.events import Event, PhaseChanged
from actors.core.files import open_own, refuse_links
from actors.core.phase import Phase

LOCK = "run.lock"
LOOK_S = 0.1  # the time for which a lock is tried: whoever looks for the holder of a lock has it for an instant
PHASE = "phase.json"
PATIENCE_S = 1.0  # the time for which a run waits for the file at its end: a disk that hangs must not hold up the end
NO_LOCKS = "this file system has no locks (flock), so write to another one"


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Hold the lock of a run directory, in which no file or directory is a link.

    After a crash the file stays, without a meaning: only the lock counts, and only a living process can hold it.

    Raises:
        RunLockedError: another process holds it; the message names the process.
        RunDirectoryError: the lock file cannot be created or locked, or the directory has a link.
        DiskFailedError: the disk is full or broken.
    """
    try:
        descriptor = open_own(directory / LOCK, os.O_RDWR | os.O_CREAT)
        refuse_links(directory)
    except OSError as error:
        raise run_directory_error(error, f"{error.filename or directory / LOCK}: cannot be opened") from None
    try:
        until = time.monotonic() + LOOK_S
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    raise RunLockedError(directory, _holder(descriptor)) from None
            except OSError as error:
                raise RunDirectoryError(f"{directory / LOCK}: cannot be locked: {error.strerror}; {NO_LOCKS}") from None
            time.sleep(LOOK_S / 10)
        try:
            os.ftruncate(descriptor, 0)
            os.write(descriptor, f"process {os.getpid()} on {socket.gethostname()}\n".encode())
        except OSError as error:
            raise run_directory_error(error, f"{directory / LOCK}: cannot be written") from None
        try:
            yield
        finally:
            os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


def holder_of(directory: Path) -> str | None:
    """Return the process that works on a run directory, as "process 12 on host"; None if there is none.

    No process can work on a directory in a file system without locks.
    """
    try:
        descriptor = os.open(directory / LOCK, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _holder(descriptor)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return None


def _holder(descriptor: int) -> str:
    return os.pread(descriptor, 200, 0).decode(errors="replace").strip() or "another process"


class PhaseNote(msgspec.Struct, frozen=True, kw_only=True):
    """The content of the file."""

    phase: Phase
    since: float  # Unix time at which the phase began
    reason: str = ""  # why the run waits; empty if it does not


class PhaseFile:
    """A file that a thread writes at each change of phase, and removes at the end. As a context manager it blocks.

    It is only for people to read, so it is not synced, and an error of the disk ends it silently.
    """

    def __init__(self, path: Path) -> None:
        self._path = path / PHASE
        self._notes: SimpleQueue[PhaseNote | None] = SimpleQueue()
        self._writer = Thread(target=self._write, name="phase", daemon=True)

    def __enter__(self) -> PhaseFile:
        self._writer.start()
        self._put(Phase.STARTING)
        return self

    def __exit__(self, *_: object) -> None:
        self._notes.put(None)
        self._writer.join(PATIENCE_S)

    def hear(self, event: Event) -> None:
        if isinstance(event, PhaseChanged):
            self._put(event.phase, event.reason)

    def _put(self, phase: Phase, reason: str = "") -> None:
        self._notes.put(PhaseNote(phase=phase, since=time.time(), reason=reason))

    def _write(self) -> None:
        draft = self._path.with_name(f".{PHASE}.tmp")
        with suppress(OSError):
            while (note := self._notes.get()) is not None:
                draft.unlink(missing_ok=True)
                with os.fdopen(open_own(draft, os.O_WRONLY | os.O_CREAT), "wb") as file:
                    file.write(msgspec.json.encode(note) + b"\n")
                draft.replace(self._path)
        for path in (draft, self._path):
            with suppress(OSError):
                path.unlink(missing_ok=True)
