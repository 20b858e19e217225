"""The facts of social feeds, against small computations by hand."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from prism.scorecard import Agreement, Feed, social_facts
from prism.scorecard.trees import Tree


def feed_with(ticks: tuple[int, ...] = (), length: int = 48, seen: float | None = None) -> Feed:
    """Return a run with rounds of an hour, two originals and one reply."""
    trees = (Tree((-1,), (0.0,)), Tree((-1, 0), (0.0, 60.0)))
    return Feed(
        trees=trees,
        posts_by_person=(3, *[0] * 9),
        ticks=ticks,
        epoch=datetime(2025, 1, 1, tzinfo=UTC),
        tick_seconds=3600.0,
        length=length,
        engagement_per_post_seen=seen,
    )


def test_each_fact_is_that_of_its_definition() -> None:
    facts = {fact.name: fact for fact in social_facts([feed_with(seen=0.25), feed_with(seen=0.05)])}
    assert facts["posts without reaction"].simulated == 0.5
    assert facts["engagement per post seen"].simulated == 0.15
    assert facts["posts of the top tenth"].simulated == 1.0


def test_a_run_that_tells_nothing_of_what_was_seen_is_not_judged_by_it() -> None:
    facts = {fact.name: fact for fact in social_facts([feed_with()])}
    assert facts["engagement per post seen"].agreement == Agreement.UNKNOWN


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
