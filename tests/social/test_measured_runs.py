"""Measures that a run was asked for: in its rounds, its summary, its checkpoints, experiments and its report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from actors.record.manifest import read_summary
from actors.record.rounds import read_rounds
from actors.results.measures import RunNumbers
from actors.studies.experiments.run_measures import KnownMeasures
from prism.config import Config
from prism.errors import SettingError
from prism.social.measures import correlation, ei_index
from tests.catalogue import catalogue
from tests.command import prism_alone
from tests.social.driver import SMALL, Run

ATTRIBUTES: dict[str, Any] = {
    "party": {"type": "text", "values": ["left", "right"]},
    "opinion": {"type": "float", "min": -1, "max": 1},
}
MEASURES = (
    "ei_index_party",
    "modularity_party",
    "assortativity_party",
    "assortativity_opinion",
    "variance_opinion",
    "bimodality_opinion",
    "gini_followers",
    "gini_reshares",
    "correlation_opinion_followers",
    "correlation_opinion_reshares",
)
CONFIG = f"""
simulation: {{rounds: 3, ticks_per_round: 24, seed: 5}}
population:
  size: 60
  activity: {{mean: 0.9, sigma: 0.1}}
  attributes:
    party: {{type: text, values: [left, right]}}
    opinion: {{type: float, min: -1, max: 1}}
  graph: {{homophily: {{by: party, share: 0.8}}}}
  measures: [{", ".join(MEASURES)}]
"""


def measured(*names: str) -> Config:
    people = replace(SMALL.population, attributes=ATTRIBUTES, measures=names)
    return Config(simulation=SMALL.simulation, feed=SMALL.feed, population=people)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("measured")
    (place / "small.yaml").write_text(CONFIG)
    ended = prism_alone("run", str(place / "small.yaml"), "--out", str(place / "run"))
    assert ended.code == 0, ended.err
    assert "ties within the same party: asked 80.0%" in ended.err
    assert "without effect: population.attributes" not in ended.err
    return place / "run"


async def test_they_are_those_of_ties_attributes_and_reshares_at_that_moment() -> None:
    run = await Run(measured(*MEASURES)).advance(100)
    totals, people = run.world.totals(), run.domain.population
    groups = np.unique([each.attributes["party"] for each in people.personas], return_inverse=True)[1]
    opinions = np.array([each.attributes["opinion"] for each in people.personas], dtype=float)
    received = np.zeros(people.size)
    for post in run.world.network.living:
        received[post.author] += post.reshares
    assert received.sum() == totals["reshares"] > 0
    assert totals["ei_index_party"] == pytest.approx(ei_index(*people.graph.ties(), groups), rel=1e-5)
    assert totals["correlation_opinion_reshares"] == pytest.approx(correlation(opinions, received), rel=1e-5)


async def test_ties_that_are_cut_count_no_more() -> None:
    run = await Run(measured("ei_index_party")).advance(1)
    people = run.domain.population
    parties = [each.attributes["party"] for each in people.personas]
    tails, heads = (ends.tolist() for ends in people.graph.ties())
    between = [(one, other) for one, other in zip(tails, heads, strict=True) if parties[one] != parties[other]]
    run.world.network.change_ties(dict.fromkeys(between, False))
    assert run.world.totals()["ei_index_party"] == -1.0


def test_rounds_have_a_column_for_each_and_experiments_read_it(run: Path) -> None:
    rounds = read_rounds(run)
    assert [name for name in rounds if name in MEASURES] == [*MEASURES]
    assert rounds["ei_index_party"] == pytest.approx([-0.6] * 3, abs=0.02)
    numbers = RunNumbers(read_summary(run), lambda: rounds, run)
    for name in MEASURES:
        assert numbers.value(name) == numbers.value(f"rounds.{name}") == rounds[name][-1]
    assert numbers.value("rounds.mean.gini_reshares") == pytest.approx(np.mean(rounds["gini_reshares"]))


def test_experiments_know_them_before_the_first_run() -> None:
    known = KnownMeasures(measured("ei_index_party", "gini_followers"))
    assert [known.problem(each) for each in ("ei_index_party", "rounds.mean.gini_followers")] == ["", ""]
    for place in ("gini_reshares", "rounds.mean.gini_reshares"):
        assert known.problem(place) == "no measure 'gini_reshares': add it to population.measures"
    assert known.problem("ei_index_partie") == "ei_index_partie: no attribute 'partie': did you mean party?"
    told = known.problem("no such thing")
    assert told.count(",") < 20
    assert " more" in told
    with pytest.raises(LookupError, match=r"no measure 'gini_followers': add it to population\.measures$"):
        RunNumbers({"cascade_sizes": {}}, dict, None).value("gini_followers")


@catalogue(
    ("name", "problem"),
    [
        ("gini", "no measure 'gini': expected gini_followers, gini_reshares, ei_index_ATTRIBUTE"),
        ("ei_index_partie", "ei_index_partie: no attribute 'partie': did you mean party?"),
        ("ei_index_opinion", "expected an attribute of type text or bool, got opinion of type float"),
        ("variance_party", "expected an attribute of type float or int, got party of type text"),
        ("correlation_opinion_likes", "no measure 'correlation_opinion_likes'"),
    ],
)
def test_a_measure_that_cannot_be_had_is_refused(name: str, problem: str) -> None:
    with pytest.raises(SettingError) as refused:
        measured("gini_followers", name)
    assert problem in str(refused.value)
    assert "population.measures[1]" in str(refused.value)
