"""Measures of people and their ties, against igraph, scipy and cases by hand, and in runs that ask for them."""

import asyncio
import json
import math
from collections import Counter
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
from prism.agents import MOVED
from prism.config import Config, FeedConfig
from prism.errors import SettingError
from prism.social.measures import (
    bimodality,
    correlation,
    ei_index,
    ends_of,
    gini,
    modularity,
    nominal_assortativity,
    unlike_configured,
    variance,
)
from prism.social.tables import PLACES, SHORT_INSIDE, SHORT_OUTSIDE, SHOWN_ALL, SHOWN_OUTSIDE, Lists
from tests.catalogue import catalogue
from tests.command import prism_alone
from tests.social.driver import SMALL, Run, shown, whole

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
    *("ei_index_party", "modularity_party", "assortativity_party", "assortativity_opinion", "variance_opinion"),
    *("bimodality_opinion", "gini_followers", "gini_reshares"),
    *("correlation_opinion_followers", "correlation_opinion_reshares"),
)


def measured(*names: str) -> Config:
    people = replace(SMALL.population, attributes=ATTRIBUTES, measures=names)
    return Config(simulation=SMALL.simulation, feed=SMALL.feed, population=people)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("measured")
    people = {"size": 60, "activity": {"mean": 0.9, "sigma": 0.1}, "attributes": ATTRIBUTES, "measures": MEASURES}
    people["graph"] = {"homophily": {"by": "party", "share": 0.8}}
    settings = {"simulation": {"rounds": 3, "ticks_per_round": 24, "seed": 5}, "population": people}
    (place / "small.yaml").write_text(json.dumps(settings))
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
    tails, heads = people.graph.ties()
    assert totals["ei_index_party"] == pytest.approx(ei_index(tails, heads, groups), rel=1e-5)
    graph = igraph.Graph(people.size, [*zip(tails.tolist(), heads.tolist(), strict=True)], directed=True)
    by_igraph = graph.assortativity(opinions.tolist(), directed=True)
    assert totals["assortativity_opinion"] == pytest.approx(by_igraph, rel=1e-5, abs=1e-9)
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


# Counts of what feeds and people really did, counted again from what happened


@pytest.fixture(scope="module")
def lived() -> Run:
    """A whole run, which tests only look at."""
    return asyncio.run(whole(replace(SMALL, feed=replace(SMALL.feed, out_of_network=0.4))))


def test_time_by_state_is_that_of_the_updates(lived: Run) -> None:
    since, spent = dict.fromkeys(range(lived.domain.size), ("idle", 0)), Counter[str]()
    for update in lived.updates:
        if update.source in MOVED:
            state, entered = since[update.agent]
            spent[state] += update.tick - entered
            since[update.agent] = update.to_state, update.tick
    for state, entered in since.values():
        spent[state] += lived.tick - entered
    behaviour, whole_time = lived.world.totals()["behaviour"], lived.domain.size * lived.tick
    assert behaviour["time_by_state"] == {state: round(spent[state] / whole_time, 6) for state in sorted(spent)}
    assert sum(behaviour["time_by_state"].values()) == pytest.approx(1.0, abs=1e-5)


def test_posts_seen_and_considered_are_the_triggers_for_them(lived: Run) -> None:
    totals = lived.world.totals()
    assert totals["posts_seen"] == len(shown(lived, "sees_post"))
    assert totals["posts_considered"] == len(shown(lived, "decides"))
    assert totals["posts_considered"] < totals["posts_seen"] <= totals["posts_shown"]
    counts = lived.world.network.state.t.counts.feeds
    assert counts[SHORT_INSIDE] + counts[SHORT_OUTSIDE] == counts[PLACES] - counts[SHOWN_ALL] > 0
    assert 0 < counts[SHORT_OUTSIDE] < counts[SHORT_INSIDE]
    engagements = totals["likes"] + totals["replies"] + totals["reshares"]
    assert totals["behaviour"]["engagement_per_post_seen"] == round(engagements / totals["posts_seen"], 6)
    days = lived.domain.size * lived.tick / (24 * 60)
    assert totals["behaviour"]["actions_per_person_day"] == round((engagements + totals["posts"]) / days, 6)


def told(world: dict[str, Any]) -> str:
    return "; ".join(map(str, unlike_configured(world)))


def test_a_share_that_came_out_otherwise_has_one_line_with_the_reason() -> None:
    for came_out, inside, outside, reason in (
        (0.5, 3, 0, "50.0%, not 20.0%: too few posts by people who are followed"),
        (0.0, 0, 1, "0.0%, not 20.0%: too few posts by people who are not followed"),
        (0.667, 0, 0, "66.7%, not 20.0%: a feed has whole posts only"),
    ):
        share, short = {"configured": 0.2, "realised": came_out}, {"in_network": inside, "out_of_network": outside}
        feed = {"fill": "strict", "out_of_network": share, "short": short}
        assert told({"feed": feed, "posts_shown": 9}) == f"feed.out_of_network: {reason}"


@catalogue(("size", "share"), [(5, 0.2), (3, 0.5), (10, 0.06)])
def test_the_share_of_strangers_is_that_of_the_feeds_that_were_built_and_none_is_longer_than_its_size(
    size: int, share: float
) -> None:
    feed = FeedConfig(size=size, out_of_network=share, fill="share", pool=60)
    run = asyncio.run(whole(replace(SMALL, simulation=replace(SMALL.simulation, rounds=3), feed=feed)))
    counts = run.world.network.state.t.counts.feeds
    error = math.sqrt(share * (1 - share) / counts[SHOWN_ALL])  # of whole places that are drawn independently, or less
    assert counts[SHOWN_OUTSIDE] / counts[SHOWN_ALL] == pytest.approx(share, abs=0.01 + 4 * error)
    assert run.world.people["shown"].max() <= size
    assert counts[SHOWN_ALL] < 0.99 * counts[PLACES], "the graph is sparse, so feeds are shorter than they could be"
    assert told(run.world.totals()) == ""


def test_ties_and_margins_that_came_out_otherwise_are_told() -> None:
    ties = {"by": "party", "configured": 0.9, "realised": 0.7, "by_chance": 0.5}
    rows = [{"row": "age 65+", "asked": 0.2, "came_out": 0.1}, {"row": "age 18-64", "asked": 0.8, "came_out": 0.805}]
    assert told({"homophily": ties, "margins": {"age.csv": rows}}).split("; ") == [
        "population.graph.homophily: 70.0%, not 90.0%: swaps can make or undo no more ties within the same party",
        "population.margins: 10.0%, not 20.0%: age 65+ of age.csv",
    ]
    assert told({"homophily": {**ties, "realised": 0.9}, "margins": {"age.csv": rows[1:]}}) == ""
