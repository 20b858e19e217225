"""Servers that fail now and then, are away for a while, or stay away: what a run with default settings makes of it."""

from __future__ import annotations

import json
from pathlib import Path

import anyio
import pytest
from anyio import to_thread

from actors.runtime.simulation import Simulation
from tests.command import Prism, run_prism
from tests.llm.support import GIVES_UP_S
from tests.patience import HANG_S
from tests.standin import Fault, FaultPlan, ModelServer, ServerSettings
from tests.wire.support import config, run

LARGEST_PAUSE_S = 30.0


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["ollama", "openai"])
async def test_a_restart_of_the_server_costs_no_choice_and_changes_none(backend: str, tmp_path: Path) -> None:
    with ModelServer() as server:
        chosen = config(server.url, oracle={"backend": backend}, llm={"systemone": "off"})
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
                summary = await run(chosen, tmp_path, on_tick=watch)
    assert summary.fallbacks_by_reason == {}
    assert summary.digest == undisturbed.digest


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["ollama", "openai"])
async def test_all_faults_together_cost_few_choices_and_a_replay_agrees(backend: str, tmp_path: Path) -> None:
    plan = FaultPlan(shares=dict.fromkeys(Fault, 0.1 / len(Fault)))
    with ModelServer() as server:
        oracle = {"backend": backend, "tape": "record"}
        llm = {"systemone": "off", "timeout_s": GIVES_UP_S}

        def spoil(_: Simulation) -> None:
            server.settings = ServerSettings(faults=plan)

        recorded = await run(config(server.url, oracle=oracle, llm=llm), tmp_path, ready=spoil)
    tape = {**oracle, "tape": "replay", "tape_path": str(tmp_path / "tape.sqlite")}
    replayed = await run(config(server.url, oracle=tape, llm=llm), tmp_path)
    assert recorded.fallback_share <= 0.01
    assert recorded.oracle_calls > recorded.oracle_questions
    assert (replayed.digest, replayed.fallbacks_by_reason) == (recorded.digest, recorded.fallbacks_by_reason)


@pytest.mark.slow
@pytest.mark.parametrize("fault", [Fault.NOT_JSON, Fault.ERROR, Fault.RESET])
def test_a_server_that_stays_away_stops_the_run_and_a_resumed_one_ends_as_if_undisturbed(
    fault: Fault,
    undisturbed: str,
    prism: Prism,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    away = FaultPlan(at=dict.fromkeys(range(60, 10_000), fault))
    with ModelServer(ServerSettings(faults=away)) as server:
        sections = {"oracle": {"outage_patience_s": 2.0, "tape": "record"}, "llm": {"systemone": "off"}}
        ended = prism(server.url, **sections)
        assert (ended.code, ended.out) == (5, "")
        assert "the oracle has not answered for" in ended.err
        server.settings = ServerSettings()
        resumed = run_prism(monkeypatch, capsys, "resume", "run", "--quiet")
    assert (resumed.code, resumed.out) == (0, undisturbed)
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["fallbacks_by_reason"] == {}


FEW = {"population": {"size": 200}}
"""A population that has some fifty questions: ten seconds, at five calls a second."""


@pytest.mark.slow
@pytest.mark.parametrize("says_when", [True, False])
@pytest.mark.parametrize("backend", ["ollama", "openai"])
async def test_a_server_that_takes_five_calls_a_second_costs_no_choice_and_changes_none(
    backend: str, says_when: bool, tmp_path: Path
) -> None:
    with ModelServer() as server:
        chosen = config(server.url, oracle={"backend": backend}, llm={"systemone": "off"}, **FEW)
        undisturbed = await run(chosen, tmp_path)

        def limit(_: Simulation) -> None:
            server.settings = ServerSettings(rate_per_s=5.0, says_when=says_when)

        with anyio.fail_after(HANG_S):
            limited = await run(chosen, tmp_path, ready=limit)
        refused = server.statistics().statuses[429]
    assert (limited.digest, limited.fallbacks_by_reason) == (undisturbed.digest, {})
    assert limited.retries_by_reason == {"overloaded": refused}


@pytest.mark.everyday(1)
@pytest.mark.parametrize("is_killed", [False, True])
def test_retries_are_counted_over_resumes(
    is_killed: bool, prism: Prism, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fails = FaultPlan(at=dict.fromkeys((20, 30, 80, 90), Fault.ERROR))
    with ModelServer(ServerSettings(faults=fails)) as server:
        people = {"size": 300, "deliberation_minutes": 0.0}
        sections = {"oracle": {"max_concurrency": 1}, "llm": {"systemone": "off"}, "population": people}
        assert prism(server.url, simulation={"ticks": 36}, **sections).code == 0
        assert json.loads((tmp_path / "run" / "summary.json").read_text())["oracle_retries"] == 2
        if is_killed:  # without a checkpoint and a summary, all is known from oracle.log
            for file in ((tmp_path / "run" / "summary.json"), *(tmp_path / "run").glob("checkpoint-*")):
                file.unlink()
        assert run_prism(monkeypatch, capsys, "resume", "run", "--ticks", "72").code == 0
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert (summary["oracle_retries"], summary["retries_by_reason"]) == (4, {"server_error": 4})
    calls = summary["llm"]["calls"]
    assert summary["oracle_calls"] == calls["ok"] + calls["server_error"] == calls["ok"] + 4
