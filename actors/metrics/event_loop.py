"""The lag of the event loop: a task asks to be woken at a certain time, and measures how much later it was woken.

These beats also answer `/healthz`: a blocked loop has no beats, which other threads can see.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

import anyio

PERIOD_S = 0.25
BEATS = 240
"""The beats among which the longest lag is reported, a minute of them: longer than a usual interval of scrapes."""


class LoopLag:
    """A task that measures the lag of the event loop that it runs on. Any thread may read it.

    Args:
        clock: monotonic seconds; the same for every thread.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._beats: deque[tuple[float, float]] = deque(maxlen=BEATS)
        """`(time, lag)` of the latest beats, the oldest first."""

    async def run(self, on_beat: Callable[[], None] = lambda: None) -> None:
        """Beat until cancelled."""
        while True:
            self.beat()
            on_beat()
            await anyio.sleep(PERIOD_S)

    def beat(self) -> None:
        now = self._clock()
        due = self._beats[-1][0] + PERIOD_S if self._beats else now
        self._beats.append((now, max(0.0, now - due)))

    def now(self) -> tuple[float, float]:
        """Return the lag and the longest of the last minute, in seconds; 0 before the first beat.

        A beat that is overdue counts as a lag.
        """
        beats = tuple(self._beats)
        if not beats:
            return 0.0, 0.0
        at, lag_s = beats[-1]
        lag_s = max(lag_s, self._clock() - at - PERIOD_S)
        return lag_s, max(lag_s, *(each for _, each in beats))

    @property
    def age_s(self) -> float | None:
        """Seconds since the latest beat; None before the first."""
        beats = tuple(self._beats)
        return self._clock() - beats[-1][0] if beats else None
