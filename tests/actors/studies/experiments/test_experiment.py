"""`prism experiment`, with real processes that are killed: the table is that of the runs, and nothing is done twice."""

from __future__ import annotations

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from actors.studies.experiments.record import read_experiment_record
from tests.actors.studies.experiments.files import EXPERIMENT, write_experiment
from tests.command import Prism, begin, end
from tests.patience import wait_until


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
    likes, double = (
        {row["seed"]: float(row["value"]) for row in rows() if (row["condition"], row["measure"]) == ("random", of)}
        for of in ("likes", "double")
    )
    assert likes == {str(run["seed"]): float(run["likes"]) for run in runs_done("size: 3")}
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
    record = read_experiment_record(Path("experiments/e"))
    assert (record.is_final, record.outcome.comparisons[0].p) == (True, outcome()["comparisons"][0]["p"])
    assert set(record.values) == {(name, seed) for name in ("chronological", "random") for seed in (1, 2, 3)}
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


TEXT = EXPERIMENT.replace("seeds: 3", "seeds: 6")
BASE = """
simulation: {rounds: 12, ticks_per_round: 24}
population: {size: 60, activity: {mean: 0.9, sigma: 0.1}}
"""


def begun(directory: Path, out: str) -> subprocess.Popen[str]:
    options = ("--jobs", "2", "--quiet")
    return begin("experiment", "e.yaml", "--out", out, *options, cwd=directory, stdout=subprocess.DEVNULL)


def table_of(process: subprocess.Popen[str], directory: Path) -> bytes:
    end(process)
    return (directory / "results.csv").read_bytes()


def wait_for(cells: int, process: subprocess.Popen[str], out: Path) -> None:
    wait_until(lambda: len([*out.glob("cells/*/summary.json")]) >= cells, process)


def workers(driver: int) -> list[int]:
    """Return the processes that work for a driver: those that the server of its pool has forked."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            children.setdefault(int(entry.read_text().rpartition(")")[2].split()[1]), []).append(int(entry.parent.name))
    return [worker for server in children.get(driver, []) for worker in children.get(server, [])]


@pytest.mark.slow
def test_killed_drivers_and_workers_change_nothing_in_the_table(tmp_path: Path) -> None:
    write_experiment(tmp_path, TEXT, BASE)
    table = table_of(begun(tmp_path, "whole"), tmp_path / "whole")
    for cells in (1, 4, 9):
        driver = begun(tmp_path, "killed")
        wait_for(cells, driver, tmp_path / "killed")
        driver.kill()
        driver.communicate()
    assert table_of(begun(tmp_path, "killed"), tmp_path / "killed") == table
    driver = begun(tmp_path, "struck")
    for cells in (1, 4):
        wait_for(cells, driver, tmp_path / "struck")
        os.kill(workers(driver.pid)[0], signal.SIGKILL)
    assert table_of(driver, tmp_path / "struck") == table


NAMESPACE = ("unshare", "--map-root-user", "--mount", "sh", "-c")
SCRIPT = """
mkdir out && mount -t tmpfs -o size=300k tmpfs out || exit 99
$0 -m actors.cli experiment e.yaml --out out --jobs 1 2> full.txt
echo $? > full.code
cp -r out/cells kept
mount -o remount,size=50m out
$0 -m actors.cli experiment e.yaml --out out --jobs 2 2> again.txt
echo $? > again.code
cp out/results.csv again.csv
$0 -m actors.cli experiment e.yaml --out whole --jobs 2 --quiet
"""


@pytest.mark.slow
def test_a_full_disk_is_said_and_with_more_room_the_table_is_the_same(tmp_path: Path) -> None:
    if shutil.which("unshare") is None:
        pytest.skip("needs unshare")
    write_experiment(tmp_path)
    ended = subprocess.run(
        [*NAMESPACE, SCRIPT, sys.executable], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=240
    )
    if not (tmp_path / "full.code").exists():
        pytest.skip(f"needs a file system of its own: {ended.stderr.strip()}")
    full = (tmp_path / "full.txt").read_text()
    assert (tmp_path / "full.code").read_text().strip() in {"1", "2"}
    assert "No space left on device" in full.splitlines()[-1] or "cells have no result" in full.splitlines()[-1]
    assert "Traceback" not in full
    assert "prism resume" not in full
    assert "free some space, then run the same command again" in full
    kept = len(list((tmp_path / "kept").glob("*/summary.json")))
    assert 0 < kept < 6
    assert (tmp_path / "again.code").read_text().strip() == "0"
    assert (tmp_path / "again.txt").read_text().count(", seed ") == 6 - kept, "what was done is kept"
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "whole" / "results.csv").read_bytes()
