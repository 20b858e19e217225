"""From a line of the server's log to the question, its answer and its agent, and back: whole runs over real sockets."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import msgspec
import pytest

from actors import run
from actors.runs.questions import FoundQuestion, find_question
from actors.store.journal import JOURNAL
from actors.store.oracle_log import ANSWERS
from prism.agents import Question
from prism.config import Config
from prism.llm.question_id import find_id
from tests.catalogue import catalogue
from tests.command import Prism, run_prism
from tests.plain import plain
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
DELIBERATION_TICKS = {"people": 4, "nations": 0}


@pytest.fixture(autouse=True)
def _nothing_blocks() -> None:
    """Let these tests block: the server has a thread of its own."""


def config(world: str, backend: str, server: ModelServer, **llm: Any) -> Config:
    settings = {"people": PEOPLE, "nations": NATIONS}[world]
    return msgspec.convert({**settings, "oracle": {"backend": backend}, "llm": {"host": server.url, **llm}}, Config)


def named(server: ModelServer) -> list[Exchange]:
    """Return the calls of the run; those of its start have no question."""
    return [each for each in server.calls if each.request_id]


def found(run_path: Path, text: str) -> FoundQuestion:
    parts = find_id(text)
    assert parts is not None
    question = find_question(run_path, *parts)
    assert question is not None
    return question


@catalogue("backend", ["ollama", "openai"])
@catalogue("world", ["people", "nations"])
def test_every_call_that_the_server_got_leads_to_its_question_and_the_answer(
    world: str, backend: str, tmp_path: Path
) -> None:
    with ModelServer() as server:
        run(config(world, backend, server), out=tmp_path / "run")
        calls = named(server)
    assert len(calls) > 5
    assert len({each.request_id for each in calls}) == len(calls)
    for call in calls:
        question, answer, effect = found(tmp_path / "run", call.request_id)
        assert isinstance(question, Question)
        assert answer is not None
        assert effect is not None
        assert effect.agent == answer.agent == question.agent
        assert effect.to_state == answer.state
        assert effect.tick == question.tick + DELIBERATION_TICKS[world]
        if world == "people":
            assert question.context is not None
            assert question.context[3] in json.dumps(call.body, ensure_ascii=False)


@pytest.mark.parametrize("backend", ["ollama", "openai"])
def test_the_calls_of_a_question_that_failed_are_one_trace(backend: str, tmp_path: Path) -> None:
    with ModelServer() as server:
        server.settings = ServerSettings(faults=FaultPlan(at={8: Fault.ERROR, 9: Fault.ERROR}))
        run(config("people", backend, server), out=tmp_path / "run")
        calls = named(server)
    by_question = defaultdict(list)
    for call in calls:
        by_question[find_id(call.request_id)].append(call)
    failed = [each for each in by_question.values() if any(call.fault is Fault.ERROR for call in each)]
    assert failed
    for each in failed:
        parts = [call.traceparent.split("-") for call in each]
        assert len({trace for _, trace, *_ in parts}) == 1
        assert len({span for _, _, span, _ in parts}) == len({call.request_id.split("-")[3] for call in each}) >= 2


@pytest.mark.slow
def test_runs_of_other_names_ask_under_the_same_ids_and_are_equal_to_the_byte(tmp_path: Path) -> None:
    with ModelServer() as server:
        chosen = config("people", "openai", server)
        run(chosen, out=tmp_path / "one")
        first = named(server)
        run(chosen, out=tmp_path / "another")
        second = named(server)[len(first) :]
    assert {find_id(call.request_id) for call in first} == {find_id(call.request_id) for call in second}
    assert {call.request_id for call in first}.isdisjoint(call.request_id for call in second)
    assert {call.traceparent for call in first}.isdisjoint(call.traceparent for call in second)
    assert (tmp_path / "one" / JOURNAL).read_bytes() == (tmp_path / "another" / JOURNAL).read_bytes()
    for name in ("one", "another"):
        assert b"traceparent" not in (tmp_path / name / ANSWERS).read_bytes()


def test_one_command_shows_the_question_behind_a_header(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    prism: Prism = lambda *arguments: run_prism(monkeypatch, capsys, *arguments)  # noqa: E731
    monkeypatch.chdir(tmp_path)
    with ModelServer() as server:
        run(config("people", "openai", server), out="runs/study")
        call = named(server)[-1]
    question, answer, effect = found(Path("runs/study"), call.request_id)
    assert question is not None
    assert answer is not None
    assert effect is not None
    shown = prism("runs", "--question", f"INFO: chatcmpl-{call.request_id} finished")
    assert (shown.code, shown.err) == (0, "")
    lines = shown.out.splitlines()
    assert lines[0] == f"runs/study: question {'-'.join(call.request_id.split('-')[:3])}"
    assert lines[1] == f"  asked    by agent {question.agent} in tick {question.tick}, on decides in evaluating"
    assert lines[2] == f"  options  {', '.join(question.options)}"
    assert lines[3].startswith("  context  [")
    assert lines[4].startswith(f"  answer   {answer.state}, from llm by json, after 0.")
    assert lines[5].startswith("  calls    1 ok (")
    assert lines[6] == f"  effect   in tick {effect.tick}: from evaluating to {answer.state}"
