"""The oracle actor alone, in virtual time: limits, deadlines, caps, the ids of its questions, and its crashes."""

import asyncio
from typing import Any

import anyio
import pytest
from msgspec.structs import replace
from structlog.typing import EventDict

from actors.core.messages import Decided
from actors.oracle.actor import OracleActor
from actors.runtime.supervisor import Supervisor
from prism.agents import Question, Source
from prism.config import OracleConfig
from prism.errors import OracleResponseError, OracleUnavailableError
from prism.llm.headers import question_id
from tests.actors.oracle.bench import Bench, FaultyServer, Kept, falling_back, question
from tests.actors.oracles import ScriptedOracle, after, failing, never, saying
from tests.domains import TrafficDomain, TrafficLight
from tests.schedules import in_schedules

pytestmark = pytest.mark.usefixtures("logged")


def outcome(decided: Decided) -> tuple[str, str, str]:
    return decided.state, decided.source, decided.reason


@in_schedules(20)
async def test_an_answer_comes_back_with_its_agent_tick_and_latency() -> None:
    bench = Bench(ScriptedOracle(after(0.25)))
    assert await bench.ask(question(2, tick=7)) == [
        Decided(7, 2, "clock", "green", Source.ORACLE, "", "", 0.25, method="embedded")
    ]
    assert bench.actor.statistics.answered == bench.actor.statistics.calls == 1


@in_schedules(20)
async def test_no_more_calls_are_under_way_than_the_limit_allows() -> None:
    oracle = ScriptedOracle(after(1.0))
    bench = Bench(oracle, OracleConfig(max_concurrency=3))
    await bench.ask(*map(question, range(10)))
    assert oracle.under_way_max == bench.actor.statistics.concurrency_max == 3
    assert sorted(time for time, _ in oracle.asked) == [0.0] * 3 + [1.0] * 3 + [2.0] * 3 + [3.0]


@in_schedules(20)
async def test_calls_start_at_the_configured_rate_and_in_the_order_of_arrival() -> None:
    oracle = ScriptedOracle()
    await Bench(oracle, OracleConfig(rate_per_s=4.0)).ask(*map(question, range(9)))
    assert [time for time, _ in oracle.asked] == pytest.approx([number / 4.0 for number in range(9)])
    assert [agent for _, agent in oracle.asked] == list(range(9))


@in_schedules(20)
async def test_the_deadline_runs_from_arrival_for_questions_that_wait_for_a_slot() -> None:
    oracle = ScriptedOracle(after(2.0))
    decisions = await Bench(oracle, OracleConfig(deadline_s=5.0, max_concurrency=1)).ask(*map(question, range(4)))
    assert [outcome(each) for each in decisions] == [
        ("green", "oracle", ""),
        ("green", "oracle", ""),
        ("red", "timeout", "deadline"),
        ("red", "timeout", "deadline"),
    ]
    assert [each.latency_s for each in decisions] == [2.0, 4.0, 5.0, 5.0]


@in_schedules(20)
async def test_a_question_that_is_too_late_for_the_rate_is_not_asked_at_all() -> None:
    oracle = ScriptedOracle()
    decisions = await Bench(oracle, OracleConfig(deadline_s=2.5, rate_per_s=1.0)).ask(*map(question, range(6)))
    assert [time for time, _ in oracle.asked] == pytest.approx([0.0, 1.0, 2.0])
    assert [each.source for each in decisions] == ["oracle"] * 3 + ["timeout"] * 3
    assert [each.latency_s for each in decisions[3:]] == pytest.approx([2.5] * 3)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (OracleResponseError("?", ("red",), "no such option"), "invalid_response"),
        (TimeoutError("the client's own"), "timeout"),
        (ZeroDivisionError("foreign"), "error"),
        (ExceptionGroup("foreign", [ValueError("x")]), "error"),
    ],
)
@in_schedules(5)
async def test_an_oracle_that_raises_is_a_fallback_under_its_reason(error: Exception, reason: str) -> None:
    bench = Bench(ScriptedOracle(failing(error)), falling_back())
    [decided] = await bench.ask(question(0))
    assert outcome(decided) == ("red", "fallback", reason)
    assert bench.actor.statistics.fallbacks == {reason: 1}


@pytest.mark.parametrize("answer", ["amber", "GREEN", None, 1, [], object()])
@in_schedules(5)
async def test_an_answer_that_is_no_option_is_a_fallback(answer: object) -> None:
    [decided] = await Bench(ScriptedOracle(saying(answer)), falling_back()).ask(question(0))
    assert outcome(decided) == ("red", "fallback", "not_an_option")


@in_schedules(20)
async def test_an_oracle_that_cannot_answer_now_or_later_ends_the_actor() -> None:
    bench = Bench(ScriptedOracle(failing(OracleUnavailableError("the tape has no answer"))))
    bench.put(question(0), question(1))
    with pytest.raises(OracleUnavailableError, match="the tape has no answer"):
        await bench.actor.run(bench.inbox)


@in_schedules(20)
async def test_a_full_queue_fills_the_mailbox_which_then_says_no_and_nothing_is_lost() -> None:
    oracle = ScriptedOracle(after(1.0))
    bench = Bench(oracle, OracleConfig(queue_size=2, max_concurrency=1))
    waiting, refused = [question(number) for number in range(12)], 0
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.actor.run, bench.inbox)
        while waiting:
            accepted = bench.put(waiting[0])[0]
            refused += not accepted
            if accepted:
                waiting.pop(0)
            await anyio.sleep(0.1)
            assert bench.actor.queue_depth < 2 * 2
        decisions = await bench.decided(12)
        bench.inbox.close()
    assert refused > 0
    assert sorted(each.agent for each in decisions) == list(range(12))
    assert [agent for _, agent in oracle.asked] == list(range(12))


@in_schedules(20)
async def test_a_full_mailbox_of_the_engine_holds_answers_back_and_loses_none() -> None:
    bench = Bench(ScriptedOracle(), OracleConfig(max_concurrency=3), capacity=1)
    assert [each.agent for each in await bench.ask(*map(question, range(20)))] == list(range(20))


@in_schedules(5)
async def test_past_the_spend_cap_there_are_fallbacks_if_so_configured() -> None:
    bench = Bench(ScriptedOracle(after(1.0)), OracleConfig(max_calls=2, when_spent="fallback"))
    decisions = await bench.ask(*map(question, range(5)))
    assert [outcome(each) for each in decisions] == [("green", "oracle", "")] * 2 + [("red", "fallback", "spent")] * 3
    assert bench.stops == 0


@in_schedules(5)
async def test_at_the_spend_cap_the_calls_under_way_end_and_the_other_questions_stay_open() -> None:
    oracle = ScriptedOracle(after(1.0))
    bench = Bench(oracle, OracleConfig(max_calls=3, max_concurrency=2, deadline_s=2.5))
    error, decisions = await bench.spent(*map(question, range(5)))
    assert error is not None
    assert [outcome(each) for each in decisions] == [("green", "oracle", "")] * 3
    assert (bench.stops, bench.actor.queue_depth, len(oracle.asked)) == (1, 2, 3)


@pytest.mark.parametrize(("choices", "share", "stops"), [(99, 0.05, 0), (100, 0.1, 0), (100, 0.09, 1), (300, None, 0)])
@in_schedules(3)
async def test_too_many_fallbacks_stop_the_run_once(choices: int, share: float | None, stops: int) -> None:
    server = FaultyServer(lambda _, call: "invalid_response" if call % 10 == 0 else None)
    bench = Bench(server, OracleConfig(max_attempts=1, max_fallback_share=share))
    await bench.ask(*map(question, range(choices)))
    assert bench.stops == stops


@in_schedules(20)
async def test_questions_of_a_kind_are_asked_one_after_the_other() -> None:
    oracle = ScriptedOracle()
    asked = [
        replace(question(agent), options=("red", "green") if agent % 2 else ("green", "red")) for agent in range(6)
    ]
    await Bench(oracle, OracleConfig(max_concurrency=1)).ask(*asked)
    assert [agent for _, agent in oracle.asked] == [0, 2, 4, 1, 3, 5]


@in_schedules(5)
async def test_one_line_is_about_many_fallbacks_and_names_the_question_of_the_latest(logged: list[EventDict]) -> None:
    logged.clear()
    bench = Bench(FaultyServer(lambda *_: "server_error"), falling_back())
    await bench.ask(*map(question, range(5)))
    first, rest = (line for line in logged if line["event"] == "oracle_fallbacks")
    assert first["server_error"] + rest["server_error"] == 5
    ids = {question_id(0, 0, agent, bench.codec.encode(question(agent))) for agent in range(5)}
    assert {first["question"], rest["question"]} < ids
    assert rest["latest"]


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
