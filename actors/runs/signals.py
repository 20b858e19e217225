"""How a run is told to stop: SIGINT or SIGTERM finishes the tick, a second one leaves at once."""

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
    """Listens for SIGINT and SIGTERM.

    Args:
        stop: called at the first signal.
    """

    def __init__(self, stop: Callable[[], None]) -> None:
        self._stop = stop
        self.received: signal.Signals | None = None

    @staticmethod
    def number(name: str) -> int:
        """The number of a signal by its name, such as 2 for SIGINT."""
        return signal.Signals[name].value

    async def run(self) -> None:
        """Wait for the first signal; from then on the next one ends the process, also when the loop is blocked."""
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            async for received in signals:
                self.received = received
                break
        # Before it is said that a second one leaves: whoever reads that may send it at once.
        for kind in (signal.SIGINT, signal.SIGTERM):
            signal.signal(kind, _leave)
        sys.stderr.write(
            f"prism: {received.name}: finishing this tick; once more to leave at once (resumable either way)\n"
        )
        self._stop()


def _leave(kind: int, _: FrameType | None) -> None:
    # A live display hides the cursor. It also stands in for `sys.stderr` and drops what is not text, and whatever this
    # signal has interrupted may be in the middle of a write there: hence the descriptor itself.
    if os.isatty(STANDARD_ERROR):
        os.write(STANDARD_ERROR, SHOW_CURSOR)
    os._exit(EXIT_BASE + kind)
