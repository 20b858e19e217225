"""Whole runs on tape: recorded against a server, stopped, and run again without one."""

from __future__ import annotations

import json
import re
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from actors.core.errors import first_error
from actors.runs.summary import Summary
from prism.errors import OracleSpentError
from prism.llm import Tape, TapeMissError
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


ASKS_TO_THE_END: dict[str, dict[str, Any]] = {
    "simulation": {"rounds": 1, "ticks_per_round": 24},
    "population": {"posts_per_session": 0.8},
    "feed": {"size": 5},
}


SHORT: dict[str, dict[str, Any]] = {"simulation": {"rounds": 1}, "population": {"posts_per_session": 0.8}}


CHECKS = 3
"""Questions by which a start finds out whether the server can be asked."""


def on_tape(tape: Path, mode: str, **limits: Any) -> dict[str, dict[str, Any]]:
    """The sections of three rounds that are recorded on this tape, or replayed from it."""
    return {"simulation": {"rounds": 3}, "oracle": {"tape": mode, "tape_path": str(tape), **limits}}


def answers_on(tape: Path) -> int:
    with closing(Tape(tape, "replay")) as opened:
        return opened.statistics().answers


async def expect_a_miss(host: str, tape: Path) -> None:
    """A replay goes as far as the tape does, and then says that the tape may have ended and how to go on."""
    with pytest.raises(BaseExceptionGroup) as caught:
        await run(config(host, **on_tape(tape, "replay")), tape.parent)
    miss = first_error(caught.value, TapeMissError)
    assert miss is not None
    assert "; its recording was stopped before this, or the configuration, the seed" in str(miss)
    assert str(miss).endswith(": oracle.tape=record with this oracle.tape_path asks what is missing and adds it")


async def expect_it_goes_on(server: ModelServer, tape: Path) -> None:
    """Recorded again, the tape asks what it has not and nothing else, and is then as if it had never been stopped."""
    kept, before = answers_on(tape), len(server.calls)
    summary = await run(config(server.url, **on_tape(tape, "record")), tape.parent)
    assert kept > 0
    assert len(server.calls) - before - CHECKS == summary.oracle_questions - kept > 0
    whole = await run(config(server.url, **on_tape(tape.with_name("whole.sqlite"), "record")), tape.parent)
    replayed = await run(config(server.url, **on_tape(tape, "replay")), tape.parent)
    assert summary.digest == whole.digest == replayed.digest


@pytest.mark.slow
async def test_the_tape_of_a_run_that_was_stopped_by_its_cap_goes_on_without_the_cap(tmp_path: Path) -> None:
    tape = tmp_path / "tape.sqlite"
    with ModelServer() as server:
        for _ in range(2):  # recorded answers count towards the cap as well
            try:
                await run(config(server.url, **on_tape(tape, "record", max_calls=40, when_spent="stop")), tmp_path)
            except* OracleSpentError:
                pass  # the tick under way could not end without an answer
            assert answers_on(tape) == 40
        await expect_a_miss(server.url, tape)
        await expect_it_goes_on(server, tape)
