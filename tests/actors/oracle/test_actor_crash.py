import asyncio
from typing import Any

import anyio
import pytest

from actors.oracle.actor import OracleActor
from actors.runtime.supervisor import Supervisor
from prism.agents import Question
from prism.config import OracleConfig
from tests.actors.oracle.bench import Bench, Kept, question
from tests.actors.oracle.server import FaultyServer
from tests.actors.oracles import ScriptedOracle, after, failing, never
from tests.domains import TrafficDomain, TrafficLight
from tests.schedules import in_schedules

pytestmark = pytest.mark.usefixtures("logged")


class FaultyAsker:
    """An asker that stumbles over one agent, as often as told, once it has named it `known` times."""

    def __init__(self, agent: int, times: int, known: int = 1) -> None:
        self.known = known
        self.domain = TrafficDomain()
        self.agent = agent
        self.times = times
        self.calls = 0

    def __call__(self, asked: Question[Any]) -> TrafficLight:
        # The first look is the queue's, if the oracle has keys; the second one the call's, in the midst of other calls.
        self.calls += asked.agent == self.agent
        if asked.agent == self.agent and self.calls > self.known and self.times:
            self.times -= 1
            raise RuntimeError("this domain has a bug")
        return self.domain.asker(asked)


async def supervise(bench: Bench, limit: int, *questions: Question[int]) -> list[int]:
    """The agents whose questions were decided while a supervisor kept the actor alive."""
    supervisor = Supervisor(TrafficDomain(), bench.codec, bench.engine, limit, 100)
    assert all(bench.put(*questions))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(supervisor.run_service, "oracle", lambda: bench.actor.run(bench.inbox), lambda: 0)
        decisions = await bench.decided(len(questions))
        bench.inbox.close()
    return sorted(each.agent for each in decisions)


@in_schedules(30)
async def test_a_crash_asks_again_what_was_open() -> None:
    bench = Bench(ScriptedOracle(after(1.0)), OracleConfig(max_concurrency=2), asker=FaultyAsker(3, times=1))
    assert await supervise(bench, 3, *map(question, range(6))) == list(range(6))
    assert bench.actor.in_flight == bench.actor.queue_depth == 0


@in_schedules(10)
async def test_a_crash_does_not_forget_how_often_a_question_was_asked() -> None:
    server = FaultyServer(lambda *_: "invalid_response")
    asker = FaultyAsker(0, times=1, known=2)  # for the first call and before the second one
    bench = Bench(server, OracleConfig(max_attempts=3), asker=asker)
    assert await supervise(bench, 3, question(0)) == [0]
    assert [attempt for _, _, attempt in server.asked] == [0, 1, 2]
    assert asker.times == 0, "the second call crashes the actor"


@in_schedules(30)
async def test_a_crash_over_one_question_of_a_batch_loses_none_of_the_others() -> None:
    bench = Bench(ScriptedOracle(after(1.0)), asker=FaultyAsker(1, times=2, known=0))
    assert await supervise(bench, 3, *map(question, range(4))) == list(range(4))


@in_schedules(30)
async def test_a_crash_during_the_probe_does_not_keep_the_breaker_from_closing() -> None:
    asker = FaultyAsker(100, times=1)
    bench = Bench(ScriptedOracle(), asker=asker)
    for _ in range(20):
        bench.actor.admission.breaker.ended("timeout", 0.0)
    await anyio.sleep(6.0)
    assert await supervise(bench, 3, question(100)) == [100]
    assert bench.actor.admission.breaker.allows(anyio.current_time() + 120.0)


@in_schedules(30)
async def test_an_oracle_that_cancels_itself_is_a_fallback_and_no_silence() -> None:
    bench = Bench(ScriptedOracle(failing(asyncio.CancelledError())), OracleConfig(max_concurrency=1))
    decisions = await bench.ask(question(0), question(1))
    assert {each.source for each in decisions} == {"fallback"}
    assert bench.actor.in_flight == 0


@in_schedules(30)
async def test_a_cancelled_actor_leaves_no_call_and_no_timer_behind() -> None:
    oracle = ScriptedOracle(never)
    bench = Bench(oracle, OracleConfig(rate_per_s=1.0, max_concurrency=8))
    bench.put(*map(question, range(6)))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.actor.run, bench.inbox)
        await anyio.sleep(2.5)
        tasks.cancel_scope.cancel()
    assert (len(oracle.asked), oracle.under_way) == (3, 0)
    await anyio.sleep(10.0)
    assert len(oracle.asked) == 3


@in_schedules(20)
async def test_an_answer_that_is_in_the_log_stands_although_the_actor_ends_before_it_is_sent() -> None:
    oracle, kept = ScriptedOracle(after(1.0)), Kept()
    bench = Bench(oracle, capacity=1)
    bench.actor = OracleActor(oracle, TrafficDomain().asker, bench.codec, bench.engine, OracleConfig(), answers=kept)
    bench.put(*map(question, range(3)))
    with anyio.move_on_after(5.0):
        await bench.actor.run(bench.inbox)
    assert len(kept.records) == 3
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.actor.run, bench.inbox)
        decided = await bench.decided(3)
        bench.inbox.close()
    assert sorted(each.agent for each in decided) == [0, 1, 2]
    assert (len(oracle.asked), len(kept.records)) == (3, 3)
