"""What a run costs: counted over its resumes, capped, and foretold."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from actors.runs.forecast import FACTOR, example_of, forecast
from actors.runtime.simulation import Simulation
from prism.config import load_config
from prism.llm import schema_of
from prism.models import PolicyDecision, StateUpdateDecision, ValidationResult
from tests.catalogue import catalogue
from tests.command import Prism
from tests.plain import plain
from tests.standin import Fault, FaultPlan, ModelServer, ServerSettings
from tests.wire.support import run

PRICES = {"input": 100.0, "output": 1000.0}
PEOPLE: dict[str, Any] = plain(
    {
        "simulation": {"rounds": 4, "ticks_per_round": 24, "seed": 3},
        "population": {"size": 60, "activity": {"mean": 0.9}, "ambiguity": 0.3},
        "run": {"checkpoint_every_ticks": 10},
    }
)
NATIONS: dict[str, Any] = {
    "simulation": {"domain": "economy", "rounds": 4, "ticks_per_round": 1, "seed": 3},
    "llm": {"num_ctx": 4096},
}
CHECKS = 2
"""The calls that the check of a server makes, before anything of a domain is asked."""


@pytest.fixture
def prism(command: Prism) -> Prism:
    return command


def write(path: Path, host: str, sections: dict[str, Any], **oracle: object) -> str:
    """A configuration that asks the server for chats, with prices; its name."""
    own = {**sections.get("oracle", {}), "backend": "ollama", **oracle}
    llm = {**sections.get("llm", {}), "host": host, "systemone": "off", "method": "json", "prices": PRICES}
    (path / "model.yaml").write_text(yaml.safe_dump({**sections, "oracle": own, "llm": llm}))
    return "model.yaml"


def llm_of(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((path / "run" / "summary.json").read_text())["llm"]
    return found


def usd(llm: dict[str, Any]) -> float:
    return float(llm["prompt_tokens"] * PRICES["input"] + llm["completion_tokens"] * PRICES["output"]) / 1e6


@pytest.mark.everyday(1)
@pytest.mark.parametrize("is_killed", [False, True])
def test_calls_tokens_and_cost_are_those_of_all_lives_of_a_run(is_killed: bool, prism: Prism, tmp_path: Path) -> None:
    faults = FaultPlan(at={7: Fault.NOT_JSON, 9: Fault.ERROR, 15: Fault.WRONG_STATE})
    with ModelServer(ServerSettings(faults=faults)) as server:
        name = write(tmp_path, server.url, PEOPLE, max_calls=25, when_spent="stop", max_concurrency=1)
        assert prism("run", name, "--quiet", "--out", "run").code == 4
        first = llm_of(tmp_path)
        if is_killed:  # without a checkpoint, all is known from the answers in oracle.log
            for checkpoint in (tmp_path / "run").glob("checkpoint-*"):
                checkpoint.unlink()
        assert prism("resume", "run", "--quiet", "--accept-settings", "--set", "oracle.max_calls=100000").code == 0
        calls = server.statistics().calls
    whole = llm_of(tmp_path)
    known = calls - 2 * CHECKS - sum(whole["calls"].values())
    assert 0 <= known <= (1 if is_killed else 0)  # a failed call whose question had no answer when the run stopped
    assert (whole["calls"]["invalid_response"], whole["calls"]["server_error"]) == (2, 1)
    assert whole["calls"]["ok"] > first["calls"]["ok"] > 0
    assert whole["wasted_tokens"] == first["wasted_tokens"] > 0
    assert whole["cost_usd"] > first["cost_usd"]
    assert [whole["cost_usd"], first["cost_usd"]] == pytest.approx([usd(whole), usd(first)])
    assert whole["cost_usd"] > whole["wasted_usd"] > 0


def test_a_cap_in_dollars_stops_the_run_with_a_checkpoint_and_holds_after_a_resume(
    prism: Prism, tmp_path: Path
) -> None:
    with ModelServer() as server:
        name = write(tmp_path, server.url, PEOPLE, max_usd=0.2, max_concurrency=4)
        stopped = prism("run", name, "--out", "run")
        summary = json.loads((tmp_path / "run" / "summary.json").read_text())
        assert (stopped.code, summary["status"], summary["stopped_by"]) == (4, "stopped", "spend_cap")
        assert "prism resume run --accept-settings --set oracle.max_usd=..." in stopped.err
        assert re.search(r"cost: \$0\.[23]\d", stopped.out)
        per_call = summary["llm"]["cost_usd"] / sum(summary["llm"]["calls"].values())
        assert 0.2 <= summary["llm"]["cost_usd"] < 0.2 + 4 * 2 * per_call  # the calls under way end, too
        assert prism("verify", "run").code == 0
        refused = prism("resume", "run", "--quiet")
        assert (refused.code, "its spend cap is reached" in refused.err) == (2, True)
        assert prism("resume", "run", "--quiet", "--accept-settings", "--set", "oracle.max_usd=0.4").code == 4
        assert 0.4 <= llm_of(tmp_path)["cost_usd"] < 0.4 + 4 * 2 * per_call


@pytest.mark.slow
@pytest.mark.parametrize("sections", [PEOPLE, NATIONS], ids=["people", "nations"])
def test_a_forecast_is_right_within_its_factor(sections: dict[str, Any], prism: Prism, tmp_path: Path) -> None:
    with ModelServer() as server:
        name = write(tmp_path, server.url, sections)
        foretold = forecast(load_config((tmp_path / name).read_text(), name, environment={}, overrides=()))
        assert prism("run", name, "--quiet", "--out", "run").code == 0
    llm = llm_of(tmp_path)
    assert is_near(foretold.calls, sum(llm["calls"].values()))
    assert is_near(foretold.prompt_tokens, llm["prompt_tokens"])
    if sections is PEOPLE:  # what the test server says about a policy is shorter than what models say
        assert is_near(foretold.completion_tokens, llm["completion_tokens"])
        assert is_near(foretold.usd or 0.0, llm["cost_usd"])


def is_near(expected: float, found: float) -> bool:
    return found / FACTOR <= expected <= found * FACTOR


@pytest.mark.slow
def test_validate_and_doctor_foretell_what_a_run_asks(prism: Prism, tmp_path: Path) -> None:
    with ModelServer() as server:
        name = write(tmp_path, server.url, PEOPLE, max_usd=0.001)
        requests = len(server.requests)
        validated = prism("validate", name, "--forecast")
        assert (validated.code, len(server.requests)) == (0, requests)
        asked = prism("doctor", name)
    assert asked.code == 0
    for printed in (validated.out, asked.out):
        assert re.search(r"calls:? +about [\d,]+", printed)
        assert re.search(r"tokens:? +about [\d,]+ in, [\d,]+ out", printed)
        assert re.search(r"cost:? +about \$[\d.]+; the run stops at oracle.max_usd \$0.0010", printed)
        assert re.search(r"time:? +at least .*, at [\d.]+ s a call and up to 64 at once", printed)


@catalogue("model", [PolicyDecision, ValidationResult, StateUpdateDecision])
def test_the_answers_of_a_rehearsal_are_within_their_schemas(model: type[Any]) -> None:
    assert model(**example_of(schema_of(model)))


async def test_the_cost_so_far_is_shown_while_a_run_is_under_way(tmp_path: Path) -> None:
    shown: list[float] = []

    def note(simulation: Simulation) -> None:
        progress, snapshot = simulation.progress(), simulation.snapshot()
        assert progress.cost_usd == snapshot.cost_usd
        shown.append(snapshot.cost_usd)

    with ModelServer() as server:
        name = write(tmp_path, server.url, PEOPLE)
        chosen = load_config((tmp_path / name).read_text(), name, environment={}, overrides=("simulation.rounds=1",))
        summary = await run(chosen, tmp_path, on_tick=note)
    assert summary.llm is not None
    assert shown == sorted(shown)
    assert (shown[0], shown[-1]) == (0.0, summary.llm.cost_usd)
    assert shown[-1] > 0.0
