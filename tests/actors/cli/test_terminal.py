"""A run on a terminal: what it draws, and that it leaves the terminal as it was."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from time import monotonic

import pytest

from tests.paths import ROOT
from tests.patience import HANG_S

HIDES, SHOWS = b"\x1b[?25l", b"\x1b[?25h"
ENDLESS = """
import anyio
from actors.display.progress import show_progress
from actors.runs.signals import StopOnSignal
from tests.actors.display.test_progress import READING

async def main():
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(StopOnSignal(lambda: None).run)  # a tick that does not end
        tasks.start_soon(show_progress, lambda: READING)

anyio.run(main)
"""


class Terminal:
    """A process whose standard error is a terminal, and what has come out there.

    Args:
        main: our end of the terminal.
    """

    def __init__(self, process: subprocess.Popen[bytes], main: int) -> None:
        self.process = process
        self.seen = b""
        self._main = main

    def until(self, text: bytes) -> None:
        """Read until the text has come."""
        give_up = monotonic() + HANG_S
        while text not in self.seen:
            assert monotonic() < give_up, self.seen
            self.read(1.0)

    def read(self, within_s: float) -> None:
        """Read what comes within this time; nothing does once the other end is closed."""
        if select.select([self._main], [], [], within_s)[0]:
            with suppress(OSError):  # Linux says EIO where the other end is closed
                self.seen += os.read(self._main, 65536)


@contextmanager
def on_a_terminal(script: str, kind: str = "xterm-256color") -> Iterator[Terminal]:
    """The process, killed at the end whatever happens."""
    main, other = pty.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
    command, environment = [sys.executable, "-c", script], {**os.environ, "TERM": kind}
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=other, env=environment, cwd=ROOT)
    os.close(other)
    try:
        yield Terminal(process, main)
    finally:
        process.kill()
        process.wait()
        os.close(main)


@pytest.mark.everyday(1)
@pytest.mark.parametrize(("kind", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_leaving_at_once_gives_the_cursor_back(kind: signal.Signals, code: int) -> None:
    with on_a_terminal(ENDLESS) as terminal:
        terminal.until(HIDES)
        terminal.process.send_signal(kind)
        terminal.until(b"a second signal exits at once")
        terminal.process.send_signal(kind)
        assert terminal.process.wait(timeout=HANG_S) == code
        terminal.until(SHOWS)
    assert terminal.seen.count(HIDES) == 1
    assert terminal.seen.rfind(SHOWS) > terminal.seen.rfind(HIDES)


@pytest.mark.slow
def test_a_terminal_that_cannot_be_drawn_over_gets_a_line_from_time_to_time() -> None:
    often = "from actors.display import progress\nprogress.LINE_EVERY_S = 0.1\n"
    with on_a_terminal(ENDLESS.replace("import anyio\n", f"import anyio\n{often}"), kind="dumb") as terminal:
        terminal.until(b"idle=900 scrolling=100\r\n")
        assert terminal.seen.startswith(b"tick 300/1200 (25%) eta ")
        assert b"\x1b" not in terminal.seen
