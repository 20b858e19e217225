"""Measures of the event loop: how late it is, and how many tasks it has.

The lag: a task asks to be woken at a moment, and looks how much later it was. These beats are also the sign of life
behind `/healthz`: a loop that is blocked does not beat, and other threads see it.
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
"""How far back the longest lag is looked for: at least one scrape of a usual interval falls into it."""


class Beat(msgspec.Struct, frozen=True):
    """One beat, never changed, so that any thread may read it.

    Args:
        lag_s: how late it was; `lag_s_max`: the longest of the last minute.
        at: when it was, and `due`: when the next one should be, on the clock of `LoopLag`.
    """

    lag_s: float
    lag_s_max: float
    at: float
    due: float


class LoopLag:
    """Measures the loop it runs on.

    Args:
        clock: monotonic seconds; the same for every thread.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lags: deque[tuple[float, float]] = deque()
        """`(when, lag)`, with falling lags: whatever a later and longer one hides is dropped."""
        self._beat: Beat | None = None

    async def run(self, on_beat: Callable[[], None] = lambda: None) -> None:
        """Beat until cancelled.

        Args:
            on_beat: called after each beat.
        """
        due = self._clock()
        while True:
            due = self._note(due)
            on_beat()
            await anyio.sleep(PERIOD_S)

    def now(self) -> Beat | None:
        """The latest beat, from any thread, None before the first. One that is overdue counts as a lag already."""
        beat = self._beat
        if beat is None:
            return None
        overdue_s = self._clock() - beat.due
        if overdue_s <= beat.lag_s:
            return beat
        return msgspec.structs.replace(beat, lag_s=overdue_s, lag_s_max=max(beat.lag_s_max, overdue_s))

    @property
    def age_s(self) -> float | None:
        """How long ago the latest beat was, from any thread; None before the first."""
        beat = self._beat
        return None if beat is None else self._clock() - beat.at

    def _note(self, due: float) -> float:
        """Note a beat that was due then, and say when the next one is."""
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
"""Beyond this many agents a count would hold up the loop for more than about 25 ms."""


class TaskCount:
    """Counts the tasks of the loop it is called on: one for each agent, a dozen more, and whatever leaks.

    They can only be counted by listing them, which takes 0.3 us each and holds up the loop. So they are counted
    seldom, and in a run of very many agents not at all.

    Args:
        clock: monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self.latest: int | None = None
        """None before the first count."""
        self._clock = clock
        self._due = float("-inf")

    def look(self, agents: int) -> None:
        """Count them, if the last count is a while ago and there are not too many agents."""
        if agents > AGENTS_MAX or self._clock() < self._due:
            return
        self.latest = len(asyncio.all_tasks())
        self._due = self._clock() + COUNT_PERIOD_S
