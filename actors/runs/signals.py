"""Signals that stop a run: SIGINT or SIGTERM lets it finish the tick, a second one ends the process at once."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from types import FrameType

import anyio

EXIT_BASE = 128
"""A run stopped by signal n exits with 128 + n, as shells report it."""

STANDARD_ERROR = 2
SHOW_CURSOR = b"\x1b[?25h\n"


class StopOnSignal:
    """A task that waits for SIGINT or SIGTERM.

    Args:
        stop: called at the first signal.
    """

    def __init__(self, stop: Callable[[], None]) -> None:
        self._stop = stop
        self.received: signal.Signals | None = None

    @staticmethod
    def number(name: str) -> int:
        """Return the number of a signal by its name, such as 2 for SIGINT."""
        return signal.Signals[name].value

    async def run(self) -> None:
        """Wait for the first signal, and stop the run. The next one ends the process, even if the loop is blocked."""
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            async for received in signals:
                self.received = received
                break
        # Done before the message: a user who reads it may send the second signal at once.
        for kind in (signal.SIGINT, signal.SIGTERM):
            signal.signal(kind, _exit_at_once)
        sys.stderr.write(
            f"prism: {received.name}: finishing this tick; a second signal exits at once "
            "(the run can be resumed in both cases)\n"
        )
        self._stop()


def _exit_at_once(kind: int, _: FrameType | None) -> None:
    # A live display hides the cursor. It also replaces `sys.stderr` by an object that drops escape codes, and this
    # signal may have interrupted a write to it: so the escape code is written to the descriptor itself.
    if os.isatty(STANDARD_ERROR):
        os.write(STANDARD_ERROR, SHOW_CURSOR)
    os._exit(EXIT_BASE + kind)
