"""The facts of social feeds, against small computations by hand."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import numpy as np
import pytest

from prism.scorecard import Agreement, Feed, Tree, shapes_of, social, social_facts


@pytest.fixture(autouse=True)
def few_resamples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the interval of a month come from few resamples: no test here is about it."""
    monkeypatch.setattr(social, "MONTH_RESAMPLES", 4)


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
