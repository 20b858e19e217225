"""Runs whose questions share judgements, of people and of a domain of one's own."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace

from actors.runtime.simulation import Simulation
from prism.config import Config, load_config
from prism.errors import ConfigError
from prism.expressions import Field
from prism.statechart import Judgement, Oracle
from prism.statechart.behaviour import Reader
from tests.actors.oracles import SlowJudge
from tests.actors.social_runs import (
    SMALL,
    run,
    with_deliberation,
    with_oracle,
    with_sharing,
    with_simulation,
)
from tests.domains import GreenWave, TrafficDomain
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


class LightFields:
    """A light's street, and the tick of its question."""

    def question_fields(self) -> dict[str, tuple[Field, Reader]]:
        street = Field(name="light.street", kind="int", low=0, high=1)
        clock = Field(name="clock.tick", kind="int", low=0)
        return {
            street.name: (street, lambda agent, _: agent.agent_id % 2),
            clock.name: (clock, lambda _, tick: tick),
        }

    def default_fields(self) -> list[str]:
        return ["light.street"]


class StreetDomain(TrafficDomain):
    """Traffic lights whose questions have fields."""

    fields = LightFields()


class Judge(GreenWave):
    """It judges by the street, and notes whom it was asked about."""

    judges = True

    def __init__(self) -> None:
        self.asked: list[int] = []

    async def judge(
        self, agent: Any, current_state: Any, trigger: str, options: Any, context: Any = None, samples: int = 1
    ) -> Judgement:
        self.asked.append(agent.agent_id)
        return Judgement((1.0, 0.0) if agent.agent_id % 2 else (0.0, 1.0))

    def drawn(self, probabilities: Sequence[float], agent: int, tick: int, context: Any = None) -> int:
        return max(range(len(probabilities)), key=probabilities.__getitem__)


def shared(**settings: Any) -> Config:
    overrides = {"simulation.ticks": 6, "population.deliberation_minutes": 0, "oracle.sharing.by": "archetype"}
    return load_config(overrides={**overrides, **settings})


def result_of(config: Config, schedule: int) -> tuple[str, list[int], dict[int, set[str]]]:
    """Return the digest, whom the oracle was asked about, and the states that each light came to."""

    async def run() -> tuple[str, list[int], dict[int, set[str]]]:
        oracle, domain = Judge(), StreetDomain(8)
        simulation = Simulation(config, domain, oracle)
        await simulation.run()
        came = {light: {each.to_state for each in domain.world.updates if each.agent == light} for light in range(8)}
        return simulation.engine.digest.hexdigest(), oracle.asked, came

    return run_scheduled(schedule, run)


def test_its_questions_share_by_its_own_fields_in_every_schedule() -> None:
    digest, asked, came = result_of(shared(), 0)
    assert len(asked) < 8
    assert {light % 2 for light in asked} == {0, 1}
    assert len({frozenset(came[light]) for light in (0, 2, 4, 6)}) == 1
    assert came[0] != came[1]
    assert {result_of(shared(), schedule)[0] for schedule in range(1, 4)} == {digest}


def test_a_domain_without_fields_is_refused_with_the_key() -> None:
    with pytest.raises(ConfigError, match=r"oracle\.sharing\.by: .*have no fields"):
        Simulation(shared(), TrafficDomain(2), Judge())
