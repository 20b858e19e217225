"""The script of docs/realism.md gets the numbers of `prism validate-world` from exported tables alone."""

import json
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.command import Prism
from tests.paths import ROOT
from tests.plain import plain_text

SCRIPT = ROOT / "docs" / "scorecard.py"
SEEDS = (4, 5)
CONFIG = plain_text("""
simulation: {rounds: 12, ticks_per_round: 12, tick_seconds: 900}
population: {size: 80, posts_per_session: 0.4, activity: {mean: 0.9, sigma: 0.4}, engagement_threshold: 0.4}
feed: {horizon_rounds: 2}
""")


def real_cascades() -> str:
    """Return trees of 2 to 30 posts, twelve of each size and each post below a random one, as a file."""
    random, lines = np.random.default_rng(6), ["cascade,node,parent,delay_minutes"]
    for size in range(2, 31):
        for copy in range(12):
            parents = [-1, *(int(random.integers(node)) for node in range(1, size))]
            minutes = np.cumsum(random.exponential(40.0, size=size)).round(2)
            rows = zip(range(size), parents, minutes, strict=True)
            lines += [f"{size}-{copy},{node},{parent},{minute}" for node, parent, minute in rows]
    return "\n".join(lines) + "\n"


@pytest.mark.slow
def test_the_script_and_the_command_have_the_same_numbers(
    prism: Prism, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(*arguments: str) -> str:
        ended = prism(*arguments)
        assert ended.code == 0
        return ended.out

    Path("run.yaml").write_text(CONFIG)
    Path("real.csv").write_text(real_cascades())
    names = [f"run-{seed}" for seed in SEEDS]
    for seed, name in zip(SEEDS, names, strict=True):
        seeded = f"simulation.seed={seed}"
        run("run", "run.yaml", "--set", seeded, "--out", name, "--quiet")
    tables = ["--to", "csv", "--out", "tables", "--tables", "runs,agents,posts,rounds"]
    run("export", *names, *tables)
    printed = run("validate-world", *names, "--against", "real.csv", "--json")
    ours = {fact["name"]: fact for fact in json.loads(printed)["facts"]}
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), "tables", "real.csv"])
    runpy.run_path(str(SCRIPT), run_name="__main__")
    theirs = json.loads(capsys.readouterr().out)

    assert theirs.pop("cascades") >= 30
    assert f"(as many as {theirs.pop('count as'):.0f} of equal weights)" in ours["depth"]["note"]
    assert set(theirs) == set(ours)
    for name, found in theirs.items():
        told = found if isinstance(found, dict) else {"run": found}
        assert told["run"] == pytest.approx(ours[name]["simulated"], abs=1e-6), name
        assert told.get("distance") == pytest.approx(ours[name]["distance"], abs=1e-9), name
        assert "real" not in told or told["real"] == pytest.approx(ours[name]["real"], abs=1e-9), name
