"""The measures of replications that come with PRISM, in `configs/experiments`, on small runs of their worlds."""

from __future__ import annotations

import importlib
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
from tests.paths import ROOT, real_path

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
