"""Servers that fail now and then, at one question, or are away for a while or for good: what a run makes of it."""

import json
import socket
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import to_thread

from actors.runtime.simulation import Simulation
from actors.testing import ModelServer as PlainServer
from actors.testing import ServerSettings as PlainSettings
from actors.testing.answers import answer
from actors.testing.server import Reply
from tests.command import Prism, prism_alone
from tests.llm.support import GIVES_UP_S
from tests.patience import HANG_S
from tests.standin import Fault, FaultPlan, ModelServer, ServerSettings
from tests.wire.support import CHAT, Sections, config, configure, run, settings, summary, write

LARGEST_PAUSE_S = 30.0
BACKENDS = pytest.mark.parametrize("backend", ["ollama", "openai"])


@pytest.mark.slow
@BACKENDS
async def test_a_restart_of_the_server_costs_no_choice_and_changes_none(backend: str, tmp_path: Path) -> None:
    with ModelServer() as server:
        chosen = config(server.url, oracle={"backend": backend}, llm=CHAT)
        undisturbed = await run(chosen, tmp_path)
        is_due = anyio.Event()

        async def restart() -> None:
            await is_due.wait()
            await to_thread.run_sync(server.stop)
            await anyio.sleep(2.0)
            await to_thread.run_sync(server.start)

        def watch(simulation: Simulation) -> None:
            if simulation.counters.decisions_by_source()["llm"] >= 50:
                is_due.set()

        with anyio.fail_after(2.0 + LARGEST_PAUSE_S + HANG_S):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(restart)
                found = await run(chosen, tmp_path, on_tick=watch)
    assert (found.fallbacks_by_reason, found.digest) == ({}, undisturbed.digest)


@pytest.mark.slow
@BACKENDS
async def test_all_faults_together_cost_few_choices_and_a_replay_agrees(backend: str, tmp_path: Path) -> None:
    plan = FaultPlan(shares=dict.fromkeys(Fault, 0.1 / len(Fault)))
    oracle, llm = {"backend": backend, "tape": "record"}, {**CHAT, "timeout_s": GIVES_UP_S}
    with ModelServer() as server:
        spoilt = ServerSettings(faults=plan)
        recorded = await run(
            config(server.url, oracle=oracle, llm=llm), tmp_path, ready=lambda _: setattr(server, "settings", spoilt)
        )
    tape = {**oracle, "tape": "replay", "tape_path": str(tmp_path / "tape.sqlite")}
    replayed = await run(config(server.url, oracle=tape, llm=llm), tmp_path)
    assert recorded.fallback_share <= 0.01
    assert recorded.oracle_calls > recorded.oracle_questions
    assert (replayed.digest, replayed.fallbacks_by_reason) == (recorded.digest, recorded.fallbacks_by_reason)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The output of `prism run` by Ollama's chat, against a server that never fails."""
    place = tmp_path_factory.mktemp("undisturbed")
    with ModelServer() as server:
        name = write(settings(server.url, llm=CHAT), str(place / "wire.yaml"))
        ended = prism_alone("run", name, "--quiet", "--out", str(place / "run"))
    assert ended.code == 0, ended.err
    return ended.out


@pytest.mark.slow
@pytest.mark.parametrize("fault", [Fault.NOT_JSON, Fault.ERROR, Fault.RESET])
def test_a_server_that_stays_away_stops_the_run_and_a_resumed_one_ends_as_if_undisturbed(
    fault: Fault, undisturbed: str, prism: Prism
) -> None:
    away = FaultPlan(at=dict.fromkeys(range(60, 10_000), fault))
    with ModelServer(ServerSettings(faults=away)) as server:
        name = configure(server.url, oracle={"outage_patience_s": 2.0, "tape": "record"}, llm=CHAT)
        ended = prism("run", name, "--quiet", "--out", "run")
        assert (ended.code, ended.out) == (5, "")
        assert "the oracle has not answered for" in ended.err
        server.settings = ServerSettings()
        resumed = prism("resume", "run", "--quiet")
    assert (resumed.code, resumed.out) == (0, undisturbed)
    assert summary()["fallbacks_by_reason"] == {}


@pytest.mark.everyday(1)
@pytest.mark.parametrize("is_killed", [False, True])
def test_retries_are_counted_over_resumes(is_killed: bool, prism: Prism) -> None:
    fails = FaultPlan(at=dict.fromkeys((20, 30, 80, 90), Fault.ERROR))
    with ModelServer(ServerSettings(faults=fails)) as server:
        people = {"size": 300, "deliberation_minutes": 0.0}
        name = configure(server.url, oracle={"max_concurrency": 1}, llm=CHAT, population=people)
        assert prism("run", name, "--ticks", "36", "--quiet", "--out", "run").code == 0
        assert summary()["oracle_retries"] == 2
        if is_killed:  # without a checkpoint and a summary, all is known from oracle.log
            for file in (Path("run/summary.json"), *Path("run").glob("checkpoint-*")):
                file.unlink()
        assert prism("resume", "run", "--ticks", "72").code == 0
    found = summary()
    assert (found["oracle_retries"], found["retries_by_reason"]) == (4, {"server_error": 4})
    calls = found["llm"]["calls"]
    assert found["oracle_calls"] == calls["ok"] + calls["server_error"] == calls["ok"] + 4


FEW: Sections = {"population": {"size": 200}}
Messages = Sequence[Mapping[str, object]]


def answered(messages: Messages, options: Mapping[str, object], form: object) -> str:
    seed = options.get("seed")
    assert isinstance(seed, int)
    return answer(messages, seed, form)


async def test_a_question_that_the_server_does_not_survive_is_the_only_fallback(tmp_path: Path) -> None:
    healthy: set[str] = set()
    """What was asked before the first tick: the test questions."""
    fatal: set[str] = set()

    def healthily(messages: Messages, options: Mapping[str, object], form: object) -> str:
        healthy.add(json.dumps(messages))
        return answered(messages, options, form)

    def mortally(messages: Messages, options: Mapping[str, object], form: object) -> str:
        text = json.dumps(messages)
        if text not in healthy and (text in fatal or (not fatal and zlib.crc32(text.encode()) % 8 == 0)):
            fatal.add(text)
            raise ConnectionResetError  # the connection ends without an answer
        return answered(messages, options, form)

    with PlainServer(PlainSettings(reply=healthily)) as server, anyio.fail_after(HANG_S):
        mortal = PlainSettings(reply=mortally)
        found = await run(config(server.url, **FEW), tmp_path, ready=lambda _: setattr(server, "settings", mortal))
    assert len(fatal) == 1
    assert (found.fallbacks_by_reason, found.status) == ({"connection_error": 1}, "done_with_fallbacks")


async def test_while_no_model_is_loaded_the_run_waits_and_loses_no_choice(tmp_path: Path) -> None:
    refused: list[object] = []
    answers = [0]

    def unloaded(messages: Messages, options: Mapping[str, object], form: object) -> str:
        if len(refused) + answers[0] > 20 and len(refused) < 12:
            refused.append(form)
            error = {"message": "No models loaded. Please load a model first.", "type": "invalid_request_error"}
            raise Reply({"error": error}, 400)
        answers[0] += 1
        return answered(messages, options, form)

    openai: dict[str, dict[str, Any]] = {"oracle": {"backend": "openai"}, **FEW}
    with PlainServer(PlainSettings(reply=answered)) as server, anyio.fail_after(HANG_S):
        chosen, empty = config(server.url, **openai), PlainSettings(reply=unloaded)
        undisturbed = await run(chosen, tmp_path)
        found = await run(chosen, tmp_path, ready=lambda _: setattr(server, "settings", empty))
    assert len(refused) == 12
    assert (found.fallbacks_by_reason, found.digest) == ({}, undisturbed.digest)


def test_a_server_or_a_model_that_is_not_there_is_one_line_and_leaves_no_directory(prism: Prism) -> None:
    with (
        socket.socket() as taken,  # nothing listens there, and nobody else can meanwhile
        ModelServer(ServerSettings(models=("llama3.2", "qwen3:8b"))) as server,
    ):
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        no_model = f"the Ollama server at {server.url} has no model 'llama4': it has llama3.2:latest, qwen3:8b; "
        where = "or set llm.host to where it runs"
        cases: tuple[tuple[str, Sections, str], ...] = (
            (url, {}, f"no Ollama server answers at {url}; start it with `ollama serve`, {where}"),
            (url, {"oracle": {"backend": "openai"}}, f"no server answers at {url}; start it, {where}"),
            (server.url, {"llm": {"model": "llama4"}}, no_model + "get it with `ollama pull llama4`, or set llm.model"),
        )
        for host, sections, line in cases:
            ended = prism("run", configure(host, **sections), "--quiet", "--out", "run")
            assert ended == (5, "", f"prism: {line}\n")
    assert not Path("run").exists()
