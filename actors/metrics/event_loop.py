"""Measures of the event loop: its lag, and the number of its tasks.

For the lag, a task asks to be woken at a certain time, and measures how much later it was woken. These beats also
answer `/healthz`: a blocked loop has no beats, which other threads can see.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable

import anyio
import msgspec

PERIOD_S = 0.25
WINDOW_S = 60.0
"""The time over which the longest lag is reported: with a usual interval, at least one scrape falls into it."""


class Beat(msgspec.Struct, frozen=True):
    """One beat. It never changes, so any thread may read it.

    Args:
        lag_s: its lag; `lag_s_max`: the longest lag of the last minute.
        at: its time; `due`: the time of the next beat. Both are on the clock of `LoopLag`.
    """

    lag_s: float
    lag_s_max: float
    at: float
    due: float


class LoopLag:
    """A task that measures the lag of the event loop that it runs on.

    Args:
        clock: monotonic seconds; the same for every thread.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lags: deque[tuple[float, float]] = deque()
        """`(time, lag)`, with descending lags: a lag before a longer one is dropped."""
        self._beat: Beat | None = None

    async def run(self, on_beat: Callable[[], None] = lambda: None) -> None:
        """Beat until cancelled."""
        due = self._clock()
        while True:
            due = self._record_beat(due)
            on_beat()
            await anyio.sleep(PERIOD_S)

    def now(self) -> Beat | None:
        """Return the latest beat, for any thread; None before the first. A beat that is overdue counts as a lag."""
        beat = self._beat
        if beat is None:
            return None
        overdue_s = self._clock() - beat.due
        if overdue_s <= beat.lag_s:
            return beat
        return msgspec.structs.replace(beat, lag_s=overdue_s, lag_s_max=max(beat.lag_s_max, overdue_s))

    @property
    def age_s(self) -> float | None:
        """Seconds since the latest beat, for any thread; None before the first."""
        beat = self._beat
        return None if beat is None else self._clock() - beat.at

    def _record_beat(self, due: float) -> float:
        """Record a beat that was due at this time, and return the time of the next."""
        now = self._clock()
        lag = max(0.0, now - due)
        while self._lags and self._lags[-1][1] <= lag:
            self._lags.pop()
        self._lags.append((now, lag))
        while self._lags[0][0] < now - WINDOW_S:
            self._lags.popleft()
        self._beat = Beat(lag, self._lags[0][1], now, now + PERIOD_S)
        return self._beat.due


COUNT_PERIOD_S = 5.0
AGENTS_MAX = 100_000
"""The most agents with which tasks are counted: with more, a count holds up the loop for more than about 25 ms."""


class TaskCount:
    """A count of the tasks of the event loop: one for each agent, a dozen more, and any that leak.

    Tasks can only be counted in a list of all, which takes 0.3 us a task and holds up the loop. So they are counted
    seldom, and in a run of very many agents not at all.

    Args:
        clock: monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self.latest: int | None = None
        """The latest count; None before the first."""
        self._clock = clock
        self._due = float("-inf")

    def update(self, agents: int) -> None:
        """Count the tasks, if the last count is COUNT_PERIOD_S old and there are not too many agents."""
        if agents > AGENTS_MAX or self._clock() < self._due:
            return
        self.latest = len(asyncio.all_tasks())
        self._due = self._clock() + COUNT_PERIOD_S
