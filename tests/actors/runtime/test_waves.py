"""Ticks that run in one call of a kernel, beside the same ticks one by one."""

import asyncio
from typing import Any

import pytest

from actors.factory.config_file import read_settings
from actors.factory.domains import build_domain
from actors.runtime.simulation import Simulation
from tests.tiers import Size


class Run:
    """A run at once, and how many of its ticks ran in how many calls."""

    def __init__(self, *settings: str, one_by_one: bool = False) -> None:
        config = read_settings(["run.activation=compiled", "population.size=120", "simulation.rounds=4", *settings])
        self.simulation = Simulation(config, build_domain(config).domain)
        self.together: list[int] = []
        stretch = self.simulation.engine._stretch_of

        def counted(*given: Any) -> Any:
            found = None if one_by_one else stretch(*given)
            if found is not None:
                self.together.append(found.ticks)
            return found

        self.simulation.engine._stretch_of = counted
        ticks: list[int] = []
        asyncio.run(self.simulation.run(ticks.append, every=config.simulation.ticks_per_round))
        assert ticks == [*range(1, self.simulation.ticks + 1)]

    def outcome(self) -> tuple[Any, ...]:
        """Return all that a run comes to, but for times."""
        engine, counters = self.simulation.engine, self.simulation.counters
        return (
            engine.digest.hexdigest(),
            dict(counters.rows),
            (counters.activations, counters.questions),
            engine.open_questions.asked(),
            (self.simulation.oracle.statistics.answered, self.simulation.oracle.statistics.calls),
            self.simulation.domain.world.totals(),
            [*self.simulation.domain.world.columns()],
        )


SETTINGS = [
    (),
    ("population.deliberation_minutes=0",),
    ("feed.exposure=complex", "oracle.choice.exposure=0.3", "population.relevance.exposure=0.2"),
    ("population.deliberation_minutes=9", "population.ambiguity=0.6", "population.quality_sigma=0.8"),
    ("population.quality_sigma=0.8", "population.posts_by_followers=0.5"),
    ("feed.algorithm=chronological", "simulation.seed=7", "population.activity.mean=0.9"),
    ("simulation.tick_seconds=600", "population.ambiguity=0.9"),
]


def test_ticks_together_come_to_what_they_come_to_one_by_one(size: Size) -> None:
    for settings in SETTINGS[: size(len(SETTINGS), everyday=3)]:
        one_by_one, together = Run(*settings, one_by_one=True), Run(*settings)
        assert together.outcome() == one_by_one.outcome(), settings
        assert max(together.together) > 4
        assert sum(together.together) > together.simulation.ticks // 2


@pytest.mark.parametrize(
    "settings",
    [
        ("run.record_feeds=true",),
        ("run.tick_s=0.001", "simulation.rounds=1"),
        ("oracle.max_calls=5", "oracle.when_spent=fallback"),
        ('interventions=[{round: 1, publish: {author: 3, text: "Hear, hear", topics: [science]}}]',),
    ],
)
def test_a_run_that_must_be_seen_tick_by_tick_is(settings: tuple[str, ...]) -> None:
    run = Run(*settings)
    assert sum(run.together) < run.simulation.ticks // 2
    assert run.outcome()[0] == Run(*settings, one_by_one=True).outcome()[0]
