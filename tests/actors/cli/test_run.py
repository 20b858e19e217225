"""`prism run`: what it prints and what it leaves."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from prism.config import fitted_settings, load_config
from tests.actors.cli.conftest import SMALL
from tests.command import Prism, short_of_room
from tests.paths import ROOT

KEYS = {
    "digest",
    "ticks",
    "agents",
    "agents_by_state",
    "states_visited",
    "transitions_by_trigger",
    "decisions_by_source",
    "oracle_calls_per_1000_activations",
    "posts",
    "likes",
    "replies",
    "reshares",
    "largest_cascade",
    "fallback_share",
    "wall_s",
}


def test_a_run_leaves_its_configuration_manifest_log_and_summary(prism: Prism, tmp_path: Path) -> None:
    ended = prism("run", "small.yaml")
    run = tmp_path / "runs" / "small-001"
    assert ended.code == 0
    assert sorted(path.name for path in run.iterdir()) == [
        "checkpoint-000000000072.bin",
        "config.yaml",
        "journal.prism",
        "log.jsonl",
        "manifest.json",
        "oracle.log",
        "rounds.csv",
        "run.lock",
        "summary.json",
    ]
    assert json.loads((run / "manifest.json").read_text())["seed"] == 5


def test_the_summary_says_what_the_run_came_to(prism: Prism, tmp_path: Path) -> None:
    ended = prism("run", "small.yaml", "--details")
    summary = json.loads((tmp_path / "runs" / "small-001" / "summary.json").read_text())
    assert set(summary) >= KEYS
    assert summary["status"] == "done"
    assert summary["ticks"] == 72
    assert sum(summary["agents_by_state"].values()) == summary["agents"] == 60
    assert sum(summary["transitions_by_trigger"].values()) == summary["transitions"]
    assert sum(summary["decisions_by_source"].values()) == summary["transitions"]
    assert f"digest {summary['digest']}" in ended.out
    for title in ("agents by state", "transitions by trigger", "decisions by source", "largest cascade"):
        assert title in ended.out


def test_the_series_has_a_row_for_each_round_that_ends_where_the_summary_does(prism: Prism, tmp_path: Path) -> None:
    prism("run", "small.yaml", "-q", "--out", "o")
    summary = json.loads((tmp_path / "o" / "summary.json").read_text())
    rows = list(csv.DictReader((tmp_path / "o" / "rounds.csv").read_text().splitlines()))
    assert [(row["round"], row["tick"]) for row in rows] == [("1", "24"), ("2", "48"), ("3", "72")]
    for column in ("activations", "transitions", "posts", "likes", "replies", "reshares"):
        values = [int(row[column]) for row in rows]
        assert values == sorted(values)
        assert values[-1] == summary[column]


def test_the_start_says_what_the_settings_are_calibrated_on_and_what_was_changed_since(prism: Prism) -> None:
    fitted = json.dumps(fitted_settings(load_config(SMALL)))
    calibration = ("--set", "run.calibration.data=panel.csv", "--set", f"run.calibration.settings={fitted}")
    ended = prism("run", "small.yaml", *calibration, "--set", "run.calibration.holdout=0.25")
    assert ended.err.startswith("prism: 60 agents, 72 ticks, seed 5; oracle: embedded multinomial logit, no server; ")
    assert "; calibrated on panel.csv, holdout 0.25" in ended.err.splitlines()[0]
    assert "uncalibrated" not in ended.err
    changed = prism("run", "small.yaml", *calibration, "--set", "feed.size=3")
    assert "feed.size" in changed.err.splitlines()[0].partition("calibrated on panel.csv, but ")[2]
    plain = prism("run", "small.yaml", "-q")
    assert prism("run", "small.yaml", *calibration, "-q").out == plain.out


def test_quiet_prints_the_digest_and_nothing_else(prism: Prism, tmp_path: Path) -> None:
    ended = prism("run", "small.yaml", "--quiet")
    summary = json.loads((tmp_path / "runs" / "small-001" / "summary.json").read_text())
    assert (ended.out, ended.err) == (summary["digest"] + "\n", "")


def test_two_runs_get_a_directory_each_and_the_same_digest(prism: Prism, tmp_path: Path) -> None:
    digests = {prism("run", "small.yaml", "-q").out, prism("run", "small.yaml", "-q").out}
    assert len(digests) == 1
    assert [path.name for path in sorted((tmp_path / "runs").iterdir())] == ["small-001", "small-002"]


def test_the_resolved_configuration_runs_to_the_same_digest(prism: Prism, tmp_path: Path) -> None:
    first = prism("run", "small.yaml", "-q", "--set", "feed.algorithm=hot", "--out", "one")
    second = prism("run", "one/config.yaml", "-q", "--out", "two")
    assert first.out == second.out


def test_without_the_oracle_every_decision_is_a_rule(prism: Prism, tmp_path: Path) -> None:
    prism("run", "small.yaml", "-q", "--set", "statechart.oracle_enabled=false", "--out", "o")
    summary = json.loads((tmp_path / "o" / "summary.json").read_text())
    assert summary["oracle_calls"] == 0
    assert summary["decisions_by_source"]["oracle"] == 0


@pytest.mark.parametrize(
    ("when_spent", "code", "status"), [("fallback", 0, "done_with_fallbacks"), ("stop", 4, "stopped")]
)
def test_past_the_spend_cap_there_are_fallbacks_or_an_end(
    when_spent: str, code: int, status: str, prism: Prism, tmp_path: Path
) -> None:
    ended = prism(
        "run", "small.yaml", "--out", "o", "--set", "oracle.max_calls=5", "--set", f"oracle.when_spent={when_spent}"
    )
    summary = json.loads((tmp_path / "o" / "summary.json").read_text())
    assert (ended.code, summary["status"], summary["oracle_calls"]) == (code, status, 5)
    assert set(summary["fallbacks_by_reason"]) == ({"spent"} if when_spent == "fallback" else set())
    assert summary["stopped_by"] == ("spend_cap" if when_spent == "stop" else None)


def test_a_directory_in_use_is_refused_and_left_alone(prism: Prism, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("precious")
    ended = prism("run", "small.yaml", "--out", "mine")
    assert (ended.code, ended.err) == (2, "prism: mine: is not empty; a run needs a directory of its own\n")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.txt"]


def test_a_missing_configuration_says_how_to_get_one(prism: Prism) -> None:
    ended = prism("run", "none.yaml")
    assert (ended.code, ended.err) == (
        3,
        "prism: none.yaml: no such file; write one to start from with: prism init DIR\n",
    )


def test_a_full_disk_is_one_line_and_leaves_nothing_half_written(tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(SMALL)

    ended = short_of_room(500, "run", "small.yaml", "-q", "--out", "out", cwd=tmp_path)
    assert ended.returncode == 1
    assert ended.stderr == "prism: out/config.yaml: cannot be written: File too large\n"
    assert not (tmp_path / "out").exists()


def test_every_key_of_the_summary_is_documented(prism: Prism, tmp_path: Path) -> None:
    prism("run", "small.yaml", "-q", "--out", "o")
    documented = (ROOT / "docs" / "runs.md").read_text()
    summary = json.loads((tmp_path / "o" / "summary.json").read_text())
    dwell = summary["behaviour"]["dwell"]["idle"]
    for keys in (summary, summary["feed"], summary["feed"]["short"], summary["behaviour"], dwell):
        assert [key for key in keys if f"`{key}`" not in documented] == []


def test_a_run_that_takes_turns_at_once_says_so_and_has_the_same_digest(prism: Prism) -> None:
    usual = prism("run", "small.yaml", "--ticks", "4")
    other = prism("run", "small.yaml", "--ticks", "4", "--set", "run.activation=compiled")
    assert "60 agents, 4 ticks" in usual.err
    assert "60 agents, turns many at once, 4 ticks" in other.err
    digests = [next(line for line in ended.out.splitlines() if "digest" in line) for ended in (usual, other)]
    assert digests[0] == digests[1]
