"""The main job, as the README runs it, on synthetic people and on a real graph."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from prism.statechart import AgentState
from tests.command import Prism
from tests.paths import DATA, ROOT
from tests.tiers import Size

GRAPH, PROFILES = DATA / "snap-ego-facebook.txt.gz", DATA / "oasis-reddit-users-36.json"


def check_plausible(summary: dict[str, object]) -> None:
    cascade = summary["largest_cascade"]
    assert summary["status"] == "done"
    assert summary["states_visited"] == [state.value for state in AgentState]
    assert isinstance(cascade, dict)
    assert cascade["depth"] > 1
    assert isinstance(summary["oracle_calls_per_1000_activations"], float)
    assert 1 <= summary["oracle_calls_per_1000_activations"] <= 100
    for engagement in ("posts", "likes", "replies", "reshares"):
        assert summary[engagement], f"nobody {engagement}"


def test_the_default_configuration_runs_to_a_plausible_summary(prism: Prism, tmp_path: Path, size: Size) -> None:
    rounds = size(50, everyday=4)
    arguments = ("--quiet", "--out", "run", "--set", f"simulation.rounds={rounds}")
    assert prism("run", str(ROOT / "configs" / "friends.yaml"), *arguments).code == 0
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert (summary["agents"], summary["rounds"]) == (1000, rounds)
    check_plausible(summary)


@pytest.mark.slow
@pytest.mark.skipif(not GRAPH.exists() or not PROFILES.exists(), reason="needs ../shared/data")
def test_a_real_graph_brings_all_its_people_and_profiles_are_dealt_out(
    prism: Prism, tmp_path: Path, size: Size
) -> None:
    settings = {
        "population.graph.path": GRAPH,
        "population.profiles": PROFILES,
        "population.join": "draw",
        "simulation.rounds": size(8, everyday=2),
    }
    overrides = [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]
    ended = prism("run", str(ROOT / "configs" / "friends.yaml"), "--quiet", "--out", "run", *overrides)
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    inputs = json.loads((tmp_path / "run" / "manifest.json").read_text())["inputs"]
    assert ended.code == 0
    assert (summary["agents"], summary["rounds"]) == (4039, size(8, everyday=2))
    assert {Path(name).name for name in inputs} == {GRAPH.name, PROFILES.name}
    check_plausible(summary)
