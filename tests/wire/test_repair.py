"""Runs whose server failed in the middle, repaired against a server that answers: as if nothing had happened."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from actors.runs.directory import RunDirectory
from actors.runs.repair import find_losses
from actors.testing import Exchange, Fault, FaultPlan, Latency, ModelServer, ServerSettings
from tests.command import Ended, Prism, run_prism

SPOILS: dict[str, Any] = {"on_outage": "fallback", "max_attempts": 1, "max_fallback_share": 1.0}
"""Settings with which a run makes every choice, whatever its server does."""

HEALTHY = ServerSettings()

Command = Callable[..., Ended]


@pytest.fixture
def command(prism: Prism, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Return a function that runs any command where `prism` has run."""
    return lambda *arguments: run_prism(monkeypatch, capsys, *arguments)


def failing(calls: Iterable[int], fault: Fault = Fault.ERROR) -> ServerSettings:
    """Return settings of a server that fails in these calls."""
    return ServerSettings(faults=FaultPlan(at=dict.fromkeys(calls, fault), burst=1))


def summary(run: str) -> dict[str, Any]:
    return json.loads((Path(run) / "summary.json").read_text())  # type: ignore[no-any-return]


def bodies(calls: Iterable[Exchange], *, answered: bool = True) -> set[str]:
    """Return what was asked in these calls, without the question of the check at the start."""
    texts = {json.dumps(call.body, sort_keys=True) for call in calls if answered == (call.fault is None)}
    return {text for text in texts if "social media user" in text or "econom" in text}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("backend", "lookahead"),
    [
        ("ollama", 4),
        pytest.param("ollama", 0, marks=pytest.mark.slow),
        pytest.param("openai", 4, marks=pytest.mark.slow),
        pytest.param("openai", 0, marks=pytest.mark.slow),
    ],
)
def test_a_spoilt_run_is_repaired_to_the_digest_of_an_undisturbed_one(
    backend: str, lookahead: int, prism: Prism, command: Command
) -> None:
    oracle, people = {"backend": backend, **SPOILS}, {"deliberation_minutes": float(lookahead)}
    sections: dict[str, Any] = {
        "oracle": oracle,
        "population": people,
        "llm": {"systemone": "off"},
        "run": {"checkpoint_every_ticks": 7},
    }
    with ModelServer() as server:
        undisturbed = prism(server.url, out="undisturbed", **sections).out
    with ModelServer(failing(range(80, 130))) as server:
        spoilt = prism(server.url, **sections)
        assert (spoilt.code, spoilt.out == undisturbed) == (0, False)
        lost = summary("run")["fallbacks_by_reason"]
        assert find_losses(RunDirectory(Path("run"))).by_reason == lost
        assert lost.keys() >= {"server_error", "breaker_open"}
        before, files = list(server.calls), {path: path.read_bytes() for path in Path("run").iterdir()}
        server.settings = HEALTHY
        repaired = command("repair", "run", "--out", "repaired")
        again = server.calls[len(before) :]
    assert (repaired.code, f"digest {undisturbed}" in repaired.out) == (0, True)
    assert f"prism: {sum(lost.values())} answers were lost (" in repaired.err
    assert summary("repaired")["fallbacks_by_reason"] == {}
    assert bodies(again) & bodies(before) == set(), "nothing that was answered is asked again"
    needless = bodies(before, answered=False) - bodies(again)  # an answer has led the person elsewhere
    assert len(needless) <= 0.1 * sum(lost.values()), "what failed is"
    assert len(bodies(again)) <= 1.25 * sum(lost.values()), "and little more"
    assert {path: path.read_bytes() for path in Path("run").iterdir()} == files, "the spoilt run is left as it is"
    assert command("replay", "repaired", "-q").out == undisturbed
    assert command("verify", "repaired").code == 0
    (row,) = command("runs", "repaired").out.splitlines()[1:]
    assert row.endswith("repair of run")


@pytest.mark.slow
def test_a_repair_goes_on_with_the_tape_without_its_failures(undisturbed: str, prism: Prism, command: Command) -> None:
    sections: dict[str, Any] = {"oracle": {"tape": "record", **SPOILS}, "llm": {"systemone": "off"}}
    broken = FaultPlan(at={**dict.fromkeys(range(60, 65), Fault.ERROR), **dict.fromkeys(range(80, 84), Fault.EMPTY)})
    with ModelServer(ServerSettings(faults=broken)) as server:
        prism(server.url, **sections)
        assert summary("run")["fallbacks_by_reason"] == {"refused": 4, "server_error": 5}
        tape = Path("run/tape.sqlite").read_bytes()
        server.settings = HEALTHY
        before = list(server.calls)
        assert command("repair", "run", "-q", "--out", "repaired").out == undisturbed
        assert bodies(server.calls[len(before) :]) & bodies(call for call in before if call.fault is None) == set()
    assert Path("run/tape.sqlite").read_bytes() == tape
    again = {"oracle": {"tape": "replay", "tape_path": "repaired/tape.sqlite"}, "llm": {"systemone": "off"}}
    assert prism("http://127.0.0.1:9", out="again", **again).out == undisturbed, "the tape is whole"


@pytest.mark.slow
def test_a_run_that_too_many_fallbacks_stopped_is_repaired_and_run_to_its_end(
    undisturbed: str, prism: Prism, command: Command
) -> None:
    sections: dict[str, Any] = {"oracle": {"max_attempts": 1}, "llm": {"systemone": "off"}}
    with ModelServer(failing(range(90, 10_000, 2), Fault.EMPTY)) as server:
        assert prism(server.url, **sections).code == 4
        (row,) = command("runs", "run").out.splitlines()[1:]
        assert " stopped " in row
        assert "by fallback_share, " in row
        server.settings = HEALTHY
        assert command("repair", "run", "-q").out == undisturbed
    assert summary("runs/run-repaired-001")["status"] == "done"


@pytest.mark.slow
def test_a_repair_that_loses_answers_itself_can_be_repaired(undisturbed: str, prism: Prism, command: Command) -> None:
    sections: dict[str, Any] = {"oracle": SPOILS, "llm": {"systemone": "off"}}
    with ModelServer(failing(range(60, 100))) as server:
        prism(server.url, **sections)
        made = len(server.calls)
        server.settings = failing(range(made + 5, made + 30))
        assert command("repair", "run", "-q", "--out", "half").code == 0
        assert summary("half")["status"] == "done_with_fallbacks"
        server.settings = HEALTHY
        assert command("repair", "half", "-q", "--out", "whole").out == undisturbed


@pytest.mark.slow
def test_a_repair_that_is_stopped_by_an_outage_and_resumed_is_one_that_never_was(
    undisturbed: str, prism: Prism, command: Command
) -> None:
    sections: dict[str, Any] = {"oracle": SPOILS, "llm": {"systemone": "off"}, "run": {"checkpoint_every_ticks": 5}}
    with ModelServer(failing(range(60, 100))) as server:
        prism(server.url, **sections)
        made = len(server.calls)
        server.settings = failing(range(made + 60, 10_000))
        wait = ("--set", "oracle.on_outage=stop", "--set", "oracle.max_attempts=3")
        assert command("repair", "run", "-q", *wait, "--out", "repaired").code == 5
        server.settings = HEALTHY
        assert command("resume", "repaired", "-q").out == undisturbed
        assert command("replay", "repaired", "-q").out == undisturbed


@pytest.mark.slow
def test_decisions_that_came_too_late_in_real_time_are_lost_answers_and_in_time_in_a_repair(
    prism: Prism, command: Command
) -> None:
    sections: dict[str, Any] = {
        "oracle": {"mode": "realtime"},
        "population": {"deliberation_minutes": 1.0},
        "llm": {"systemone": "off"},
        "run": {"tick_s": 0.1},
    }
    with ModelServer(ServerSettings(latency=Latency(mean_s=0.3), slots=64)) as server:
        assert prism(server.url, **sections).code == 0
        late = summary("run")["fallbacks_by_reason"]["late"]
        assert find_losses(RunDirectory(Path("run"))).by_reason == {"late": late}
        server.settings = HEALTHY
        patient = ("--set", "run.tick_s=0.3")
        assert command("repair", "run", "-q", *patient, "--out", "repaired").code == 0
    assert summary("repaired")["fallbacks_by_reason"].get("late", 0) < late / 2
    assert command("replay", "repaired", "-q").out.strip() == summary("repaired")["digest"]


ECONOMY = """
simulation: {{domain: economy, rounds: 8, ticks_per_round: 1, seed: 5, tick_seconds: 7889400}}
oracle: {{backend: ollama, on_outage: fallback, max_attempts: 1, max_fallback_share: 1}}
llm: {{host: "{host}", num_ctx: 4096, timeout_s: 120.0}}
"""


@pytest.mark.slow
@pytest.mark.parametrize("first", [50, pytest.param(53, marks=pytest.mark.slow)])
def test_an_economy_that_ended_for_want_of_an_answer_is_repaired_to_the_digest_of_an_undisturbed_one(
    first: int, command: Command, tmp_path: Path
) -> None:
    with ModelServer() as server:
        (tmp_path / "economy.yaml").write_text(ECONOMY.format(host=server.url))
        undisturbed = command("run", "economy.yaml", "-q", "--out", "undisturbed").out
    with ModelServer(failing(range(first, first + 20))) as server:
        (tmp_path / "economy.yaml").write_text(ECONOMY.format(host=server.url))
        assert command("run", "economy.yaml", "-q", "--out", "run").code == 5
        (row,) = command("runs", "run").out.splitlines()[1:]
        assert " stopped " in row
        assert row.endswith("by no_answer (server_error)")
        before = list(server.calls)
        server.settings = HEALTHY
        repaired = command("repair", "run", "--out", "repaired")
        again = server.calls[len(before) :]
        resumed = command("resume", "run", "-q")
        assert (resumed.code, resumed.out) == (0, undisturbed), "it could as well have been resumed"
        # As in every run it is said which proposals are no economic policy; nothing else is.
        assert all("irrelevant_decision" in line or "SKIPPED Agent" in line for line in resumed.err.splitlines()), (
            resumed.err
        )
    assert (repaired.code, f"digest {undisturbed}" in repaired.out) == (0, True)
    assert "prism: 1 answer was lost (server_error 1), the first in tick " in repaired.err
    assert bodies(again) & bodies(before) == set()
    assert command("replay", "repaired", "-q").out == undisturbed
