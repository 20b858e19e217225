"""A checkpoint that a fork of this process writes, while the run goes on.

A fork shares the memory of its process. The system copies a page once one of the two changes it, so the fork sees the
world between two ticks. For a million people it begins in 20 ms; to copy their columns would hold up the run for 3 s.
"""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from anyio import to_thread

from actors.core.state import RunState
from actors.store.checkpoint import Draft, Position
from actors.store.disk import Disk, RealDisk
from prism.columns import Column

OTHER_ERROR = 255
"""The exit code for an error that has no number of the system's."""
LIMIT_S = 600.0
"""The seconds after which a fork counts as stuck: it may wait for a lock that a thread of its parent held."""
PR_SET_PDEATHSIG = 1
"""Linux's number for: send me a signal once my parent has ended."""
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def fork_directory(disk: Disk) -> Path | None:
    """Return the directory of a disk that a fork can write to; None if there is none.

    Only on Linux do the libraries of the system work in a fork.
    """
    return disk.path if sys.platform == "linux" and isinstance(disk, RealDisk) else None


class ForkedCheckpoint:
    """A checkpoint whose draft a fork writes.

    Args:
        path: the directory of the run.
        columns: yields the world's columns.

    Raises:
        OSError: there is no room for one more process, or for its memory.
    """

    def __init__(
        self, position: Position, state: RunState, path: Path, columns: Callable[[], Iterable[Column]]
    ) -> None:
        self.tick, self._code, self.is_given_up = position.tick, -1, False
        parent = os.getpid()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)  # the handlers of this process are not the fork's
        try:
            self._fork = os.fork()
            if not self._fork:
                _write_and_exit(parent, position, state, path, columns)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    async def wait(self) -> int:
        """Wait until the fork has ended. Return 0 if the draft is whole, else the number of an error of the system."""
        try:
            _, status = await to_thread.run_sync(os.waitpid, self._fork, 0, abandon_on_cancel=True)
            self._code = os.waitstatus_to_exitcode(status) % (OTHER_ERROR + 1)
        except ChildProcessError:  # whoever began this process lets it ignore the ends of its own
            self._code = OTHER_ERROR
        except BaseException:
            self.give_up()
            raise
        return self._code

    def give_up(self) -> None:
        """End the fork, so that there is no checkpoint."""
        self.is_given_up = True
        if self._code < 0:
            with suppress(ProcessLookupError):  # it has just ended
                os.kill(self._fork, signal.SIGKILL)


def _write_and_exit(
    parent: int, position: Position, state: RunState, path: Path, columns: Callable[[], Iterable[Column]]
) -> None:
    """Write the draft, and end this process without any clean-up: all else in it belongs to its parent."""
    code = OTHER_ERROR
    try:
        # It ends with its parent or when it is stuck, and holds none of its parent's locks and sockets.
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, LIMIT_S)
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() == parent:
            os.closerange(3, os.sysconf("SC_OPEN_MAX"))
            gc.disable()  # a collection would touch all objects, and so copy them
            Draft(RealDisk(path), position, state).end(columns())
            code = 0
    except OSError as error:
        code = error.errno or OTHER_ERROR
    finally:
        os._exit(code)
