"""The places for calls: limited in number at once and per second, and given to cells in turn."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import NamedTuple

import anyio

from actors.oracle.pace import TokenBucket


class _Waiting(NamedTuple):
    service: str
    granted: anyio.Event


class Places:
    """Places for calls. A cell that has many requests gets no more places than one that has few."""

    def __init__(self, places: int, rate_per_s: float | None = None) -> None:
        self.free = places
        self._bucket = TokenBucket(rate_per_s)
        self._has_waited = False
        self._queues: dict[str, deque[_Waiting]] = {}
        """`{cell: its requests}`; the first cell has had no turn for the longest time."""
        self._paused: dict[str, float] = {}  # `{service: the time until which it wants no calls}`
        self._timer: asyncio.TimerHandle | None = None

    @property
    def waiting(self) -> int:
        return sum(map(len, self._queues.values()))

    async def take(self, cell: str, service: str) -> None:
        """Wait for a place. It has to be given back."""
        waiting = _Waiting(service, anyio.Event())
        self._queues.setdefault(cell, deque()).append(waiting)
        self._grant()
        try:
            await waiting.granted.wait()
        except BaseException:
            if waiting.granted.is_set():
                self.give_back()
            else:
                queue = self._queues[cell]
                queue.remove(waiting)
                if not queue:
                    del self._queues[cell]
            raise

    def give_back(self) -> None:
        self.free += 1
        self._grant()

    def pause(self, service: str, seconds: float) -> None:
        """Start no call of a service for a time, as its server asks for."""
        until = asyncio.get_running_loop().time() + seconds
        self._paused[service] = max(until, self._paused.get(service, until))

    def _grant(self) -> None:
        """Let every request begin that may, and set a timer for the next one."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        loop = asyncio.get_running_loop()
        while self.free and self._queues:
            now = loop.time()
            if (delay_s := self._bucket.delay(now)) > 0.0:
                self._has_waited = True
                self._timer = loop.call_later(delay_s, self._grant)
                return
            cell = next((each for each, queue in self._queues.items() if self._may_begin(queue[0], now)), None)
            if cell is None:
                first = min(self._paused[queue[0].service] for queue in self._queues.values())
                self._timer = loop.call_later(max(0.0, first - now), self._grant)
                return
            self._bucket.take(now, waited=self._has_waited)
            self._has_waited = False
            self.free -= 1
            queue = self._queues.pop(cell)
            queue.popleft().granted.set()
            if queue:
                self._queues[cell] = queue  # the cell goes behind all others

    def _may_begin(self, waiting: _Waiting, now: float) -> bool:
        return self._paused.get(waiting.service, now) <= now
