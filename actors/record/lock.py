"""The lock of a run directory, so that one process at a time works on it.

The operating system releases the lock when the process ends, in whatever way.
"""

from __future__ import annotations

import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from actors.core.errors import RunDirectoryError, RunLockedError, run_directory_error
from actors.core.files import open_own, read_regular, refuse_links

LOCK = "run.lock"
HOLDER_BYTES_MAX = 4096
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
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RunLockedError(directory, _holder(descriptor)) from None
        except OSError as error:
            raise RunDirectoryError(f"{directory / LOCK}: cannot be locked: {error.strerror}; {NO_LOCKS}") from None
        _write_holder(descriptor, directory)
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


def reader_sees_holder(directory: Path) -> str | None:
    """Return the process that works on a run directory, without touching its lock; None if there is none.

    For callers that look often: trying the lock holds it for an instant, and a run that begins in that instant would
    find it taken. The file names the process even after it was killed, so this checks that the process is alive. For a
    process on another machine, or in another container, only the lock itself shows this.
    """
    try:
        named = read_regular(directory / LOCK, HOLDER_BYTES_MAX).decode(errors="replace").strip()
    except OSError:
        return None
    if not named:
        return None
    parts = named.split()
    if len(parts) != 4 or parts[3] != socket.gethostname() or not parts[1].isdecimal():
        return holder_of(directory)
    try:
        os.kill(int(parts[1]), 0)  # signal 0 asks whether the process is there, and sends nothing
    except (ProcessLookupError, OverflowError):
        return None
    except PermissionError:
        pass
    return named


def _write_holder(descriptor: int, directory: Path) -> None:
    """Write the process that holds the lock into its file."""
    try:
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"process {os.getpid()} on {socket.gethostname()}\n".encode())
    except OSError as error:
        raise run_directory_error(error, f"{directory / LOCK}: cannot be written") from None


def _holder(descriptor: int) -> str:
    return os.pread(descriptor, 200, 0).decode(errors="replace").strip() or "another process"
