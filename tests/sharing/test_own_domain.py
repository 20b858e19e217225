"""A domain of one's own shares judgements once it says which fields its questions have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from actors.runtime.simulation import Simulation
from prism.config import Config, load_config
from prism.errors import ConfigError
from prism.expressions import Field
from prism.statechart import Judgement
from prism.statechart.behaviour import Reader
from tests.domains import GreenWave, TrafficDomain
from tests.schedules import run_scheduled


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
