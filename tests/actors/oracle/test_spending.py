"""The calls that answers took: they go with the answer, and into a checkpoint exactly once."""

from typing import Any

import pytest

from actors.core.messages import Decided, QuestionName
from actors.core.state import Effort
from actors.oracle.oracle_counters import OracleCounters
from actors.store.oracle_log import ANSWERS, LoggedAnswer, answers_of, encode_answer, records_in, scan_answers
from prism.config import OracleConfig, PricesConfig
from prism.llm import LLMFailureException
from prism.llm.failure import Usage
from prism.llm.spending import Ledger, Spent, count_call
from prism.statechart import Answer, Oracle
from tests.actors.oracle.bench import Bench, Kept, question
from tests.actors.store.files import empty_run
from tests.catalogue import catalogue
from tests.crash.disk import SimulatedDisk
from tests.schedules import run_scheduled

PRICES = PricesConfig(input=1000.0, output=1000.0)
"""A dollar for a thousand tokens."""

ONE = Spent("ok", 1, 0.5, 90, 0, 10)
CUT = Spent("invalid_response", 1, 0.25, 90, 0, 5)


class Metered(Oracle[Any]):
    """An oracle whose calls take 90 tokens in and some out; the first ones fail."""

    source = "llm"

    def __init__(self, failures: int = 0) -> None:
        self._failures = failures

    async def ask(self, agent: Any, current_state: Any, trigger: str, options: Any, context: Any = None) -> Any:
        if self._failures:
            self._failures -= 1
            count_call("invalid_response", 0.25, Usage(90, 5))
            raise LLMFailureException("invalid_response")
        count_call("ok", 0.5, Usage(90, 10))
        return options[1]


def never(_: QuestionName) -> bool:
    return False


def always(_: QuestionName) -> bool:
    return True


def answers_in(disk: SimulatedDisk) -> list[LoggedAnswer]:
    return [*answers_of(records_in(disk))]


def test_an_answer_names_the_calls_since_the_records_of_its_failed_calls() -> None:
    kept = Kept()
    bench = Bench(Metered(failures=2), answers=kept)
    (decided,) = run_scheduled(0, lambda: bench.ask(question(0)))
    assert decided.spent == (ONE,)
    disk = empty_run()
    for record in kept.records:
        disk.append(ANSWERS, encode_answer(record))
    scan = scan_answers(disk)
    state = bench.actor.state(never)
    whole = (Spent("invalid_response", 2, 0.5, 180, 0, 10), ONE)
    assert (state.spent, state.calls, bench.actor.tokens) == (whole, 3, 290)
    assert (scan.answers, scan.effort) == (1, Effort(spent=whole, retries={"invalid_response": 2}))
    (answer,) = answers_in(disk)
    assert answer.spent == whole, "for a fork or a replay, an answer names all of its calls"


@catalogue("written", range(4))
def test_wherever_a_run_is_killed_its_calls_and_retries_are_counted_once(written: int) -> None:
    """A life that writes so many of its three records, then one that asks what is not answered, from no checkpoint."""
    kept = Kept()
    run_scheduled(0, lambda: Bench(Metered(failures=2), answers=kept).ask(question(0)))
    disk = empty_run()
    for record in kept.records[:written]:
        disk.append(ANSWERS, encode_answer(record))
    scan = scan_answers(disk)
    counters = OracleCounters()
    counters.add_logged(scan.effort)
    for answer in answers_in(disk):
        counters.count_recorded(answer)
    retries = min(written, 2)
    assert sum(spent.calls for spent in counters.spent) == written
    assert (counters.retries.total(), counters.calls) == (retries, written)
    assert (counters.spent_written.total, counters.retries_written) == (counters.spent.total, counters.retries)
    assert counters.state(never, has_ended=False).spent == counters.spent.total


def test_a_cap_in_dollars_stops_the_run_whatever_is_to_follow_other_caps() -> None:
    config = OracleConfig(max_usd=0.25, when_spent="fallback", max_concurrency=1)
    bench = Bench(Metered(), config, prices=PRICES)
    error, decided = run_scheduled(0, lambda: bench.spent(*(question(agent) for agent in range(5))))
    assert [each.reason for each in decided] == ["", "", ""]
    assert (bench.stops, str(error).partition(";")[0]) == (1, "the spend cap is reached: 0.3 of oracle.max_usd 0.25")
    assert bench.actor.cost_usd == pytest.approx(0.3)


def test_calls_without_an_answer_count_towards_the_cap() -> None:
    config = OracleConfig(max_usd=0.2, max_attempts=10)
    bench = Bench(Metered(failures=5), config, prices=PRICES)
    _, decided = run_scheduled(0, lambda: bench.spent(question(0)))
    assert (decided, bench.stops) == ([], 1), "the question stays open"
    assert bench.actor.statistics.spent.total == (Spent("invalid_response", 3, 0.75, 270, 0, 15),)


def test_a_checkpoint_leaves_out_what_recorded_answers_will_name() -> None:
    counters = OracleCounters()
    counters.count_spent((0, 1, "clock"), Ledger((ONE,)))
    counters.count_spent((1, 1, "clock"), Ledger((CUT,)))
    counters.close((0, 1, "clock"))
    assert counters.state(always, has_ended=False).spent == (ONE,)
    assert counters.state(never, has_ended=True).spent == (ONE, CUT)
    resumed = OracleCounters()
    resumed.restore(counters.state(always, has_ended=False))
    resumed.add_logged(Effort(spent=(CUT,)))
    resumed.count_recorded(Decided(1, 1, "clock", "red", "llm", spent=(CUT,)))
    assert resumed.spent.total == (ONE, CUT)


class Mixed(Oracle[Any]):
    """An oracle that finds the answer of every third agent in another way."""

    source = "llm"
    method = "json"

    async def ask(self, agent: Any, current_state: Any, trigger: str, options: Any, context: Any = None) -> Any:
        return options[1]

    async def answer(self, agent: Any, current_state: Any, trigger: str, options: Any, context: Any = None) -> Answer:
        return Answer(options[1], method="" if agent.agent_id % 3 == 0 else "logprobs")


def test_decisions_are_counted_by_method_over_a_resume_and_open_questions_once() -> None:
    bench = Bench(Mixed())
    run_scheduled(0, lambda: bench.ask(*(question(agent) for agent in range(6))))
    assert bench.actor.statistics.methods == {"json": 2, "logprobs": 4}
    resumed = OracleCounters()
    resumed.restore(bench.actor.state(never))
    resumed.count_recorded(Decided(1, 0, "clock", "green", "llm", method="logprobs"))
    resumed.count_recorded(Decided(1, 1, "clock", "red", "timeout", "deadline"))
    resumed.count_recorded(Decided(1, 2, "clock", "green", "llm"))
    assert resumed.methods == {"json": 2, "logprobs": 5}, "a fallback, and an answer of an older log, have no method"
    assert resumed.state(always, has_ended=False).methods == {"json": 2, "logprobs": 4}, (
        "open questions are counted again"
    )
