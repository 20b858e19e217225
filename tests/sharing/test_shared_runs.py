"""Runs whose questions share judgements, of people and of another domain, also where the oracle actor crashes."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection, Sequence
from functools import partial
from typing import Any
from unittest.mock import patch

import anyio
import msgspec
import pytest
from msgspec.structs import replace

from actors.core.mailbox import Mailbox
from actors.core.ports import Record
from actors.oracle.actor import OracleActor
from actors.runtime.engine import EngineActor
from actors.runtime.simulation import Simulation
from prism.config import Config, load_config
from prism.errors import ConfigError
from prism.expressions import Field
from prism.social.domain import SocialDomain
from prism.social.people.population import build_population
from prism.statechart import Judgement, Oracle
from prism.statechart.behaviour import Reader
from tests.actors.oracles import SlowJudge
from tests.actors.social_runs import (
    SMALL,
    run,
    with_deliberation,
    with_oracle,
    with_run,
    with_sharing,
    with_simulation,
)
from tests.catalogue import catalogue
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


@catalogue("fails", [0.0, 0.9])
def test_questions_of_one_archetype_are_asked_once_and_where_that_fails_the_next_is_asked(fails: float) -> None:
    done = shared_run(with_sharing(SHARED, audit=0.0), 0, fails=fails)
    oracle, statistics = done.oracle.oracle, done.oracle.statistics
    assert isinstance(oracle, SlowJudge)
    failed = statistics.fallbacks["not_an_option"]
    assert failed >= 2 if fails else failed == 0
    assert (statistics.roles["owner"], len(oracle.asked)) == (2, 2 + failed)
    if not fails:
        assert (statistics.calls, statistics.methods["shared"]) == (2, statistics.answered - 2)


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


pytestmark = pytest.mark.usefixtures("logged")


class CrashPoints:
    """The await points of an oracle actor, in the order in which its tasks come to them.

    Args:
        crashes: the numbers of those at which it crashes.
    """

    def __init__(self, crashes: Collection[int] = ()) -> None:
        self.passed = Counter[str]()
        """`{point: times that a task came to it}`."""
        self.crash = anyio.Event()
        self._crashes = crashes

    async def wait(self, point: str) -> None:
        """Let the others run; where the actor is to crash, wait until it does."""
        self.passed[point] += 1
        if self.passed.total() not in self._crashes:
            await asyncio.sleep(0)
            return
        self.crash.set()
        await anyio.sleep_forever()


def crashing_actor(points: CrashPoints) -> type[OracleActor]:
    """Return an oracle actor that crashes when it is told."""

    class CrashingActor(OracleActor):
        async def run(self, mailbox: Mailbox[bytes]) -> None:
            points.crash = anyio.Event()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._crash)
                await super().run(mailbox)
                tasks.cancel_scope.cancel()

        async def _crash(self) -> None:
            await points.crash.wait()
            raise RuntimeError("this actor has a bug")

    return CrashingActor


class PointedRecord(Record):
    """A record whose writing takes a while; like the log, it has taken an answer before it is waited for."""

    def __init__(self, points: CrashPoints) -> None:
        self.records: list[Any] = []
        self._points = points

    async def keep(self, *records: bytes) -> None:
        self.records += map(msgspec.msgpack.decode, records)
        await self._points.wait("keep")


class PointedMailbox(Mailbox[bytes]):
    """A mailbox with room for one, so that senders wait."""

    points: CrashPoints

    async def send(self, message: bytes) -> None:
        await self.points.wait("send")
        await super().send(message)
        await self.points.wait("sent")


class PointedEngine(EngineActor):
    def __init__(self, *args: Any, points: CrashPoints, **options: Any) -> None:
        super().__init__(*args, **options)
        self.decisions = made = PointedMailbox("decisions", 1)
        made.points = points


class PointedJudge(SlowJudge):
    points: CrashPoints

    async def judge(
        self, agent: Any, current_state: Any, trigger: str, options: Any, context: Any = None, samples: int = 1
    ) -> Judgement:
        await self.points.wait("ask")
        judgement = await super().judge(agent, current_state, trigger, options, context, samples)
        await self.points.wait("answer")
        return judgement

    async def record_fallback(self, question: bytes, source: str, reason: str) -> None:
        await self.points.wait("fallback")


def crashed(config: Config, points: CrashPoints, schedule: int) -> tuple[Simulation, list[Any]]:
    """Return a run whose oracle actor crashes at these points, and the records of its log."""
    record = PointedRecord(points)

    async def run() -> Simulation:
        domain = SocialDomain(config, build_population(config.population, config.simulation.seed))
        judge: Oracle[Any] = (oracle := PointedJudge(domain.oracle(), schedule, 0.3))
        oracle.points = points
        simulation = Simulation(config, domain, judge, record, engine=partial(PointedEngine, points=points))
        await simulation.run()
        return simulation

    with patch("actors.runtime.simulation.OracleActor", crashing_actor(points)):
        return run_scheduled(schedule, run), record.records


@pytest.mark.everyday(1)
def test_a_crash_of_the_actor_at_any_await_point_changes_nothing(size: Size) -> None:
    config, points = with_run(with_simulation(SHARED, rounds=2), restart_intensity=3), CrashPoints()
    undisturbed, _ = crashed(config, points, 0)
    assert set(points.passed) == {"ask", "answer", "fallback", "keep", "send", "sent"}
    of_all = points.passed.total()
    assert of_all > 200
    step = of_all // size(16, everyday=4)
    for at in range(1 + step // 2, of_all, step):
        again, log = crashed(config, CrashPoints({at, at + 7 * (at % 3)}), at)
        assert again.supervisor.service_restarts in {1, 2}
        assert outcome(again) == outcome(undisturbed), at
        names = Counter((record[0], *record[1:4]) for record in log)
        assert names.total() == len(names), f"after a crash at {at} the log has two records of a question"
