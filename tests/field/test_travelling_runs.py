"""Runs that travel: packed, moved and mended, and drafts that a killed command has left."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from actors.core.files import ABANDONED_AFTER_S, write_file
from actors.store.manifest import MANIFEST
from actors.tables.export import export
from tests.command import begin, end, short_of_room
from tests.paths import ROOT

CHART = """
initial: away
states:
  away:
    role: offline
    transitions: [{trigger: feed_ready, target: reading}, {trigger: wants_to_post, target: writing}]
  online:
    initial: reading
    transitions: [{trigger: round_ends, target: away}]
    states:
      reading:
        role: browse
        transitions:
          - {trigger: sees_post, target: sharing, when: "moods:is_moved"}
          - {trigger: sees_post, target: reading}
      writing: {effect: post, after: {ticks: 2, trigger: done}, transitions: [{trigger: done, target: reading}]}
      sharing: {effect: reshare, after: {ticks: 1, trigger: done}, transitions: [{trigger: done, target: reading}]}
"""
MOODS = "from tempers import LIMIT\n\n\ndef is_moved(agent, context):\n    return len(agent.persona.name) > LIMIT\n"
STUDY = """
simulation: {rounds: 3, seed: 7}
population:
  graph: {path: friends.csv}
  profiles: people.csv
  topics: [music, sport]
  posts_per_session: 0.5
  activity: {hours: hours.csv}
statechart: {file: chart.yaml}
"""


def write_study(directory: Path) -> Path:
    directory.mkdir()
    ties = "".join(f"{one},{(one * 7 + each) % 40}\n" for one in range(40) for each in range(1, 6))
    people = "".join(f"{each},Person {each},music;sport\n" for each in range(40))
    hours = ",".join(f"h{hour:02d}" for hour in range(24)), ",".join(str(1 + hour % 3) for hour in range(24))
    for name, text in {
        "friends.csv": f"source,target\n{ties}",
        "people.csv": f"id,name,interests\n{people}",
        "hours.csv": "\n".join(hours),
        "chart.yaml": CHART,
        "moods.py": MOODS,
        "tempers.py": "LIMIT = 8\n",
        "study.yaml": STUDY,
    }.items():
        (directory / name).write_text(text)
    return directory / "study.yaml"


def prism(*arguments: str | Path, cwd: Path = Path("/")) -> str:
    """Return what a command prints, which must succeed."""
    return end(begin(*arguments, cwd=cwd)).out


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """Return a directory that every user may enter."""
    path = Path(tempfile.mkdtemp(prefix="prism-travels-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


@pytest.fixture(scope="module")
def digest(place: Path) -> str:
    """Return the digest of a run of the study in `there/run`, which is packed in `run.prism`; its sources are gone."""
    config = write_study(place / "study")
    printed = prism("run", config, "--out", place / "run", "-q").strip()
    shutil.rmtree(place / "study")
    (place / "there").mkdir()
    (place / "run").rename(place / "there" / "run")
    prism("pack", place / "there" / "run", "--out", place / "run.prism")
    return printed


@pytest.fixture(scope="module", params=["moved", "packed"])
def run(request: pytest.FixtureRequest, place: Path, digest: str) -> Path:
    return place / "run.prism" if request.param == "packed" else place / "there" / "run"


@pytest.mark.slow
def test_every_command_that_reads_a_run_works_without_its_sources(run: Path, place: Path, digest: str) -> None:
    out = Path(tempfile.mkdtemp(dir=place))
    assert digest in prism("replay", run)
    assert "BAD" not in prism("verify", run)
    assert "person 3" in prism("explain", run, "--agent", "3")
    assert "sharing" in prism("chart", "--run", run)
    prism("export", run, "--to", "csv", "--out", out / "tables")
    assert "Person 3" in (out / "tables" / "agents.csv").read_text()
    prism("report", run, "--out", out / "report.html")
    assert str(place) not in (out / "report.html").read_text()
    fork = prism("fork", run, "--at", "48", "--out", out / "fork", "-q").strip()
    assert fork == digest, "nothing is other than in the run"
    assert digest in prism("replay", out / "fork")


@pytest.mark.slow
def test_a_run_goes_on_elsewhere_as_it_would_have_where_it_began(place: Path, digest: str, tmp_path: Path) -> None:
    whole = prism("run", write_study(tmp_path / "study"), "--ticks", "96", "--out", tmp_path / "whole", "-q")
    prism("unpack", place / "run.prism", "--out", tmp_path / "run")
    assert prism("resume", tmp_path / "run", "--ticks", "96", "-q") == whole


def test_a_full_disk_while_inputs_are_kept_leaves_nothing_and_says_so(tmp_path: Path) -> None:
    config = write_study(tmp_path / "study")
    ended = short_of_room(700, "run", str(config), "--out", str(tmp_path / "run"), "-q", cwd=tmp_path)
    assert ended.returncode == 1
    assert re.search(r"run/inputs/[0-9a-f]{64}/.people.csv.tmp: cannot be written: File too large", ended.stderr), (
        ended.stderr
    )
    assert ended.stderr.count("\n") == 1
    assert not (tmp_path / "run").exists()


KILLED = """
import os, signal, sys
from pathlib import Path
from actors.store.disk import RealDisk
renamed = RealDisk.rename

def rename(disk, name, to):
    renamed(disk, name, to)
    if to == "friends.csv":
        os.kill(os.getpid(), signal.SIGKILL)

RealDisk.rename = rename
from actors.results.api import run
run("study.yaml", out="run")
"""


@pytest.mark.slow
def test_a_run_that_is_killed_while_its_inputs_are_kept_can_be_started_again(tmp_path: Path) -> None:
    study = write_study(tmp_path / "study").parent
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ended = subprocess.run([sys.executable, "-P", "-c", KILLED], cwd=study, env=environment, check=False)
    assert ended.returncode == -signal.SIGKILL
    assert [*(study / "run").glob("inputs/*/friends.csv")]
    assert not (study / "run" / MANIFEST).exists()
    digest = prism("run", "study.yaml", "--out", "run", "-q", cwd=study).strip()
    assert digest in prism("replay", "run", cwd=study)


EXPERIMENT = """
question: Do people share more of what interests them?
base: study.yaml
seeds: [1, 2]
design:
  conditions:
    interest: {feed.algorithm: interest}
    chronological: {feed.algorithm: chronological}
measures: {posts: "mine:posts"}
hypotheses:
  - {measure: posts, contrast: [interest, chronological]}
"""
MEASURE = """
import json


def posts(path):
    return json.loads((path / "summary.json").read_text())["posts"]
"""


@pytest.mark.slow
def test_an_experiment_is_packed_with_its_cells_and_measures_and_names_no_place(tmp_path: Path) -> None:
    study = write_study(tmp_path / "study").parent
    (study / "mine.py").write_text(MEASURE)
    (study / "feed.yaml").write_text(EXPERIMENT)
    prism("experiment", "feed.yaml", "--out", "out", "--jobs", "1", "-q", cwd=study)
    (study / "out").rename(tmp_path / "out")
    shutil.rmtree(study)
    prism("pack", tmp_path / "out", "--out", tmp_path / "out.prism")
    prism("unpack", tmp_path / "out.prism", "--out", tmp_path / "there")
    cell, other, *_ = (tmp_path / "there" / "cells").iterdir()
    assert "BAD" not in prism("verify", cell)
    assert "every one as recorded" in prism("replay", other)
    (measure,) = (tmp_path / "there" / "inputs").glob("*/mine.py")
    assert measure.read_text() == MEASURE
    prism("report", tmp_path / "out.prism", "--out", tmp_path / "report.html")
    for path in [tmp_path / "report.html", *(tmp_path / "there").rglob("*.*")]:
        assert path.is_dir() or str(tmp_path).encode() not in path.read_bytes(), path


LEAVES_A_DRAFT = """
import os, signal, sys
from pathlib import Path
from actors.tables.export import export
export([Path(sys.argv[1])], "csv", Path(sys.argv[2]), on_progress=lambda _: os.kill(os.getpid(), signal.SIGKILL))
"""


def drafts(directory: Path) -> list[Path]:
    return sorted(directory.glob(".*"))


def age(path: Path) -> None:
    then = time.time() - 2 * ABANDONED_AFTER_S
    os.utime(path, (then, then))


@pytest.mark.slow
def test_the_draft_of_a_killed_export_is_removed_by_the_next(small_run: Path, tmp_path: Path) -> None:
    out = tmp_path / "t[a]bles"
    ended = subprocess.run([sys.executable, "-c", LEAVES_A_DRAFT, str(small_run), str(out)], cwd=ROOT, check=False)
    assert ended.returncode == -signal.SIGKILL
    (left,) = drafts(tmp_path)
    export([small_run], "csv", out)
    assert drafts(tmp_path) == [left], "a draft so young may be of a command that has just begun"
    age(left)
    export([small_run], "csv", out, replaces=True)
    assert drafts(tmp_path) == []
    assert (out / "agents.csv").is_file()


def test_files_of_others_and_links_stay(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    link, other = tmp_path / ".page.html.abc.tmp", tmp_path / ".other.html.abc.tmp"
    link.symlink_to(tmp_path / "elsewhere")
    other.write_text("")
    for path in (tmp_path / "elsewhere", other):
        age(path)
    write_file(tmp_path / "page.html", b"whole")
    assert drafts(tmp_path) == [other, link]
