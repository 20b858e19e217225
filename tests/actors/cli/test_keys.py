"""Single keys from a terminal, which is as it was before when the command has ended, in whatever way."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from actors.cli.watch import Keys
from tests.catalogue import catalogue
from tests.paths import ROOT
from tests.patience import HANG_S

ECHO = """
import sys
from actors.cli.watch import Keys
with Keys() as keys:
    print("ready", keys.are_there, flush=True)
    while (key := keys.pressed(60.0)) != "q":
        if key == "!":
            raise ValueError
        print("key", key, flush=True)
"""


@contextmanager
def reading_keys() -> Iterator[tuple[subprocess.Popen[str], int, int]]:
    """A process that reads keys from a terminal of its own, our end of the terminal and the other."""
    main, other = pty.openpty()
    command = [sys.executable, "-c", f"import fcntl, termios\nfcntl.ioctl(0, termios.TIOCSCTTY, 0)\n{ECHO}"]
    process = subprocess.Popen(
        command,
        stdin=other,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=ROOT,
        start_new_session=True,
    )
    try:
        yield process, main, other
    finally:
        process.kill()
        process.communicate()
        os.close(main)
        os.close(other)


def is_line_by_line(terminal: int) -> bool:
    flags = termios.tcgetattr(terminal)[3]
    return bool(flags & termios.ICANON) and bool(flags & termios.ECHO)


@catalogue(("end", "code"), [("q", 0), ("!", 1), ("\x03", -signal.SIGINT), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_keys_come_one_by_one_and_the_terminal_is_restored_whatever_ends_the_command(end: str, code: int) -> None:
    with reading_keys() as (process, main, other):
        assert process.stdout is not None
        assert process.stdout.readline() == "ready True\n"
        assert not is_line_by_line(other)
        os.write(main, b"n")
        assert process.stdout.readline() == "key n\n"
        if end.startswith("SIG"):
            process.send_signal(signal.Signals[end])
        else:
            os.write(main, end.encode())
        assert process.wait(HANG_S) == code
        assert is_line_by_line(other)


def test_without_a_terminal_there_are_no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.isatty", lambda _: False)
    with Keys() as keys:
        assert not keys.are_there
        assert keys.pressed(0.0) == ""
