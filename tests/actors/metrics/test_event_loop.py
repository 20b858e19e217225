"""How late the event loop is, on a clock that the test sets."""

from __future__ import annotations

import anyio

from actors.metrics.observer import BEATS, PERIOD_S, LoopLag
from tests.schedules import in_schedules


class LateClock:
    """The loop's own time, and what a blocked loop adds to it."""

    def __init__(self) -> None:
        self.blocked_s = 0.0

    def __call__(self) -> float:
        return anyio.current_time() + self.blocked_s


async def beats(lag: LoopLag, seconds: float) -> None:
    """Let it beat for so long."""
    with anyio.move_on_after(seconds):
        await lag.run()


@in_schedules(1)
async def test_a_block_is_the_lag_of_the_beat_that_it_delayed() -> None:
    clock = LateClock()
    lag = LoopLag(clock)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lag.run)
        await anyio.sleep(1.1)
        clock.blocked_s += 3.0
        await anyio.sleep(PERIOD_S)
        late = lag.now()
        await anyio.sleep(2 * PERIOD_S)
        after = lag.now()
        await anyio.sleep(BEATS * PERIOD_S + 1.0)
        gone = lag.now()
        tasks.cancel_scope.cancel()
    assert 2.7 < late[0] <= 3.0
    assert after[0] == 0.0
    assert after[1] == late[0]
    assert gone[1] == 0.0


@in_schedules(1)
async def test_an_overdue_beat_is_a_lag_already() -> None:
    clock = LateClock()
    lag = LoopLag(clock)
    await beats(lag, 1.1)
    clock.blocked_s += 30.0
    beat = lag.now()
    assert 29.0 < beat[0] == beat[1] <= 30.0
    assert lag.age_s is not None
    assert lag.age_s > 29.0
