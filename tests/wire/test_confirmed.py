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
from tests.wire.support import settings

EXPERIMENT = {
    "question": "Does another seed of posts bring more likes?",
    "base": "base.yaml",
    "design": {"conditions": {"few": {"feed.size": 3}, "many": {"feed.size": 8}}},
    "seeds": 2,
    "measures": {"likes": "likes"},
}
GUESS = {"by": "A. Author", "predictions": [{"measure": "likes", "contrast": ["many", "few"], "mean": 5.0, "sd": 4.0}]}


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
        # In a process of its own, as the gateway of an experiment expects.
        source = {**os.environ, "PYTHONPATH": str(ROOT)}
        call = [sys.executable, "-m", "actors.cli", *score, "--model", "other", "--json"]
        done = subprocess.run(call, env=source, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
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
