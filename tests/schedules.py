"""A seeded asyncio event loop: each step runs one ready handle, drawn at random, and time is virtual.

Plain asyncio runs what is ready first in, first out, so a test sees one schedule however often it runs. A program must
not care; here each seed is another schedule, and the same seed is the same one again. Timers fire in the order of their
time, and only when nothing is ready: a wait costs nothing and is exact.
"""

import asyncio
import functools
import heapq
import math
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from random import Random
from typing import Any, ParamSpec, TypeVar

import anyio
import pytest

from actors.core.mailbox import Bell
from tests.tiers import size

P = ParamSpec("P")
R = TypeVar("R")
Result = TypeVar("Result")

EVERYDAY_SCHEDULES = 5
"""The fewest schedules in any tier; a planted bug of ordering was found by the second."""


class DeadlockError(AssertionError):
    """Every task waits and no timer is set, so nothing will ever happen again."""


class ScheduledLoop(asyncio.SelectorEventLoop):
    """A loop whose schedule follows from its seed. It serves no sockets and no threads."""

    _ready: deque[asyncio.Handle]
    _scheduled: list[asyncio.TimerHandle]

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._random = Random(seed)
        self._now = 0.0
        self.unhandled: list[dict[str, Any]] = []
        """Errors that asyncio would only have logged: in callbacks, and in tasks whose result nothing read."""

    def time(self) -> float:
        return self._now

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        self.unhandled.append(context)

    def _run_once(self) -> None:
        while not self._ready:
            self._fire_next_timers()
        # The stop of `run_until_complete` is a handle like any other: what it overtakes runs when the loop goes on.
        position = self._random.randrange(len(self._ready))
        handle = self._ready[position]
        bell = getattr(handle._callback, "__self__", None)  # type: ignore[attr-defined]
        if isinstance(bell, Bell) and len(bell.rung) > 1:  # any of its readers may be next, with others in between
            reader = bell.rung.pop(self._random.randrange(len(bell.rung)))
            reader.context.run(reader.wake_up, reader)
            return
        del self._ready[position]
        if not handle.cancelled():
            handle._run()

    def _fire_next_timers(self) -> None:
        while self._scheduled and self._scheduled[0].cancelled():
            heapq.heappop(self._scheduled)
        if not self._scheduled or math.isinf(self._scheduled[0].when()):
            raise DeadlockError(f"every task waits at {self._now} s: {asyncio.all_tasks(self)}")
        self._now = max(self._now, self._scheduled[0].when())
        while self._scheduled and self._scheduled[0].when() <= self._now:
            timer = heapq.heappop(self._scheduled)
            timer._scheduled = False  # type: ignore[attr-defined]  # what asyncio's own loop notes here
            self._ready.append(timer)


def run_scheduled(seed: int, async_fn: Callable[[], Awaitable[Result]]) -> Result:
    """Return the result of the function in the schedule of this seed. It must not hang, leave tasks or hide errors."""
    loop = ScheduledLoop(seed)

    async def main() -> Result:
        result = await async_fn()
        left = asyncio.all_tasks() - {asyncio.current_task()}
        # A task that is done counts until its callbacks have run; one that goes on waiting is a leak.
        for _ in range(100):
            left = {task for task in left if not task.done()}
            if not left:
                break
            await asyncio.sleep(0)
        assert not left, f"tasks were left behind: {left}"
        return result

    try:
        result = anyio.run(main, backend="asyncio", backend_options={"loop_factory": lambda: loop})
    except BaseException as error:
        error.add_note(f"in the schedule of seed {seed}")
        raise
    assert not loop.unhandled, f"nobody looked at {loop.unhandled}"
    return result


def in_schedules(full: int) -> Callable[[Callable[P, Coroutine[Any, Any, R]]], Callable[P, None]]:
    """Return a decorator that runs an async test in this many schedules, seeds 0 and up; a quarter of them daily."""
    everyday = min(full, max(EVERYDAY_SCHEDULES, full // 4))

    def decorate(test: Callable[P, Coroutine[Any, Any, R]]) -> Callable[P, None]:
        @functools.wraps(test)
        def run(*args: P.args, **kwargs: P.kwargs) -> None:
            for seed in range(size()(full, everyday=everyday)):
                run_scheduled(seed, functools.partial(test, *args, **kwargs))

        return pytest.mark.sized(run) if everyday < full else run

    return decorate
