"""A server that is away, or fails now and then, as the oracle actor sees it: in virtual time."""

from functools import partial

import anyio
import pytest
from structlog.typing import EventDict

from actors.core.messages import Decided
from prism.config import OracleConfig
from prism.errors import OracleOutageError, OracleRefusedError
from tests.actors.oracle.bench import Bench, FaultyServer, away, falling_back, limited, question
from tests.schedules import in_schedules

pytestmark = pytest.mark.usefixtures("logged")

LARGEST_PAUSE_S = 30.0


def fallbacks(decisions: list[Decided]) -> list[tuple[int, str]]:
    return [(each.agent, each.reason) for each in decisions if each.reason]


@pytest.mark.parametrize(("concurrency", "attempts"), [(1, 1), (1, 3), (4, 1), (64, 1), (64, 3)])
@pytest.mark.parametrize("outage_s", [2.0, 30.0, 120.0])
@in_schedules(3)
async def test_no_choice_is_lost_to_a_server_that_is_away(outage_s: float, concurrency: int, attempts: int) -> None:
    server = FaultyServer(away(0.15, 0.15 + outage_s))
    bench = Bench(server, OracleConfig(max_concurrency=concurrency, max_attempts=attempts))
    assert fallbacks(await bench.ask(*map(question, range(100)))) == []
    undisturbed_s = 100 / concurrency * 0.1
    assert anyio.current_time() <= 0.15 + outage_s + LARGEST_PAUSE_S + undisturbed_s + 1.0


@pytest.mark.parametrize("reason", ["timeout", "hang", "overloaded", "server_error", "invalid_response"])
@in_schedules(3)
async def test_no_choice_is_lost_however_a_server_is_away(reason: str) -> None:
    server = FaultyServer(away(0.15, 100.0, reason))
    decisions = await Bench(server, OracleConfig(max_concurrency=16)).ask(*map(question, range(200)))
    assert len(fallbacks(decisions)) == 0


@in_schedules(5)
async def test_a_server_that_stays_away_ends_the_actor_after_its_patience_and_a_last_probe() -> None:
    server = FaultyServer(away(0.0, 1e9))
    bench = Bench(server, OracleConfig(outage_patience_s=100.0), ticks=1234)
    bench.put(*map(question, range(50)))
    told = (
        r"not answered for 100 s, since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC: connection_error .* its 1,234 whole ticks"
    )
    with pytest.raises(OracleOutageError, match=told) as caught:
        await bench.actor.run(bench.inbox)
    assert caught.value.waited_s == pytest.approx(100.0, abs=0.1)
    assert caught.value.ticks == 1234
    assert server.asked[-1][0] == pytest.approx(100.0, abs=0.1)
    assert len(server.asked) < 100


@in_schedules(5)
async def test_on_outage_stop_ends_the_actor_as_soon_as_the_server_is_found_to_be_away() -> None:
    bench = Bench(FaultyServer(away(0.0, 1e9)), OracleConfig(on_outage="stop", max_concurrency=5))
    bench.put(*map(question, range(50)))
    with pytest.raises(OracleOutageError):
        await bench.actor.run(bench.inbox)
    assert anyio.current_time() < 1.0


@in_schedules(5)
async def test_on_outage_fallback_answers_at_once_while_the_breaker_is_open() -> None:
    bench = Bench(FaultyServer(away(0.0, 1e9)), falling_back(max_concurrency=5))
    reasons = {reason for _, reason in fallbacks(await bench.ask(*map(question, range(50))))}
    assert reasons == {"connection_error", "breaker_open"}
    assert anyio.current_time() < 1.0


@pytest.mark.parametrize("reason", ["invalid_response", "server_error", "timeout"])
@in_schedules(5)
async def test_a_question_is_asked_as_often_as_configured_and_then_falls_back_under_its_last_reason(
    reason: str,
) -> None:
    server = FaultyServer(lambda _, call: reason)
    bench = Bench(server, OracleConfig(max_attempts=2))
    assert fallbacks(await bench.ask(question(0))) == [(0, reason)]
    assert [attempt for _, _, attempt in server.asked] == [0, int(reason == "invalid_response")]
    assert server.forgotten == [(0, reason)]
    assert bench.actor.statistics.retries == {reason: 1}


@pytest.mark.parametrize(
    "reason", ["invalid_response", "server_error", "timeout", "connection_error", "overloaded", "loading", "refused"]
)
@in_schedules(3)
async def test_a_failure_in_ten_calls_costs_no_choice(reason: str) -> None:
    server = FaultyServer(lambda _, call: reason if call % 10 == 0 else None)
    bench = Bench(server, OracleConfig(max_concurrency=16))
    assert fallbacks(await bench.ask(*map(question, range(300)))) == []
    assert bench.actor.statistics.retries.keys() == {reason}


@in_schedules(5)
async def test_an_isolated_hang_is_a_timeout_at_the_deadline_and_asked_once() -> None:
    server = FaultyServer(lambda _, call: "hang" if call == 3 else None, takes_s=1.0)
    bench = Bench(server, OracleConfig(max_concurrency=2, deadline_s=20.0))
    decisions = await bench.ask(*map(question, range(15)))
    assert [reason for _, reason in fallbacks(decisions)] == ["deadline"]
    assert len(server.asked) == 15


@in_schedules(5)
async def test_a_question_that_the_server_refuses_for_good_ends_the_actor() -> None:
    server = FaultyServer(lambda _, call: "client_error" if call == 7 else None)
    bench = Bench(server, OracleConfig(max_concurrency=1))
    bench.put(*map(question, range(20)))
    with pytest.raises(OracleRefusedError, match="agent 6 about 'clock' in tick 0: client_error"):
        await bench.actor.run(bench.inbox)
    assert server.forgotten == [(6, "client_error")], "a resumed run must ask it again"


@in_schedules(5)
async def test_questions_that_a_healthy_server_refuses_are_fallbacks_and_no_outage() -> None:
    server = FaultyServer(lambda *_: "refused" if 5 <= server.asked[-1][1] < 25 else None)
    bench = Bench(server, OracleConfig(max_concurrency=2, max_attempts=3, max_fallback_share=None))
    decisions = await bench.ask(*map(question, range(60)))
    assert fallbacks(decisions) == [(agent, "refused") for agent in range(5, 25)]
    assert bench.actor.statistics.retries == {"refused": 40}
    assert bench.actor.admission.breaker.opened == 0
    assert bench.actor.admission.outages.since is None


def never(*_: object) -> None:
    return None


@in_schedules(2)
async def test_a_question_that_fails_by_itself_is_a_fallback_and_the_others_are_answered() -> None:
    for reason in ("connection_error", "server_error", "timeout", "invalid_response", "refused", "hang"):
        for concurrency in (1, 16):
            server = FaultyServer(test_fault=never)
            server.fault = partial(lambda of, reason, *_: reason if of.asked[-1][1] in {3, 8} else None, server, reason)
            bench = Bench(server, OracleConfig(max_concurrency=concurrency))
            found = fallbacks(await bench.ask(*map(question, range(20))))
            assert found == [(agent, "deadline" if reason == "hang" else reason) for agent in (3, 8)]
            assert (bench.actor.admission.is_holding, server.tests <= 2 * 4) == (False, True), (reason, server.tests)


@in_schedules(2)
async def test_an_outage_that_every_question_and_the_test_question_get_costs_no_choice() -> None:
    for reason in ("connection_error", "server_error", "timeout", "invalid_response", "refused"):
        for concurrency, number in ((1, 1), (1, 2), (16, 1), (16, 40)):
            begun = anyio.current_time()
            fault = away(begun, begun + 200.0, reason)
            server = FaultyServer(fault, test_fault=fault)
            config = OracleConfig(max_concurrency=concurrency, max_attempts=2)
            assert fallbacks(await Bench(server, config).ask(*map(question, range(number)))) == []
            assert 200.0 <= anyio.current_time() - begun <= 200.0 + LARGEST_PAUSE_S + 30.0
            assert server.tests > 0


@in_schedules(2)
async def test_a_busy_server_is_not_tested_by_a_small_question() -> None:
    server = FaultyServer(away(0.05, 100.0, "overloaded"), test_fault=never)
    assert fallbacks(await Bench(server, OracleConfig(max_concurrency=4)).ask(*map(question, range(20)))) == []
    assert server.tests == 0


@pytest.mark.parametrize("retry_after_s", [0.0, 1.0])
@pytest.mark.parametrize("burst", [2, 5])
@in_schedules(2)
async def test_a_server_that_takes_five_calls_a_second_costs_no_choice(retry_after_s: float, burst: int) -> None:
    server = FaultyServer(limited(5.0, burst))
    server.retry_after_s = retry_after_s
    bench = Bench(server, OracleConfig(max_concurrency=16, deadline_s=60.0))
    assert fallbacks(await bench.ask(*map(question, range(250)))) == []
    assert 4.0 < 250 / anyio.current_time() < 5.1


@in_schedules(5)
async def test_a_pause_that_the_server_asks_for_does_not_count_towards_the_deadline() -> None:
    server = FaultyServer(lambda now, _: "overloaded" if now < 100.0 else None)
    server.retry_after_s = 100.0
    decisions = await Bench(server, OracleConfig(deadline_s=5.0, max_concurrency=2)).ask(*map(question, range(2)))
    assert fallbacks(decisions) == []
    assert anyio.current_time() == pytest.approx(100.0, abs=1.0)
    assert len(server.asked) == 4, "nothing is asked during the pause"


def test_one_line_says_that_an_outage_begins_and_one_that_it_ends(logged: list[EventDict]) -> None:
    @in_schedules(1)
    async def ask() -> None:
        await Bench(FaultyServer(away(0.0, 40.0))).ask(*map(question, range(10)))

    ask()
    begun, back = (event for event in logged if event["event"].startswith("oracle_"))
    assert (begun["event"], back["event"]) == ("oracle_away", "oracle_back")
    assert begun["reason"] == "connection_error"
    assert 40.0 <= back["away_s"] <= 40.0 + LARGEST_PAUSE_S
    opened, closed = (event for event in logged if event["event"].startswith("breaker_"))
    assert (opened["event"], opened["reason"]) == ("breaker_opened", "connection_error")
    assert closed["event"] == "breaker_closed"
    assert closed["after_s"] <= back["away_s"]


@pytest.mark.parametrize("reason", ["connection_error", "hang", "timeout"])
@in_schedules(3)
async def test_a_run_that_is_to_stop_does_not_wait_for_a_server_that_is_known_to_be_away(reason: str) -> None:
    server = FaultyServer(away(0.15, 1e9, reason))
    bench = Bench(server, OracleConfig(max_concurrency=4, deadline_s=600.0 if reason != "hang" else 30.0))
    begun = anyio.current_time()
    error = await bench.stopped(100.0, *map(question, range(50)))
    assert isinstance(error, OracleOutageError)
    assert anyio.current_time() - begun == pytest.approx(100.0, abs=0.2)


@in_schedules(3)
async def test_a_run_that_is_to_stop_finds_out_sooner_that_a_server_hangs() -> None:
    server = FaultyServer(away(0.15, 1e9, "timeout"), timeout_s=30.0)
    bench = Bench(server, OracleConfig(max_concurrency=1, deadline_s=600.0))
    error = await bench.stopped(5.0, *map(question, range(50)))
    assert isinstance(error, OracleOutageError)
    assert anyio.current_time() < 31.0, "at the first failure; the breaker would open at the third"


@in_schedules(3)
async def test_a_run_that_is_to_stop_takes_the_answers_of_a_server_that_fails_now_and_then() -> None:
    server = FaultyServer(lambda _, call: "server_error" if call % 5 == 0 else None)
    bench = Bench(server, OracleConfig(max_concurrency=4))
    assert await bench.stopped(0.2, *map(question, range(50))) is None


@in_schedules(3)
async def test_a_tick_that_can_end_without_the_server_is_not_given_up() -> None:
    bench = Bench(FaultyServer(away(0.15, 60.0)), OracleConfig(max_concurrency=4), is_awaited=False)
    assert await bench.stopped(20.0, *map(question, range(50))) is None


@in_schedules(2)
async def test_no_question_expires_for_a_limit_that_was_halved() -> None:
    server = FaultyServer(lambda _, call: "overloaded" if call % 8 == 0 else None, takes_s=1.0)
    bench = Bench(server, falling_back(max_concurrency=16, deadline_s=45.0))
    assert {reason for _, reason in fallbacks(await bench.ask(*map(question, range(200))))} == {"overloaded"}
    assert len(server.asked) == 200
