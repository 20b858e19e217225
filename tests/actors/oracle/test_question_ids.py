"""The id of a question, from the oracle actor to the oracle and into the log."""

from __future__ import annotations

from typing import Any

import structlog
from structlog.typing import EventDict

from actors.core.messages import Decided
from actors.core.ports import Observer
from prism.agents import Question
from prism.config import OracleConfig
from prism.llm.question_id import ASKED, Asked, TraceIds
from prism.llm.spending import Spending
from prism.statechart import Oracle
from tests.actors.oracle.bench import Bench, falling_back, question
from tests.actors.oracle.server import FaultyServer
from tests.actors.oracles import ScriptedOracle, after
from tests.schedules import in_schedules

Sent = tuple[str, str, str]


class Noting(FaultyServer):
    """A faulty server that notes the headers of each call, and logs a line of its own."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.sent: list[Sent] = []
        """The question's id, the trace and the span of each call."""

    async def ask(self, agent: Any, current_state: Any, trigger: str, options: Any, context: Any = None) -> Any:
        asked = ASKED.get()
        assert asked is not None
        _, trace, span, _ = asked.headers()["traceparent"].split("-")
        self.sent.append((asked.question, trace, span))
        structlog.get_logger().info("asked", **structlog.contextvars.get_contextvars())
        return await super().ask(agent, current_state, trigger, options, context)


class Told(Observer):
    """An observer that notes what it is told of questions, and takes the traces of even ticks only."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, int, str, float]] = []
        self.decisions: list[tuple[int, str, int | None]] = []

    def called(self, asked: Asked, reason: str, duration_s: float, spent: Spending) -> None:
        self.calls.append((asked.question, asked.attempt, reason, duration_s))

    def decided(self, question: Question[Any], decided: Decided, shared: Question[Any] | None) -> None:
        self.decisions.append((question.agent, decided.state, None if shared is None else shared.agent))

    def is_sampled(self, tick: int) -> bool:
        return tick % 2 == 0


class Embedded(Oracle[Any]):
    """An oracle that computes its answers, and notes how they are named."""

    waits = False

    def __init__(self) -> None:
        self.asked: list[object] = []

    async def ask(self, agent: Any, current_state: Any, trigger: str, options: Any, context: Any = None) -> Any:
        self.asked.append(ASKED.get())
        return options[-1]


def id_of(bench: Bench, agent: int, tick: int = 0) -> str:
    return TraceIds(seed=0).question(tick, agent, bench.codec.encode(question(agent, tick)))


@in_schedules(20)
async def test_the_calls_of_a_question_have_its_id_and_its_trace_and_a_span_each() -> None:
    server = Noting(lambda _, call: "server_error" if call <= 2 else None)
    bench = Bench(server, OracleConfig(max_attempts=5))
    await bench.ask(question(3, tick=7))
    assert {each[:2] for each in server.sent} == {(id_of(bench, 3, 7), TraceIds(seed=0).trace(7))}
    assert len({span for *_, span in server.sent}) == len(server.sent) == 3


@in_schedules(20)
async def test_questions_that_are_asked_at_once_keep_their_own_ids(logged: list[EventDict]) -> None:
    logged.clear()
    server = Noting(takes_s=1.0)
    bench = Bench(server)
    await bench.ask(*map(question, range(5)))
    ids = [id_of(bench, agent) for agent in range(5)]
    assert sorted(name for name, *_ in server.sent) == ids
    assert sorted(line["question"] for line in logged if line["event"] == "asked") == ids


@in_schedules(5)
async def test_a_line_about_fallbacks_names_the_question_of_the_latest_failure(logged: list[EventDict]) -> None:
    logged.clear()
    bench = Bench(Noting(lambda *_: "server_error"), falling_back())
    await bench.ask(question(4))
    [line] = [line for line in logged if line["event"] == "oracle_fallbacks"]
    assert line["question"] == id_of(bench, 4)
    assert line["latest"]


@in_schedules(5)
async def test_an_answer_that_is_computed_has_no_calls_to_name() -> None:
    oracle = Embedded()
    await Bench(oracle).ask(question(1))
    assert oracle.asked == [None]


@in_schedules(20)
async def test_an_observer_is_told_of_each_call_and_of_the_answer() -> None:
    told = Told()
    bench = Bench(Noting(lambda _, call: "overloaded" if call == 1 else None, takes_s=0.25), observer=told)
    await bench.ask(question(3))
    assert told.calls == [(id_of(bench, 3), 1, "overloaded", 0.0), (id_of(bench, 3), 2, "", 0.25)]
    assert told.decisions == [(3, "green", None)]


@in_schedules(20)
async def test_an_observer_is_told_whose_call_a_question_shared() -> None:
    told = Told()
    await Bench(ScriptedOracle(after(1.0), coalesces=True), observer=told).ask(*map(question, range(3)))
    assert [agent for agent, *_ in told.decisions] == [0, 1, 2]
    assert [shared for *_, shared in told.decisions] == [None, 0, 0]
    assert len(told.calls) == 1


@in_schedules(5)
async def test_a_server_is_told_which_traces_are_recorded() -> None:
    flags = []

    class Flagged(Noting):
        async def ask(self, agent: Any, current_state: Any, trigger: str, options: Any, context: Any = None) -> Any:
            asked = ASKED.get()
            assert asked is not None
            flags.append((agent.tick, asked.headers()["traceparent"][-2:]))
            return options[-1]

    await Bench(Flagged(), observer=Told()).ask(question(0, tick=2), question(1, tick=3))
    assert sorted(flags) == [(2, "01"), (3, "00")]
