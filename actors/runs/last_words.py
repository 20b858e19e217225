"""The last words of a process that others may end: another process says them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from subprocess import DEVNULL, PIPE, Popen

_SAY = "import sys; sys.stdin.read() or sys.stderr.write(sys.argv[1])"


@contextmanager
def last_words(words: str) -> Iterator[None]:
    """Return a context that leaves a line on standard error if the process ends in it, however that comes about.

    Ray ends a process whose node is gone by a call of the system, so that nothing in the process could say so.
    """
    # In a session of its own: the Ctrl-C of a terminal goes to all processes of the session.
    command = [sys.executable, "-I", "-S", "-c", _SAY, f"prism: {words}\n"]
    with Popen(command, stdin=PIPE, stdout=DEVNULL, start_new_session=True) as speaker:  # noqa: S603  # this Python
        try:
            yield
        finally:
            speaker.communicate(b"nothing to say")
