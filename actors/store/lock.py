"""The lock of a run directory, so that one process at a time works on it.

The operating system releases the lock when the process ends, in whatever way.
"""

from __future__ import annotations

import fcntl
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from actors.core.errors import RunDirectoryError, RunLockedError, run_directory_error
from actors.core.files import open_own, refuse_links

LOCK = "run.lock"
LOOK_S = 0.1
"""The time for which a lock is tried: whoever looks for the holder of a lock has it for an instant."""
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
