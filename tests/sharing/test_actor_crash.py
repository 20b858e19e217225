"""The oracle actor crashes at any of its await points: every question gets its answer, and the result is the same."""

import asyncio
from collections import Counter
from collections.abc import Collection
from functools import partial
from typing import Any
from unittest.mock import patch

import anyio
import msgspec
import pytest

from actors.core.mailbox import Mailbox
from actors.core.ports import Record
from actors.oracle.actor import OracleActor
from actors.runtime.engine import EngineActor
from actors.runtime.simulation import Simulation
from prism.config import Config
from prism.social.domain import SocialDomain
from prism.social.people.population import build_population
from prism.statechart import Judgement, Oracle
from tests.actors.oracles import SlowJudge
from tests.actors.social_runs import with_run, with_simulation
from tests.schedules import run_scheduled
from tests.sharing.test_shared_runs import SHARED, outcome
from tests.tiers import Size

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
