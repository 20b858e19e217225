"""Runs whose questions share judgements: one result in every schedule, with failures and audits."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace

from actors.runtime.simulation import Simulation
from prism.config import Config
from prism.statechart import Oracle
from tests.actors.oracles import SlowJudge
from tests.actors.social_runs import (
    SMALL,
    run,
    with_deliberation,
    with_oracle,
    with_sharing,
    with_simulation,
)
from tests.schedules import run_scheduled
from tests.tiers import Size


def with_people(config: Config, size: int) -> Config:
    """Return the configuration with so many people."""
    return replace(config, population=replace(config.population, size=size))


SHARED = with_sharing(
    with_oracle(with_people(with_simulation(SMALL, rounds=7), 64), max_attempts=1, max_fallback_share=None),
    by="archetype",
    archetype={"followed": "exact"},
    audit=0.5,
)
"""Few archetypes, and many audits."""


def slow(oracle: Oracle[Any], seed: int = 0, fails: float = 0.2) -> Oracle[Any]:
    return SlowJudge(oracle, seed, fails)


def outcome(done: Simulation) -> tuple[object, ...]:
    """Return all that must be the same in every schedule."""
    sharing = done.oracle.sharing
    assert sharing is not None
    judged = sorted((each.name, each.probabilities, each.shared) for each in sharing.audits)
    return done.engine.digest.hexdigest(), done.oracle.statistics.roles, sharing.table.known, judged


def shared_run(config: Config, schedule: int, fails: float = 0.2) -> Simulation:
    return run_scheduled(schedule, partial(run, config, partial(slow, seed=schedule, fails=fails)))


@pytest.mark.parametrize(("deliberation", "full", "everyday"), [(4, 20, 2), (0, 8, 1)])
def test_every_schedule_gives_the_same_result(deliberation: int, full: int, everyday: int, size: Size) -> None:
    config = with_deliberation(deliberation, SHARED)
    done = shared_run(config, 0)
    roles = done.oracle.statistics.roles
    assert roles["owner"] >= 2, "the run has everything that could depend on a schedule"
    assert roles["audited"] >= 20
    assert roles["shared"] >= 30
    assert done.oracle.statistics.fallbacks["not_an_option"] >= 5
    for schedule in range(1, size(full, everyday=everyday)):
        assert outcome(shared_run(config, schedule)) == outcome(done), schedule


def test_questions_of_one_archetype_are_asked_once() -> None:
    config = with_sharing(SHARED, audit=0.0)
    done = shared_run(config, 0, fails=0.0)
    oracle = done.oracle.oracle
    assert isinstance(oracle, SlowJudge)
    assert len(oracle.asked) == 2
    assert done.oracle.statistics.calls == 2
    assert done.oracle.statistics.methods["shared"] == done.oracle.statistics.answered - 2


def test_where_the_one_that_is_asked_for_all_fails_the_next_is_asked() -> None:
    config = with_sharing(SHARED, audit=0.0)
    done = shared_run(config, 0, fails=0.9)
    oracle = done.oracle.oracle
    assert isinstance(oracle, SlowJudge)
    roles = done.oracle.statistics.roles
    fallbacks = done.oracle.statistics.fallbacks["not_an_option"]
    assert roles["owner"] == 2
    assert len(oracle.asked) == 2 + fallbacks
    assert fallbacks >= 2
