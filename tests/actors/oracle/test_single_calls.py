"""Calls for questions that no run waits for, in virtual time: each is asked once, within the limits."""

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import anyio
import pytest

from actors.core.errors import first_error
from actors.oracle.admission import Answer
from actors.oracle.call import SingleCalls
from prism.config import OracleConfig, PricesConfig
from prism.errors import OracleOutageError, OracleUnavailableError
from prism.statechart import Oracle
from tests.actors.oracle.bench import FaultyServer, away, question
from tests.actors.oracles import ScriptedOracle, after, failing
from tests.domains import TrafficDomain
from tests.schedules import in_schedules

pytestmark = pytest.mark.usefixtures("logged")


async def asked(oracle: Oracle[Any], config: OracleConfig, number: int) -> list[Answer]:
    """Return what came of so many questions, by agent."""
    found: dict[int, Answer] = {}
    async with anyio.create_task_group() as tasks:
        calls = SingleCalls(oracle, config, PricesConfig(), tasks)
        for agent in range(number):
            one = question(agent)
            await calls.ask(TrafficDomain().asker(one), one, partial(found.__setitem__, agent))
    assert sorted(found) == list(range(number))
    return [found[agent] for agent in range(number)]


def reasons(answers: Sequence[Answer]) -> list[str]:
    return [answer.reason for answer in answers]


@in_schedules(5)
async def test_every_question_is_asked_within_the_limits() -> None:
    oracle = ScriptedOracle(after(1.0))
    answers = await asked(oracle, OracleConfig(max_concurrency=3, rate_per_s=2.0, deadline_s=1.5), 20)
    assert {(answer.state, answer.reason) for answer in answers} == {("green", "")}
    assert oracle.under_way_max <= 3
    assert all(later - earlier >= 0.499 for (earlier, _), (later, _) in pairwise(oracle.asked))
    # Questions wait for the rate for far longer than the deadline, which is for a call alone.
    assert anyio.current_time() == pytest.approx(19 / 2.0 + 1.0, abs=0.1)


@pytest.mark.parametrize("reason", ["server_error", "invalid_response", "timeout", "client_error"])
@in_schedules(3)
async def test_a_call_that_fails_is_not_made_again_and_its_failure_is_on_no_tape(reason: str) -> None:
    server = FaultyServer(lambda _, call: reason if call in {3, 5} else None)
    answers = await asked(server, OracleConfig(max_concurrency=1), 8)
    assert reasons(answers) == ["", "", reason, "", reason, "", "", ""]
    assert [agent for _, agent, _ in server.asked] == list(range(8))
    assert server.forgotten == [(2, reason), (4, reason)]


@in_schedules(3)
async def test_questions_past_the_cap_are_not_asked() -> None:
    oracle = ScriptedOracle(after(0.1))
    answers = await asked(oracle, OracleConfig(max_calls=5, max_concurrency=2), 9)
    assert reasons(answers) == [""] * 5 + ["spent"] * 4
    assert len(oracle.asked) == 5


@in_schedules(5)
async def test_questions_wait_while_the_server_is_away() -> None:
    server = FaultyServer(away(1.0, 60.0))
    answers = reasons(await asked(server, OracleConfig(max_concurrency=4), 100))
    lost = [reason for reason in answers if reason]
    assert set(lost) == {"connection_error"}
    assert len(lost) < 15  # those under way when it went, and a probe now and then
    assert len(server.asked) == 100


@in_schedules(5)
async def test_a_server_that_stays_away_ends_the_calls_after_the_patience_of_a_run() -> None:
    with pytest.raises(BaseExceptionGroup) as caught:
        await asked(FaultyServer(away(0.0, 1e9)), OracleConfig(outage_patience_s=100.0, max_concurrency=4), 50)
    assert first_error(caught.value, OracleOutageError) is not None
    assert anyio.current_time() == pytest.approx(100.0, abs=0.1)


async def test_an_oracle_that_cannot_be_asked_ends_the_calls() -> None:
    with pytest.raises(BaseExceptionGroup) as caught:
        await asked(ScriptedOracle(failing(OracleUnavailableError("nobody"))), OracleConfig(), 3)
    assert first_error(caught.value, OracleUnavailableError) is not None
