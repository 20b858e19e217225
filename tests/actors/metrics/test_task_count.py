from __future__ import annotations

import math

import anyio
import pytest

from actors.metrics.event_loop import AGENTS_MAX, COUNT_PERIOD_S, TaskCount
from prism.config import Config, PopulationConfig, SimulationConfig
from tests.actors.metrics.support import Watched
from tests.schedules import run_scheduled


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


async def test_tasks_of_very_many_agents_are_not_counted() -> None:
    tasks = TaskCount(lambda: 0.0)
    tasks.update(AGENTS_MAX + 1)
    assert tasks.latest is None
    tasks.update(AGENTS_MAX)
    assert tasks.latest is not None


@pytest.mark.parametrize("most", [AGENTS_MAX, 10])
def test_a_run_shows_a_task_for_each_agent_and_a_few_more(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("actors.metrics.event_loop.AGENTS_MAX", most)
    others = []
    for size in (12, 300):
        settings = Config(population=PopulationConfig(size=size), simulation=SimulationConfig(rounds=2))
        watched = Watched(settings)
        assert math.isnan(watched.scrape().value("prism_event_loop_tasks")), "nothing has been counted yet"
        run_scheduled(0, watched.simulation.run)
        shown = watched.scrape().value("prism_event_loop_tasks")
        assert math.isnan(shown) == (most < size)
        others.append(shown - size)
    if most == AGENTS_MAX:
        assert len(set(others)) == 1, "the others do not become more with the agents"
        assert 1 <= others[0] <= 20
