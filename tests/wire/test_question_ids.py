"""From a line of the server's log to the question, its answer and its agent, and back: whole runs over real sockets."""

from __future__ import annotations

import json
from collections import defaultdict
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
import pytest

from actors import run
from actors.store.journal import JOURNAL
from actors.store.oracle_log import ANSWERS
from actors.store.run import header_in
from prism.agents import Question
from prism.config import Config
from prism.llm.question_id import question_id
from tests.catalogue import catalogue
from tests.plain import plain
from tests.recorded import ticks_of
from tests.standin import Exchange, Fault, FaultPlan, ModelServer, ServerSettings

PEOPLE: dict[str, Any] = plain(
    {
        "simulation": {"rounds": 2, "ticks_per_round": 24, "seed": 7},
        "population": {"size": 40, "ambiguity": 0.4, "activity": {"mean": 0.9}},
    }
)
NATIONS: dict[str, Any] = {
    "simulation": {"domain": "economy", "rounds": 2, "ticks_per_round": 1, "seed": 7},
    "economy": {"nations": ["Arden", "Belmar"], "strengths": [1, 2]},
}


@pytest.fixture(autouse=True)
def _nothing_blocks() -> None:
    """Let these tests block: the server has a thread of its own."""


def config(world: str, backend: str, server: ModelServer, **llm: Any) -> Config:
    settings = {"people": PEOPLE, "nations": NATIONS}[world]
    return msgspec.convert({**settings, "oracle": {"backend": backend}, "llm": {"host": server.url, **llm}}, Config)


def named(server: ModelServer) -> list[Exchange]:
    """Return the calls of the run; those of its start have no question."""
    return [each for each in server.calls if each.request_id]


def id_of(call: Exchange) -> str:
    """Return the id of the question of a call."""
    return call.request_id.rpartition("-")[0].rpartition("-")[0].rpartition("-")[0]


@catalogue("backend", ["ollama", "openai"])
@catalogue("world", ["people", "nations"])
def test_every_call_has_the_id_of_its_question_and_the_calls_of_one_are_one_trace(
    world: str, backend: str, tmp_path: Path
) -> None:
    with ModelServer(ServerSettings(faults=FaultPlan(at={8: Fault.ERROR, 9: Fault.ERROR}))) as server:
        run(config(world, backend, server), out=tmp_path / "run")
        calls = named(server)
    by_question = defaultdict(list)
    for call in calls:
        by_question[id_of(call)].append(call)
    failed = [each for each in by_question.values() if any(call.fault is Fault.ERROR for call in each)]
    assert failed
    for each in failed:
        parts = [call.traceparent.split("-") for call in each]
        assert len({trace for _, trace, *_ in parts}) == 1
        assert len({span for _, _, span, _ in parts}) == len({call.request_id.split("-")[3] for call in each}) >= 2
    assert len({each.request_id for each in calls}) == len(calls)
    seed, questions = header_in(tmp_path / "run").seed, dict[str, Question[Any]]()
    for question in chain.from_iterable(ticks_of(tmp_path / "run", Question)):
        questions[question_id(seed, question.tick, question.agent, msgspec.msgpack.encode(question))] = question
    for call in calls:
        question = questions[id_of(call)]
        if world == "people":
            assert question.context is not None
            assert question.context[3] in json.dumps(call.body, ensure_ascii=False)


@pytest.mark.slow
def test_runs_of_other_names_ask_under_the_same_ids_and_are_equal_to_the_byte(tmp_path: Path) -> None:
    with ModelServer() as server:
        chosen = config("people", "openai", server)
        run(chosen, out=tmp_path / "one")
        first = named(server)
        run(chosen, out=tmp_path / "another")
        second = named(server)[len(first) :]
    assert {id_of(call) for call in first} == {id_of(call) for call in second}
    assert {call.request_id for call in first}.isdisjoint(call.request_id for call in second)
    assert {call.traceparent for call in first}.isdisjoint(call.traceparent for call in second)
    assert (tmp_path / "one" / JOURNAL).read_bytes() == (tmp_path / "another" / JOURNAL).read_bytes()
    for name in ("one", "another"):
        assert b"traceparent" not in (tmp_path / name / ANSWERS).read_bytes()
