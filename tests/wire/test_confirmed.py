"""Predictions that were sealed with a model, and are confirmed on another one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.command import Prism
from tests.paths import ROOT
from tests.standin import ModelServer, ServerSettings
from tests.standin.planted import planted
from tests.wire.support import settings

EXPERIMENT = {
    "question": "Does another seed of posts bring more likes?",
    "base": "base.yaml",
    "design": {"conditions": {"few": {"feed.size": 3}, "many": {"feed.size": 8}}},
    "seeds": 2,
    "measures": {"likes": "likes"},
}
GUESS = {"by": "A. Author", "predictions": [{"measure": "likes", "contrast": ["many", "few"], "mean": 5.0, "sd": 4.0}]}


def prism_in_a_process(*words: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own, as the gateway of an experiment expects."""
    source = {**os.environ, "PYTHONPATH": str(ROOT)}
    call = [sys.executable, "-m", "actors.cli", *words]
    ended = subprocess.run(call, env=source, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended


def test_all_but_the_model_must_be_as_sealed(command: Prism) -> None:
    with ModelServer(ServerSettings(models=("llama3.2", "other"))) as server:
        base = settings(
            server.url,
            simulation={"rounds": 1, "ticks_per_round": 12},
            population={"size": 40},
            llm={"systemone": "off"},
        )
        for name, content in (("base.yaml", base), ("e.yaml", EXPERIMENT), ("guess.yaml", GUESS)):
            Path(name).write_text(yaml.safe_dump(content))
        assert command("experiment", "seal", "e.yaml", "guess.yaml").code == 0
        parts = json.loads(Path("guess.sealed.json").read_text())["parts"]
        assert {"model", "prompt", "parsing", "measure likes", "condition few"} <= parts.keys()
        score = ("experiment", "score", "e.yaml", "guess.sealed.json")
        same = command(*score, "--model", "llama3.2")
        assert (same.code, "another model than the sealed one, got llama3.2" in same.err) == (3, True)
        found = json.loads(prism_in_a_process(*score, "--model", "other", "--json").stdout)
        assert found["notes"] == ["confirmed on other: prompt, parsing, measures, seeds and conditions are as sealed"]
        assert found["scores"][0]["observed"] is not None
        assert {each.body["model"] for each in server.calls} == {"other"}
        assert Path("experiments/e-other/outcome.json").exists()
    base["llm"]["prompt"] = "list"
    Path("base.yaml").write_text(yaml.safe_dump(base))
    ended = command(*score, "--model", "other")
    assert (ended.code, "the prompt was changed after the sealing" in ended.err) == (3, True)


@pytest.mark.parametrize("model", ["other"])
def test_a_plan_that_asks_no_model_has_none_to_exchange(command: Prism, model: str) -> None:
    Path("base.yaml").write_text("simulation: {rounds: 1}\n")
    Path("e.yaml").write_text(yaml.safe_dump(EXPERIMENT))
    Path("guess.yaml").write_text(yaml.safe_dump(GUESS))
    assert command("experiment", "seal", "e.yaml", "guess.yaml").code == 0
    ended = command("experiment", "score", "e.yaml", "guess.sealed.json", "--model", model)
    assert (ended.code, "the plan asks no model" in ended.err) == (3, True)


@pytest.mark.slow
def test_a_sealed_experiment_is_confirmed_on_a_model_of_another_server(command: Prism) -> None:
    answers = (planted("sound"), planted("seldom"))
    first, second = (
        ServerSettings(models=(name,), reply=reply)
        for name, reply in zip(("llama3.2", "org/newer:2b"), answers, strict=True)
    )
    with ModelServer(first) as server, ModelServer(second) as other:
        base = settings(
            server.url,
            simulation={"rounds": 1, "ticks_per_round": 24},
            population={"size": 50, "ambiguity": 0.8, "posts_per_session": 0.5},
            llm={"systemone": "off", "method": "json", "temperature": 0.0},
        )
        for name, content in (("base.yaml", base), ("e.yaml", EXPERIMENT), ("guess.yaml", GUESS)):
            Path(name).write_text(yaml.safe_dump(content))
        assert command("experiment", "seal", "e.yaml", "guess.yaml").code == 0
        prism_in_a_process("experiment", "e.yaml")
        score = ("experiment", "score", "e.yaml", "guess.sealed.json")
        sealed = json.loads(prism_in_a_process(*score, "--json").stdout)
        assert sealed["notes"] == []
        calls = len(server.calls)
        base["llm"]["host"] = other.url
        Path("base.yaml").write_text(yaml.safe_dump(base))
        moved = command(*score)
        assert (moved.code, "the server was changed after the sealing" in moved.err) == (3, True), moved.err
        ended = prism_in_a_process(*score, "--model", "org/newer:2b")
        # All its calls go to the other server, and a second start makes none.
        assert len(server.calls) == calls
        assert {each.body["model"] for each in other.calls} == {"org/newer:2b"}
        asked = len(other.calls)
        found = json.loads(prism_in_a_process(*score, "--model", "org/newer:2b", "--json").stdout)
        assert len(other.calls) == asked
    confirmed = (
        "confirmed on org/newer:2b at another server: prompt, parsing, measures, seeds and conditions are as sealed"
    )
    assert found["notes"] == [confirmed]
    assert f"! {confirmed}" in " ".join(ended.stdout.split())
    assert found["scores"][0]["observed"] != sealed["scores"][0]["observed"]
    assert found["seal"] == sealed["seal"]
    place = Path("experiments/e-org-newer-2b")
    assert json.loads((place / "outcome.json").read_text())["predictions"]["notes"] == [confirmed]
    assert command("report", str(place), "--out", "report.html").code == 0
    assert confirmed.removeprefix("c") in Path("report.html").read_text()
