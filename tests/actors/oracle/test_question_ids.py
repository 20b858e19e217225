"""The id of a question, from the oracle actor to the oracle and into the log."""

from __future__ import annotations

from typing import Any

import structlog
from structlog.typing import EventDict

from prism.config import OracleConfig
from prism.llm.question_id import ASKED, TraceIds
from prism.statechart import Oracle
from tests.actors.oracle.bench import Bench, falling_back, question
from tests.actors.oracle.server import FaultyServer
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
