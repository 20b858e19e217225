"""The facts of social feeds and of economies, against computations by hand and real data."""

from datetime import UTC, datetime

import igraph
import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.columns import Floats
from prism.economy.moments import moments, real_columns
from prism.errors import InputError
from prism.quarter import Period, Quarter
from prism.scorecard.cascades import Matching, Tree, parse_cascades, shapes_of
from prism.scorecard.facts import RUNS_MIN, Agreement, Feed, macro_facts, month_share, social_facts
from tests.catalogue import catalogue
from tests.economy.support import us_series


def feed_with(ticks: tuple[int, ...] = (), length: int = 48, seen: float | None = None) -> Feed:
    """Return a run with rounds of an hour, two originals and one reply."""
    trees = (Tree((-1,), (0.0,)), Tree((-1, 0), (0.0, 60.0)))
    return Feed(
        shapes=shapes_of(trees),
        authors=np.zeros(2, np.int64),
        posts_by_person=np.array([3, *[0] * 9]),
        ticks=np.array(ticks, np.int64),
        epoch=datetime(2025, 1, 1, tzinfo=UTC),
        tick_seconds=3600.0,
        length=length,
        engagement_per_post_seen=seen,
    )


def test_each_fact_is_that_of_its_definition() -> None:
    facts = {fact.name: fact for fact in social_facts([feed_with(seen=0.25), feed_with(seen=0.05)])}
    assert facts["posts without reaction"].simulated == 0.5
    assert facts["engagement per post seen"].simulated == 0.15
    assert facts["100+ posts, of 10,000"].agreement == Agreement.UNKNOWN


def star(posts: int) -> Tree:
    return Tree((-1, *[0] * (posts - 1)), tuple(map(float, range(posts))))


def feed_of_stars(people: int, large: int, small: int) -> Feed:
    """Return a run in which person 0 wrote every original: so many of 100 posts, and so many of one."""
    return msgspec.structs.replace(
        feed_with(),
        shapes=shapes_of([*[star(100)] * large, *[star(1)] * small]),
        authors=np.zeros(large + small, np.int64),
        posts_by_person=np.ones(people, np.int64),
    )


def test_shares_of_few_authors_have_intervals_that_hold_the_truth() -> None:
    """Percentiles of resampled authors hold it in four of five samples. benchmarks/coverage.py has many more."""
    held = 0
    for seed in range(30):
        random = np.random.default_rng(seed)
        rates = random.lognormal(0.0, 1.5, size=20)
        authors = np.repeat(np.arange(20), 1 + random.poisson(rates))
        levels = (0.5 * np.log(rates) + random.normal(0.0, 0.8, size=20))[authors]
        is_alone = random.random(len(authors)) < 1.0 / (1.0 + np.exp(0.8 * levels - 1.2))
        shapes = shapes_of([star(1 if each else 2) for each in is_alone])
        nobody = np.empty(0, np.int64)
        feed = msgspec.structs.replace(feed_with(), shapes=shapes, authors=authors, posts_by_person=nobody)
        found = {fact.name: fact for fact in social_facts([feed])}["posts without reaction"]
        assert found.low is not None
        assert found.high is not None
        assert 0.0 < found.low < found.high < 1.0
        held += found.low <= 0.61 <= found.high
    assert held >= 25


def test_shapes_are_judged_of_three_runs_of_5000_people_and_shown_of_fewer() -> None:
    real = shapes_of([star(100)] * 20)
    for people, runs, agreement in ((5000, 3, "met"), (4999, 2, "unknown")):
        facts = {fact.name: fact for fact in social_facts([feed_of_stars(people, 40, 0)] * runs, real)}
        assert facts["depth"].distance == 0.0
        assert facts["depth"].agreement == agreement
        assert ("shapes need 5,000 people and 3 seeds" in facts["depth"].note) == (agreement == "unknown")
        assert f"{40 * runs} cascades by {runs} authors" in facts["depth"].note


def test_the_hours_of_whole_days_are_compared_by_half_the_sum_of_the_differences() -> None:
    even = [1.0] * 24
    at_noon = (12, 36, 60)  # the last one is in a day that did not end
    (found,) = [fact for fact in social_facts([feed_with(at_noon)], hours=[even]) if fact.distance is not None]
    assert found.distance == pytest.approx(23 / 24)
    (same,) = [fact for fact in social_facts([feed_with(tuple(range(48)))], hours=[even]) if fact.distance is not None]
    assert same.distance == pytest.approx(0.0)
    assert same.agreement == Agreement.MET
    facts = social_facts([feed_with((3,), length=20)], hours=[even])
    assert facts[-1].agreement == Agreement.UNKNOWN


@catalogue("days", [2.0, 8.0])
def test_the_share_of_a_month_does_not_depend_on_the_length_of_the_run(days: float) -> None:
    random = np.random.default_rng(4)
    rates = random.lognormal(-1.0, 1.5, size=20_000)  # posts a day
    month = random.poisson(30.0 * rates)
    posting = np.sort(month[month > 0])
    real = posting[-round(len(posting) / 10) :].sum() / posting.sum()
    run = random.poisson(days * rates).astype(np.float64)
    assert month_share(run, days) == pytest.approx(real, abs=0.02)


def test_people_who_post_alike_have_a_tenth_however_short_the_run() -> None:
    posts = np.random.default_rng(5).poisson(0.5, size=20_000).astype(np.float64)
    assert month_share(posts, 0.5) == pytest.approx(0.1, abs=0.05)


@st.composite
def parent_lists(draw: st.DrawFn) -> tuple[int, ...]:
    size = draw(st.integers(1, 40))
    return (-1, *(draw(st.integers(0, place - 1)) for place in range(1, size)))


def tree(parents: tuple[int, ...]) -> Tree:
    return Tree(parents, tuple(float(place) for place in range(len(parents))))


@given(st.lists(parent_lists(), min_size=1, max_size=4))
def test_shapes_are_those_of_a_graph_library(cascades: list[tuple[int, ...]]) -> None:
    found = shapes_of([*map(tree, cascades)])
    for place, parents in enumerate(cascades):
        graph = igraph.Graph(len(parents), [(place, parent) for place, parent in enumerate(parents) if parent >= 0])
        depths = graph.distances(source=0)[0]
        assert (found.size[place], found.depth[place]) == (len(parents), max(depths))
        assert found.breadth_share[place] == max(depths.count(depth) for depth in depths) / len(parents)
        assert found.virality[place] == pytest.approx(graph.average_path_length() if len(parents) > 1 else 0.0)
        assert found.half_minutes[place] == (len(parents) - 1) // 2


def floats(*values: float) -> Floats:
    return np.array(values, dtype=np.float64)


def test_cascades_of_one_law_are_close_and_those_of_another_are_not() -> None:
    random = np.random.default_rng(3)
    sizes, real_sizes = random.lognormal(5, 0.5, size=300), random.lognormal(5.5, 0.7, size=1500)
    noise, real_noise = random.normal(size=300), random.normal(size=1500)
    matching = Matching(sizes, real_sizes)
    same = matching.compare(np.log(sizes) + noise, np.log(real_sizes) + real_noise)
    other = matching.compare(np.log(sizes) + noise + 1.0, np.log(real_sizes) + real_noise)
    assert same.matched > 250
    assert same.distance < 0.12
    assert other.distance == pytest.approx(0.36, abs=0.1)  # a shift by s of a normal law of deviation 1.1 or so


def test_a_cascade_with_fewer_than_ten_real_ones_of_its_size_is_left_out() -> None:
    matching = Matching(floats(60, 200), np.array([60.0] * 9 + [200.0] * 10))
    assert matching.kept.tolist() == [1]
    found = matching.compare(floats(1, 2), np.arange(19.0))
    assert found.effective == pytest.approx(10.0)


HEADER = "cascade,node,parent,delay_minutes\n"


def test_the_rows_of_a_cascade_are_a_tree() -> None:
    found = parse_cascades((HEADER + "a,0,-1,0\na,1,0,0.5\nb,0,-1,0\na b,0,-1,0\n").encode(), "c.csv")
    assert found == (Tree((-1, 0), (0.0, 0.5)), Tree((-1,), (0.0,)), Tree((-1,), (0.0,)))


@catalogue(
    ("text", "problem"),
    [
        ("", "c.csv: is empty: expected a line with the names of its columns"),
        (HEADER, "c.csv: holds no cascades: expected at least one line below the header"),
        ("cascade,node\n", "c.csv:1: missing column: parent, delay_minutes; expected cascade, node, parent, delay_"),
        (HEADER + "1,0,-1\n", "c.csv:2: expected 4 columns, got 3"),
        (HEADER + "1,0,-1,0\n1,2,0,0\n", "c.csv:3: expected node 1 of cascade 1, got 2"),
        (HEADER + "1,0,0,0\n", "c.csv:2: parent: expected -1, as of a root, got 0"),
        (HEADER + "1,0,-1,0\n1,1,1,0\n", "c.csv:3: parent: expected a node before 1, got 1"),
        (HEADER + "1,0,-1,x\n", "c.csv:2: delay_minutes: expected a number, got 'x'"),
        (HEADER + "1,0,-1,0\n2,0,-1,0\n1,0,-1,0\n", "c.csv:4: expected the rows of cascade 1 together"),
    ],
)
def test_bad_cascades_are_refused_with_their_line(text: str, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_cascades(text.encode(), "c.csv")
    assert str(caught.value).startswith(problem)


START = Quarter.parse("1985q1")
SAME = Period.parse("1985q2-1995q1")


def test_history_beside_itself_is_met_in_every_moment_that_is_defined_and_of_the_same_quarters() -> None:
    runs = [real_columns(us_series(), SAME)] * RUNS_MIN
    facts = {fact.name: fact for fact in macro_facts(runs, us_series(), "us.csv", START)}
    real = moments(real_columns(us_series(), SAME))
    for name, fact in facts.items():
        assert (fact.real, fact.agreement) == (real[name], Agreement.MET)
        assert fact.source == "us.csv, 1985q2 to 1995q1: 40 quarters, as of the runs"


def test_fewer_than_twenty_runs_are_shown_and_not_judged() -> None:
    facts = macro_facts([real_columns(us_series(), SAME)] * (RUNS_MIN - 1), us_series(), "us.csv", START)
    assert {fact.agreement for fact in facts} == {Agreement.UNKNOWN}
    assert all(fact.simulated is not None for fact in facts)
