"""Whole runs on tape: recorded against a server, then run again without one."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from actors.runs.summary import Summary
from tests.command import Prism
from tests.standin import Fault, FaultPlan, Latency, Logprobs, ModelServer, ServerSettings
from tests.wire.support import FALLS_BACK, config, run

Sections = dict[str, dict[str, Any]]

WAYS_TO_ASK: dict[str, Sections] = {
    "ollama_by_probabilities": {},
    "ollama_by_chat": {"llm": {"systemone": "off"}},
    "ollama_by_chat_at_temperature_0": {"llm": {"systemone": "off", "temperature": 0.0}},
    "openai": {"oracle": {"backend": "openai"}},
    "openai_by_letters": {"oracle": {"backend": "openai"}, "llm": {"method": "probabilities"}},
}
METHODS = {"ollama_by_probabilities": "systemone", "openai_by_letters": "logprobs"}
SERVERS = {"openai_by_letters": ServerSettings(logprobs=Logprobs.GRAMMAR)}


async def record(server: ModelServer, directory: Path, ask: Sections) -> Summary:
    oracle = {**ask.get("oracle", {}), "tape": "record"}
    return await run(config(server.url, **{**ask, "oracle": oracle}), directory)


async def replay(server: ModelServer, directory: Path, ask: Sections) -> Summary:
    oracle = {**ask.get("oracle", {}), "tape": "replay", "tape_path": str(directory / "tape.sqlite")}
    return await run(config(server.url, **{**ask, "oracle": oracle}), directory)


@pytest.mark.everyday(1)
@pytest.mark.parametrize("way", WAYS_TO_ASK)
async def test_a_recorded_run_is_the_same_run_without_the_server_and_without_a_request(
    way: str, tmp_path: Path
) -> None:
    ask = WAYS_TO_ASK[way]
    with ModelServer(SERVERS.get(way)) as server:
        recorded = await record(server, tmp_path, ask)
    requests = len(server.requests)
    replayed = await replay(server, tmp_path, ask)
    assert replayed.digest == recorded.digest
    assert len(server.requests) == requests
    assert replayed.oracle_calls == 0
    assert replayed.decisions_by_source == recorded.decisions_by_source
    assert replayed.decisions_by_method == recorded.decisions_by_method
    assert recorded.decisions_by_method == {METHODS.get(way, "json"): recorded.oracle_questions}
    assert replayed.llm == recorded.llm, "tokens and latencies are those of the recording"


FAILING: Sections = {
    "llm": {"systemone": "off"},
    "oracle": {"deadline_s": 2.0, "max_concurrency": 16, **FALLS_BACK},
}
SHARES = {Fault.HANG: 0.05, Fault.ERROR: 0.05, Fault.RESET: 0.05, Fault.WRONG_STATE: 0.05, Fault.EMPTY: 0.05}


@pytest.mark.slow
async def test_the_fallbacks_of_a_recorded_run_are_those_of_its_replay(tmp_path: Path) -> None:
    with ModelServer() as server:
        chosen = config(server.url, **{**FAILING, "oracle": {**FAILING["oracle"], "tape": "record"}})
        spoilt = ServerSettings(latency=Latency(mean_s=0.03, p99_s=0.15), faults=FaultPlan(shares=SHARES))
        recorded = await run(chosen, tmp_path, ready=lambda _: setattr(server, "settings", spoilt))
    replayed = await replay(server, tmp_path, FAILING)
    happened = recorded.fallbacks_by_reason
    assert {"deadline", "server_error", "connection_error", "invalid_response"} <= happened.keys()
    assert replayed.fallbacks_by_reason == happened
    assert replayed.digest == recorded.digest


@pytest.mark.slow
def test_the_summary_counts_decisions_tokens_and_latencies_of_the_model(prism: Prism, tmp_path: Path) -> None:
    with ModelServer(ServerSettings(latency=Latency(mean_s=0.01))) as server:
        ended = prism(server.url)
    written = json.loads((tmp_path / "run" / "summary.json").read_text())
    llm = written["llm"]
    assert (ended.code, written["status"], written["agents"]) == (0, "done", 500)
    assert ended.out.strip() == written["digest"]
    assert written["decisions_by_source"]["llm"] == written["oracle_questions"] == llm["calls"]["ok"] > 100
    assert written["decisions_by_source"]["oracle"] == written["decisions_by_source"]["fallback"] == 0
    assert llm["prompt_tokens"] > llm["completion_tokens"] >= llm["calls"]["ok"]
    assert 0.005 < llm["latency_s_p50"] <= llm["latency_s_p95"] <= llm["latency_s_p99"]
    assert 0.005 < written["latency_s_p50"] <= written["latency_s_p95"]


@pytest.mark.slow
def test_a_replay_with_another_seed_ends_with_the_question_that_is_not_on_the_tape(
    prism: Prism, tmp_path: Path
) -> None:
    with ModelServer() as server:
        prism(server.url, oracle={"tape": "record"})
    tape = str(tmp_path / "run" / "tape.sqlite")
    requests = len(server.requests)
    ended = prism(server.url, out="again", oracle={"tape": "replay", "tape_path": tape}, simulation={"seed": 8})
    assert (ended.code, ended.out, len(server.requests)) == (5, "", requests)
    assert re.match(r"prism: again/inputs/[0-9a-f]{64}/tape\.sqlite: no answer to the question from agent ", ended.err)
    assert " in tick " in ended.err
    assert "'You are " in ended.err
    assert "the seed or the version is another than the recorded: oracle.tape=record" in ended.err
    assert ended.err.count("\n") == 1


def test_past_the_most_calls_every_question_is_counted_as_spent(prism: Prism, tmp_path: Path) -> None:
    with ModelServer() as server:
        ended = prism(server.url, oracle={"max_calls": 40, "when_spent": "fallback", "max_fallback_share": 1.0})
    written = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert (ended.code, written["status"], written["stopped_by"]) == (0, "done_with_fallbacks", None)
    assert (written["oracle_calls"], written["decisions_by_source"]["llm"]) == (40, 40)
    assert written["fallbacks_by_reason"] == {"spent": written["oracle_questions"] - 40}


def test_past_the_most_calls_the_run_stops_if_told_so(prism: Prism) -> None:
    with ModelServer() as server:
        ended = prism(server.url, oracle={"max_calls": 40, "when_spent": "stop"})
        asked = [call for call in server.calls if call.request_id]
    assert (ended.code, len(asked)) == (4, 40)
