"""Measures of people and their ties, against igraph, scipy and cases by hand, and in runs that ask for them."""

from pathlib import Path
from typing import Any

import igraph
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace
from numpy.typing import NDArray
from scipy import stats

from actors.results.measures import RunNumbers
from actors.store.manifest import read_summary
from actors.store.rounds import read_rounds
from actors.studies.experiments.run_measures import KnownMeasures
from prism.config import Config
from prism.errors import SettingError
from prism.social.measures import (
    bimodality,
    correlation,
    ei_index,
    ends_of,
    gini,
    modularity,
    nominal_assortativity,
    variance,
)
from prism.social.tables import Lists
from tests.catalogue import catalogue
from tests.command import prism_alone
from tests.social.driver import SMALL, Run

PEOPLE = 8
TIES = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), min_size=2, max_size=40, unique=True)
GROUPS = st.lists(st.integers(0, 2), min_size=PEOPLE, max_size=PEOPLE)
NUMBERS = st.lists(st.integers(-50, 50), min_size=4, max_size=30)


def ends(ties: list[tuple[int, int]]) -> tuple[NDArray[Any], NDArray[Any]]:
    return np.array([one for one, _ in ties]), np.array([other for _, other in ties])


@given(ties=TIES, groups=GROUPS)
def test_measures_of_groups_are_those_of_igraph(ties: list[tuple[int, int]], groups: list[int]) -> None:
    graph = igraph.Graph(PEOPLE, ties, directed=True)
    codes = np.array(groups)
    assert modularity(*ends(ties), codes) == pytest.approx(graph.modularity(groups, directed=True))
    theirs = graph.assortativity_nominal(groups, directed=True)
    assume(not np.isnan(theirs))
    assert nominal_assortativity(*ends(ties), codes) == pytest.approx(theirs)


@given(ties=TIES, values=st.lists(st.integers(-5, 5), min_size=PEOPLE, max_size=PEOPLE))
def test_assortativity_of_a_number_is_that_of_igraph(ties: list[tuple[int, int]], values: list[int]) -> None:
    theirs = igraph.Graph(PEOPLE, ties, directed=True).assortativity(values, directed=True)
    assume(not np.isnan(theirs))
    tails, heads = ends(ties)
    numbers = np.array(values, dtype=float)
    assert correlation(numbers[tails], numbers[heads]) == pytest.approx(theirs)


@given(counts=st.lists(st.integers(0, 30), min_size=1, max_size=20))
def test_gini_is_half_the_mean_difference_of_pairs_by_the_mean(counts: list[int]) -> None:
    assume(any(counts))
    array = np.array(counts)
    by_pairs = np.abs(array[:, None] - array[None, :]).mean() / (2.0 * array.mean())
    assert gini(array) == pytest.approx(by_pairs, abs=1e-12)


@given(values=NUMBERS)
def test_bimodality_follows_from_the_corrected_skewness_and_kurtosis(values: list[int]) -> None:
    array = np.array(values, dtype=float)
    assume(len({*values}) > 1)
    size = len(values)
    skew, excess = stats.skew(array, bias=False), stats.kurtosis(array, bias=False)
    normal = 3 * (size - 1) ** 2 / ((size - 2) * (size - 3))
    assert bimodality(array) == pytest.approx((skew**2 + 1) / (excess + normal))
    assert variance(array) == pytest.approx(stats.moment(array, 2))


@given(values=NUMBERS, shift=st.integers(-9, 9), seed=st.integers(0, 99))
def test_correlation_is_pearsons(values: list[int], shift: int, seed: int) -> None:
    one = np.array(values, dtype=float)
    other = np.random.default_rng(seed).integers(-9, 9, len(values)) + shift * one
    assume(len({*one}) > 1 and len({*other}) > 1)
    assert correlation(one, other) == pytest.approx(stats.pearsonr(one, other)[0], abs=1e-9)


def test_what_is_not_defined_is_0() -> None:
    none, same = np.zeros(0, dtype=np.int64), np.full(9, 0.1)
    same[3] = 0.1 * (1 + 2e-16)  # by rounding, as opinions are after a consensus
    groups = np.zeros(9, dtype=np.int64)
    of_groups = [measure(none, none, groups) for measure in (ei_index, modularity, nominal_assortativity)]
    assert of_groups == [0.0, 0.0, 0.0]
    assert nominal_assortativity(*ends([(0, 1), (1, 2)]), groups) == 0.0
    assert [variance(same), bimodality(same), correlation(same, np.arange(9.0)), gini(groups)] == [0.0] * 4
    assert bimodality(np.array([1.0, 2.0, 3.0])) == 0.0


def test_ties_are_read_from_lists_with_room_between_them() -> None:
    followers = Lists(np.array([4, 0, 2]), np.array([5, 2, 2]), np.array([0, 2, 9, 9, 1, 9], dtype=np.int32))
    tails, heads = ends_of(followers)
    assert [*zip(tails.tolist(), heads.tolist(), strict=True)] == [(1, 0), (0, 1), (2, 1)]


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
        ("gini", "no measure 'gini': expected gini_followers, gini_reshares, correlation"),
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
