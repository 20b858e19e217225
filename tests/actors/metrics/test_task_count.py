from __future__ import annotations

import anyio

from actors.metrics.event_loop import AGENTS_MAX, COUNT_PERIOD_S, TaskCount


async def test_tasks_are_counted_and_a_leak_of_them_shows() -> None:
    now = 0.0
    tasks = TaskCount(lambda: now)
    async with anyio.create_task_group() as group:
        tasks.update(0)
        before = tasks.latest or 0
        assert before > 0
        for _ in range(7):
            group.start_soon(anyio.sleep_forever)
        now = COUNT_PERIOD_S / 2
        tasks.update(0)
        assert tasks.latest == before, "too soon"
        now = COUNT_PERIOD_S
        tasks.update(0)
        assert tasks.latest == before + 7
        group.cancel_scope.cancel()
    tasks = TaskCount(lambda: 0.0)
    tasks.update(AGENTS_MAX + 1)
    assert tasks.latest is None, "too many to be counted"
