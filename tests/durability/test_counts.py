"""What a checkpoint counts: what a resumed run will not count again, and nothing else."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from actors.runtime.simulation import Simulation
from prism.social.domain import SocialDomain
from prism.social.people.population import build_population
from prism.statechart import Oracle
from tests.actors.oracles import ScriptedOracle, SlowOracle, failing
from tests.actors.social_runs import SMALL, with_oracle
from tests.schedules import run_scheduled


async def snapshots(schedule: int, concurrency: int, broken: Oracle[Any] | None = None) -> int:
    """How many questions were open at the checkpoints between all ticks of a run, where every count was right."""
    config = with_oracle(SMALL, max_concurrency=concurrency)
    domain = SocialDomain(config, build_population(config.population, config.simulation.seed))
    slow = SlowOracle(broken or domain.oracle(), schedule, 0.05)
    simulation, open_questions = Simulation(config, domain, slow), 0

    async def look() -> None:
        nonlocal open_questions
        state, _ = await simulation.checkpoint()
        undecided = len(state.engine.asked) - len(state.engine.decided)
        assert state.oracle.answered == state.counters.questions - undecided
        assert state.oracle.calls + state.oracle.fallbacks.get("breaker_open", 0) == state.oracle.answered
        if broken is not None:
            assert sum(state.oracle.fallbacks.values()) == state.oracle.answered
        open_questions += undecided

    await simulation.run(between=look)
    return open_questions


@pytest.mark.everyday(1)
@pytest.mark.parametrize("concurrency", [1, 64])
def test_calls_and_answers_of_open_questions_are_left_to_the_run_that_asks_them_again(concurrency: int) -> None:
    seen = [run_scheduled(seed, partial(snapshots, seed, concurrency)) for seed in range(3)]
    assert min(seen) > 10


def test_fallbacks_of_open_questions_are_left_to_it_as_well() -> None:
    broken = ScriptedOracle(failing(ValueError("broken")))
    assert run_scheduled(1, partial(snapshots, 1, 64, broken)) > 10
