"""Single keys from the terminal, while the block runs."""

from __future__ import annotations

import os
import select
import signal
import sys
import termios
import time
import tty
from collections.abc import Callable
from types import FrameType
from typing import Any

FATAL = (signal.SIGTERM, signal.SIGHUP)
"""The signals that would end the process at once, and leave the terminal as it is."""


class Keys:
    """Keys, each as it is pressed. Where standard input is no terminal of this process, there are none.

    The terminal passes on keys at once, and shows none of them, until the block ends: also by an error, Ctrl-C or a
    signal. After Ctrl-Z and `fg` it does so again.
    """

    def __init__(self) -> None:
        self._before: list[Any] | None = None
        self._handlers: dict[signal.Signals, Any] = {}

    @property
    def are_there(self) -> bool:
        """True if keys can be pressed."""
        return self._before is not None

    def __enter__(self) -> Keys:
        if _is_own_terminal():
            self._before = termios.tcgetattr(0)
            self._handle(_end, *FATAL)
            self._handle(self._go_on, signal.SIGCONT)
            tty.setcbreak(0, termios.TCSANOW)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            termios.tcsetattr(0, termios.TCSANOW, self._before)
            for kind, handler in self._handlers.items():
                signal.signal(kind, handler)
            self._before = None

    def pressed(self, within_s: float) -> str:
        """Wait for a key, and return it; empty if none is pressed in that time."""
        if self._before is None:
            time.sleep(within_s)
            return ""
        if not select.select([0], [], [], within_s)[0]:
            return ""
        key = os.read(0, 1)
        if not key:  # the terminal is gone
            raise KeyboardInterrupt
        return key.decode(errors="replace")

    def _handle(self, handler: Callable[[int, FrameType | None], None], *kinds: signal.Signals) -> None:
        for kind in kinds:
            self._handlers[kind] = signal.signal(kind, handler)

    def _go_on(self, _: int, __: FrameType | None) -> None:
        if self._before is not None and _is_own_terminal():
            tty.setcbreak(0, termios.TCSANOW)


def _end(kind: int, _: FrameType | None) -> None:
    sys.exit(128 + kind)


def _is_own_terminal() -> bool:
    """Return whether standard input is a terminal, and this process is not in its background."""
    try:
        return os.isatty(0) and os.tcgetpgrp(0) == os.getpgrp()
    except OSError:
        return False
