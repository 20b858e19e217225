"""`prism replicate`, with real runs, and the measures of replications that come with PRISM."""

from __future__ import annotations

import importlib
import shutil
from collections import Counter
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from msgspec.structs import replace

from actors import read_result, run
from actors.store.course import read_course
from actors.store.record import Record
from actors.studies.experiments.plan import make_plan
from actors.studies.replications import make_replication_plan, read_line
from tests.actors.studies.experiments.files import BASE, write_experiment
from tests.command import Prism
from tests.paths import ROOT, real_path

OWN = """\
from actors import read_result

def spread(runs):
    likes = [read_result(run).measure("likes") for run in runs]
    return max(likes) - min(likes)

def real(data):
    return float(data.read_text()), 0.5
"""
FILE = """\
claim: People like less on a chronological feed.
study: A (2000), B.
experiment: e.yaml
differs: [It is smaller.]
data: real.txt
data_from: ask A
over_worlds: {spread: "replicated_measures:spread"}
figures:
  likes of a random feed: {source: Table 1, measure: likes, condition: random, value: 30, fitted: true}
  likes of the other: {source: Table 1, measure: likes, condition: chronological, range: [1000, 2000], se: 1}
  engagement: {source: page 2, measure: engagement, condition: random, direction: greater}
  spread of likes: {source: the data, measure: spread, condition: random, computed: "replicated_measures:real"}
remarks: [Sixty people like little.]
"""


@pytest.fixture
def prism(prism: Prism, tmp_path: Path) -> Prism:
    write_experiment(tmp_path)
    (tmp_path / "r.yaml").write_text(FILE)
    (tmp_path / "replicated_measures.py").write_text(OWN)
    (tmp_path / "real.txt").write_text("12")
    return prism


@pytest.mark.slow
def test_a_replication_tells_hits_and_misses_alike_and_a_second_time_nothing_is_run(prism: Prism) -> None:
    first = prism("replicate", "r.yaml", "--jobs", "1")
    assert first.code == 0, first.err
    assert "miss: too low" in first.out
    assert "hits: predicted 2 of 3, fitted 1 of 1; 6 runs, 0 calls" in first.out
    line = read_line(Path("replications/r/replication.json"))
    assert line is not None
    assert [each.is_hit for each in line.figures] == [True, False, True, True]
    assert line.asked == make_replication_plan(Path("r.yaml")).hash
    shutil.rmtree(next(Path("replications/r/cells").iterdir()))  # as if it had been interrupted there
    again = prism("replicate", "r.yaml", "--quiet")
    assert (again.out, again.err) == (f"{line.digest}\n", "")
    repeated = read_line(Path("replications/r/replication.json"))
    assert repeated is not None
    assert (repeated.figures, repeated.digest) == (line.figures, line.digest)


REFUSED = {
    ("data: real.txt", "data: gone.txt"): "5: data: no such file: gone.txt, beside this file or in {}; "
    "it is not part of PRISM: ask A",
    ("experiment: e.yaml", "experiment: f.yaml"): "3: experiment: no such file: f.yaml, beside this file or in {}",
    ("measure: spread,", "measure: spreat,"): "12: figures.spread of likes.measure: no 'spreat' among the "
    "measures: did you mean spread?",
    ("{spread:", "{likes:"): "7: over_worlds.likes: is the name of a measure of the experiment, too",
}


def test_what_cannot_be_replicated_is_refused_before_the_first_run(prism: Prism) -> None:
    for change, said in REFUSED.items():
        assert change[0] in FILE
        Path("r.yaml").write_text(FILE.replace(*change))
        refused = prism("replicate", "r.yaml")
        assert (refused.code, refused.err) == (3, f"prism: r.yaml:{said.format(Path.cwd())}\n")
    assert not Path("replications").exists()


def test_figures_and_settings_change_the_plan_and_remarks_do_not(prism: Prism, tmp_path: Path) -> None:
    path = tmp_path / "r.yaml"
    hashes = []
    for text, base in (
        (FILE, BASE),
        (FILE.replace("Sixty", "So few"), BASE),
        (FILE.replace("30", "31"), BASE),
        (FILE, "{}"),
    ):
        path.write_text(text)
        write_experiment(tmp_path, base=base)
        hashes.append(make_replication_plan(path).hash)
    assert hashes[0] == hashes[1]
    assert len(set(hashes)) == 3


def test_a_damaged_line_is_named(prism: Prism) -> None:
    Path("replications/bounded-confidence").mkdir(parents=True)
    Path("replications/bounded-confidence/replication.json").write_text("{")
    refused = prism("replicate")
    assert refused.code == 2
    assert "replications/bounded-confidence/replication.json: is no line of a ledger" in refused.err


EXPERIMENTS = ROOT / "configs" / "experiments"


@pytest.fixture
def ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.syspath_prepend(str(EXPERIMENTS))


def small(experiment: str, condition: str, out: Path, people: int, rounds: int) -> Path:
    """Run a condition of an experiment with fewer people and rounds; return the directory of the run."""
    plan = make_plan(EXPERIMENTS / f"{experiment}.yaml")
    config = next(cell.config for cell in plan.cells if cell.condition == condition)
    shorter = replace(config.simulation, rounds=rounds)
    run(replace(config, simulation=shorter, population=replace(config.population, size=people)), out=out)
    return out


def measures(name: str) -> ModuleType:
    return importlib.import_module(f"{name}_measures")


@pytest.mark.slow
@pytest.mark.usefixtures("ours")
def test_each_listener_comes_once_and_success_is_measured_by_shares_of_downloads(tmp_path: Path) -> None:
    market = small("music-lab", "ranked", tmp_path / "market", people=60, rounds=20)
    course = read_course(market, "posts", "likes")
    downloads = np.sort([course.likes[song] for song in course.posts.ids.tolist()])
    assert len(downloads) == 48
    assert downloads.sum() == read_result(market).measure("likes") > 20
    assert max(Counter(Record(market).table("likes")["agent"].tolist()).values()) <= 7
    lab = measures("music_lab")
    # The Gini coefficient by its other formula, of sorted numbers.
    ranks = np.arange(1, 49)
    gini = 2 * (ranks * downloads).sum() / (48 * downloads.sum()) - 49 / 48
    assert lab.inequality(market) == pytest.approx(gini)
    assert lab.unpredictability([market, market]) == 0.0
    assert lab.quality_and_success(market) > 0.2
    other = small("music-lab", "independent", tmp_path / "other", people=60, rounds=20)
    assert 0.0 < lab.unpredictability([market, other]) < 2 / 48


@pytest.mark.slow
@pytest.mark.usefixtures("ours")
def test_the_trees_that_the_fit_has_not_seen_are_those_that_the_calibration_holds_out() -> None:
    twitter = measures("twitter15")
    data = real_path("twitter15-cascades.csv.gz")
    mean, error = twitter.unseen_depth(data)
    assert (len(twitter._real(data).fitted), len(twitter._real(data).holdout)) == (1002, 488)
    assert mean == pytest.approx(3.25)
    assert 0.0 < error < 0.5
    assert twitter.seen_depth(data)[0] < mean
    assert twitter.unseen_half_minutes(data)[0] == pytest.approx(1.616, abs=0.01)
