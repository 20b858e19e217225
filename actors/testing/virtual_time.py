"""Virtual time: an event loop whose clock jumps to the next timer when nothing is ready, so that waiting costs nothing.

result = run_in_virtual_time(study)  # an async function; `await anyio.sleep(3600)` in it returns at once
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import anyio
from anyio import to_thread

T = TypeVar("T")


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """A loop in virtual time, for code that waits for timers and threads, not for sockets."""

    _ready: Any
    _scheduled: list[Any]
    _timer_cancelled_count: int
    _clock_resolution: float

    def __init__(self) -> None:
        super().__init__()
        self._now = 0.0
        self._clock_resolution = 1e-6  # the real clock's is too small to be added to a year
        self.is_held: Callable[[], bool] = lambda: False
        """Returns whether the clock has to stand still, because a thread works for the loop: its result comes first."""

    def time(self) -> float:
        """Return the virtual seconds since the loop was made."""
        return self._now

    def _run_once(self) -> None:
        if not self._ready and not self.is_held():
            # Discard cancelled timers, as the loop does later: with the time of one, it would really wait for the next.
            while self._scheduled and self._scheduled[0].cancelled():
                heapq.heappop(self._scheduled)._scheduled = False  # noqa: SLF001  # as asyncio's own loop does
                self._timer_cancelled_count -= 1
            if self._scheduled:
                self._now = max(self._now, self._scheduled[0].when())
        super()._run_once()  # type: ignore[misc]  # asyncio's own, which the type stubs leave out


def run_in_virtual_time(function: Callable[[], Awaitable[T]]) -> T:
    """Return the result of an async function that runs in virtual time.

    Time stands still while a thread of `anyio.to_thread` works. A thread of another kind takes no virtual time.
    """

    async def main() -> T:
        threads, loop = to_thread.current_default_thread_limiter(), asyncio.get_running_loop()
        if isinstance(loop, VirtualTimeLoop):
            loop.is_held = lambda: threads.borrowed_tokens > 0
        return await function()

    return anyio.run(main, backend_options={"loop_factory": VirtualTimeLoop})
