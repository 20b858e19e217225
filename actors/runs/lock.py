"""One process at a time works on a run: a lock that the operating system lets go of when the process ends, however."""

from __future__ import annotations

import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from actors.core.errors import RunDirectoryError, RunLockedError, run_directory_error

LOCK = "run.lock"


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Hold the lock of a run directory.

    The file stays behind after a crash and means nothing then: what counts is whether a living process holds it.

    Raises:
        RunLockedError: another process holds it; the message says which.
        RunDirectoryError: the lock file cannot be made.
        DiskFailedError: there is no room for it.
    """
    try:
        descriptor = os.open(directory / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise run_directory_error(error, f"{directory / LOCK}: cannot be opened") from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RunLockedError(directory, _holder(descriptor)) from None
        except OSError as error:  # a file system without locks
            raise RunDirectoryError(f"{directory / LOCK}: cannot be locked: {error.strerror}") from None
        _sign(descriptor, directory)
        yield
        os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


def holder_of(directory: Path) -> str | None:
    """Who is at work in a run directory, as "process 12 on host"; None if nobody is."""
    try:
        descriptor = os.open(directory / LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _holder(descriptor)
    finally:
        os.close(descriptor)
    return None


def _sign(descriptor: int, directory: Path) -> None:
    """Say who holds it."""
    try:
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"process {os.getpid()} on {socket.gethostname()}\n".encode())
    except OSError as error:
        raise run_directory_error(error, f"{directory / LOCK}: cannot be written") from None


def _holder(descriptor: int) -> str:
    return os.pread(descriptor, 200, 0).decode(errors="replace").strip() or "another process"
