"""The slots in which a model runs calls, the queue before them, and the limit on the calls of a second."""

from __future__ import annotations

import asyncio
from collections import deque

from tests.standin.errors import BusyError


class Slots:
    """`limit` calls run at once, in order of arrival (OLLAMA_NUM_PARALLEL); `max_queue` wait (OLLAMA_MAX_QUEUE).

    The real server bounds the queue only until the model is loaded: after that its runner queues without a limit.
    This one bounds both, so that a test can see the 503.
    """

    def __init__(self, limit: int, max_queue: int) -> None:
        self.limit = limit
        self.max_queue = max_queue
        self.busy = 0
        self.peak_busy = 0
        self.peak_waiting = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def waiting(self) -> int:
        """The calls in the queue."""
        return len(self._waiting)

    async def acquire(self) -> None:
        """Return once the caller has a slot.

        Raises:
            BusyError: the queue is full.
        """
        if self.busy < self.limit:
            self.busy += 1
            self.peak_busy = max(self.peak_busy, self.busy)
            return
        if self.waiting >= self.max_queue:
            raise BusyError
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        self.peak_waiting = max(self.peak_waiting, self.waiting)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # the slot came in the same moment: hand it on
                self.release()
            elif turn in self._waiting:  # a release in the same moment may have passed it over already
                self._waiting.remove(turn)
            raise

    def release(self) -> None:
        """Give the slot to the call that waits longest, or free it."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self.busy -= 1


class RateLimit:
    """A bucket of tokens, full at first, that holds those of one second."""

    def __init__(self) -> None:
        self._tokens = float("inf")
        self._seen_s = 0.0

    def take(self, rate_per_s: float, now: float) -> float:
        """Take a token and return 0; if there is none, return the seconds until there is one."""
        most = max(1.0, rate_per_s)
        self._tokens = min(most, self._tokens + (now - self._seen_s) * rate_per_s)
        self._seen_s = now
        if self._tokens < 1.0:
            return (1.0 - self._tokens) / rate_per_s
        self._tokens -= 1.0
        return 0.0
