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
from collections.abc import Callable, Iterator
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


Until = Callable[[bytes], bytes]


@contextmanager
def on_a_terminal(script: str, kind: str = "xterm-256color") -> Iterator[tuple[subprocess.Popen[bytes], Until]]:
    """Provide a process whose standard error is a terminal, and a function that reads there until a text has come.

    The function returns all that has come so far. The process is killed at the end whatever happens.
    """
    main, other = pty.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
    command, environment = [sys.executable, "-c", script], {**os.environ, "TERM": kind}
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=other, env=environment, cwd=ROOT)
    os.close(other)
    seen = bytearray()

    def until(text: bytes) -> bytes:
        give_up = monotonic() + HANG_S
        while text not in seen:
            assert monotonic() < give_up, seen
            if select.select([main], [], [], 1.0)[0]:
                with suppress(OSError):  # Linux says EIO where the other end is closed
                    seen.extend(os.read(main, 65536))
        return bytes(seen)

    try:
        yield process, until
    finally:
        process.kill()
        process.wait()
        os.close(main)


@pytest.mark.everyday(1)
@pytest.mark.parametrize(("kind", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_leaving_at_once_gives_the_cursor_back(kind: signal.Signals, code: int) -> None:
    with on_a_terminal(ENDLESS) as (process, until):
        until(HIDES)
        process.send_signal(kind)
        until(b"a second signal exits at once")
        process.send_signal(kind)
        assert process.wait(timeout=HANG_S) == code
        seen = until(SHOWS)
    assert seen.count(HIDES) == 1
    assert seen.rfind(SHOWS) > seen.rfind(HIDES)


@pytest.mark.slow
def test_a_terminal_that_cannot_be_drawn_over_gets_a_line_from_time_to_time() -> None:
    often = "from actors.display import progress\nprogress.LINE_EVERY_S = 0.1\n"
    with on_a_terminal(ENDLESS.replace("import anyio\n", f"import anyio\n{often}"), kind="dumb") as (_, until):
        seen = until(b"idle=900 scrolling=100\r\n")
    assert seen.startswith(b"tick 300/1200 (25%) eta ")
    assert b"\x1b" not in seen
