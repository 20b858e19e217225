"""Paths that are no run: commands name what is not there and what is alike, or say what else a directory is."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.actors.studies.calibration.files import CALIBRATION, write_calibration
from tests.command import prism_alone

EXPERIMENT = """\
question: Does the size of a feed matter?
base: base.yaml
design: {conditions: {small: {feed.size: 2}, large: {feed.size: 9}}}
seeds: 2
measures: {likes: likes}
"""
COMMANDS = (("verify",), ("export", "--to=csv", "--out=tables"))

ON_RUNS = """
resume, fork --at 1, replay, verify, pack, explain, cause, audit, report, export --to csv, ask --questions q.yaml,
chart --run, chart --coverage, validate-world, view
"""


def test_a_run_that_is_not_there_is_one_line_with_names_that_are_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for kept in ("runs/feed-001/manifest.json", "experiments/feed/plans"):
        Path(kept).mkdir(parents=True)
    for line in ON_RUNS.replace("\n", " ").split(","):
        ended = prism_alone(*line.split(), "feed-01")
        expected = r"prism: feed-01: no such run.*; there is runs/feed-001 and experiments/feed\n"
        assert (ended.code, bool(re.fullmatch(expected, ended.err))) == (2, True), (line, ended.err)
    assert prism_alone("audit", "other").err == "prism: other: no such run or experiment\n"
    assert {each.name for each in tmp_path.iterdir()} == {"runs", "experiments"}


def test_a_file_in_place_of_a_directory_is_one_line_with_the_newest_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("feed.yaml").touch()
    problem = (
        "prism: Invalid value for 'RUN|EXPERIMENT': feed.yaml is a file; expected a run's or an experiment's direct"
    )
    assert prism_alone("audit", "feed.yaml").err.splitlines()[-1] == f"{problem}ory"
    for when, kept in enumerate(("experiments/feed/plans", "runs/feed-001/manifest.json")):
        Path(kept).mkdir(parents=True)
        os.utime(kept, (when, when))
    ended = prism_alone("audit", "feed.yaml")
    assert (ended.code, ended.err.splitlines()[-1]) == (2, f"{problem}ory, as in: prism audit runs/feed-001")
    assert "a run's directory, as in: prism resume runs/feed-001" in prism_alone("resume", "feed.yaml").err


def test_commands_for_runs_say_what_else_a_directory_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sklearn")
    monkeypatch.chdir(tmp_path)
    write_calibration(tmp_path, CALIBRATION.replace("design: 50, confirm: 11", "design: 3, confirm: 0"))
    (tmp_path / "e.yaml").write_text(EXPERIMENT)
    ended = prism_alone("calibrate", "c.yaml", "--out", "c")
    assert ended.code == 4  # too few runs for a fit
    assert (
        ended.out
        == f"{Path('c/calibration.md').read_text().rstrip()}\nwritten to c: calibration.md, calibration.json\n"
    )
    assert prism_alone("experiment", "e.yaml", "--out", "e", "--quiet").code == 0
    shows = "`prism calibrate FILE` shows it, and `prism view c/cells` its runs"
    calibration = f"prism: c: is a calibration, not a run; its result is in calibration.md; {shows}\n"
    for command in (*COMMANDS, ("report",), ("view", "--port=0")):
        ended = prism_alone(command[0], "c", *command[1:])
        assert (ended.code, ended.err) == (2, calibration), command
    for command in COMMANDS:
        ended = prism_alone(command[0], "e", *command[1:])
        experiment = "prism: e: is an experiment, not a run; `prism report e` and `prism view e` show it\n"
        assert (ended.code, ended.err) == (2, experiment), command
