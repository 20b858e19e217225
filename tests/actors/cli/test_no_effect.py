"""What has no effect, on the terminal: before a run, at its start, and at its end."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import msgspec
import pytest

from tests.actors.factory.test_no_effect import LURKING, TOLD
from tests.actors.runs.test_no_effect import INTERVENTIONS
from tests.command import Prism

pytestmark = pytest.mark.long


def test_validate_and_lint_say_that_a_delay_is_too_long_for_most(prism: Prism, tmp_path: Path) -> None:
    shutil.copy(LURKING, tmp_path)
    (tmp_path / "study.yaml").write_text("statechart: {file: lurking.yaml}")
    assert f"without effect: lurking: {TOLD}\n" in prism("validate", "study.yaml").out
    linted = prism("chart", "study.yaml", "--lint")
    assert (linted.code, linted.out) == (4, f"lurking, timeout: too_long: {TOLD}\n1 fault, 0 notices\n")


def test_a_resumed_run_ends_with_the_same_interventions_and_the_same_without_effect(
    prism: Prism, tmp_path: Path
) -> None:
    shutil.copy(LURKING, tmp_path)
    settings = {
        "simulation": {"rounds": 12, "seed": 7},
        "population": {"size": 200},
        "statechart": {"file": "lurking.yaml"},
        "interventions": INTERVENTIONS[:3],
    }
    (tmp_path / "study.yaml").write_bytes(msgspec.yaml.encode(settings))
    whole = prism("run", "study.yaml", "--out", "whole")
    assert f"prism: without effect: lurking: {TOLD}\n" in whole.err
    assert "round 5, tick 96" in whole.out
    assert "without effect\n lurking: its own way out was never taken" in whole.out
    prism("run", "study.yaml", "--quiet", "--ticks", "200", "--out", "parts")
    assert prism("resume", "parts", "--quiet", "--ticks", "288").code == 0
    ends = [json.loads(Path(each, "summary.json").read_bytes()) for each in ("whole", "parts")]
    for key in ("digest", "interventions", "no_effect", "divergence"):
        assert ends[0][key] == ends[1][key]
