"""`prism experiment`, with real processes: the table is that of the runs, and nothing is done twice."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.actors.studies.experiments.files import EXPERIMENT, write_experiment
from tests.command import Prism


def rows(path: str = "experiments/e/results.csv") -> list[dict[str, str]]:
    with Path(path).open(newline="") as file:
        return list(csv.DictReader(file))


def outcome() -> Any:
    return json.loads(Path("experiments/e/outcome.json").read_text())


def runs_done(setting: str) -> Iterator[dict[str, Any]]:
    """Yield the summaries of the runs with a line in their configuration."""
    for path in sorted(Path("experiments/e/cells").iterdir()):
        if f"  {setting}" in (path / "config.yaml").read_text():
            yield json.loads((path / "summary.json").read_text())


@pytest.mark.slow
def test_the_table_has_the_values_of_the_runs_and_a_second_time_nothing_is_run(prism: Prism, tmp_path: Path) -> None:
    (tmp_path / "own_measures.py").write_text(
        "import json\n\n"
        "def double_likes(run):\n"
        "    return 2 * json.loads((run / 'summary.json').read_text())['likes']\n"
    )
    write_experiment(tmp_path, EXPERIMENT.replace("  posts: rounds.posts", "  double: own_measures:double_likes"))
    first = prism("experiment", "e.yaml", "--jobs", "2")
    assert first.code == 0, first.err
    assert [line.removeprefix("prism: ").partition(":")[0] for line in first.err.splitlines()] == [
        f"{count} of 6" for count in range(1, 7)
    ]
    found = [row for row in rows() if row["condition"] == "random" and row["measure"] == "likes"]
    likes = {row["seed"]: float(row["value"]) for row in found}
    expected = {str(run["seed"]): float(run["likes"]) for run in runs_done("size: 3")}
    assert likes == expected
    double = {
        row["seed"]: float(row["value"])
        for row in rows()
        if row["condition"] == "random" and row["measure"] == "double"
    }
    assert double == {seed: 2 * value for seed, value in likes.items()}
    assert len(rows()) == 2 * 3 * 3
    assert [each["hypothesis"]["measure"] for each in outcome()["comparisons"]] == ["likes"]
    assert outcome()["missing"] == {}
    assert {(row["condition"], row["feed.size"]) for row in rows()} == {("chronological", ""), ("random", "3")}
    assert any("an interval of 3 seeds is rough" in note for note in outcome()["notes"])
    assert "prism report experiments/e --out e.html --force, or prism view experiments/e" in first.out
    assert max(map(len, first.out.splitlines())) > 80, "what is not a terminal wraps nothing"
    question, answer, limits, *_ = first.out.splitlines()
    assert (question, answer) == (outcome()["question"], outcome()["answers"][0]["text"])
    assert answer.startswith("Undecided. Over 3 matched seeds people gave on average ")
    assert limits.startswith("The world is not calibrated on data: ")
    assert limits.endswith(f"PRISM {outcome()['made_of']['prism'][0]}; no input files.")
    before = Path("experiments/e/results.csv").read_bytes()
    again = prism("experiment", "e.yaml")
    assert (again.code, again.err) == (0, "")
    assert Path("experiments/e/results.csv").read_bytes() == before
    broken = next(Path("experiments/e/cells").iterdir())
    (broken / "manifest.json").write_text("{")
    (broken / "summary.json").unlink()
    mended = prism("experiment", "e.yaml")
    assert (mended.code, mended.err.count("\n")) == (0, 1), "a directory that is no run is made again"
    assert Path("experiments/e/results.csv").read_bytes() == before


@pytest.mark.slow
def test_more_seeds_run_only_what_is_new_and_a_later_hypothesis_is_exploratory(prism: Prism, tmp_path: Path) -> None:
    write_experiment(tmp_path)
    assert prism("experiment", "e.yaml", "--quiet").code == 0
    write_experiment(
        tmp_path,
        EXPERIMENT.replace("seeds: 3", "seeds: 4")
        + "  - {measure: engagement, contrast: [random, chronological], alternative: greater}\n"
        + "thresholds:\n  - {measure: likes, most: 0}\n",
    )
    more = prism("experiment", "e.yaml", "--jobs", "1")
    assert more.code == 4, more.err
    assert [line.removeprefix("prism: ").rpartition(":")[0] for line in more.err.splitlines()] == [
        *("7 of 8: chronological, seed 4", "8 of 8: random, seed 4")
    ]
    assert outcome()["exploratory"] == ["engagement: random is greater than chronological (wilcoxon)"]
    assert "exploratory: not planned before the first result" in " ".join(more.out.split())
    assert "threshold likes at most 0" in more.out
    assert more.out.count("missed") == 1
    plan = " ".join(prism("experiment", "plan", "e.yaml", "--jobs", "1").out.split())
    assert "two-sided, among 1 hypothesis: its smallest p is 0.125" in plan  # planned, so corrected by itself
    assert "4 pairs can never reach p <= 0.05 with the test wilcoxon, among 2 hypotheses" in plan
    assert len(list(Path("experiments/e/plans").iterdir())) == 2


def test_a_plan_says_what_it_would_run_and_that_few_pairs_find_nothing(prism: Prism, tmp_path: Path) -> None:
    write_experiment(tmp_path)
    planned = prism("experiment", "plan", "e.yaml", "--jobs", "1")
    assert planned.code == 0, planned.err
    said = " ".join(planned.out.split())
    assert "cells 6, 6 of them to do, 1 at once" in said
    assert (
        "3 pairs can never reach p <= 0.05 with the test wilcoxon, two-sided, among 1 hypothesis: its smallest p is "
        "0.25. Take at least 6 seeds." in said
    )  # a direction would not help: p is then 0.125
    assert not Path("experiments").exists()
