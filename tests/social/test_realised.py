"""What feeds and people really did, counted again from what happened."""

import asyncio
import math
from collections import Counter
from typing import Any

import msgspec
import pytest

from prism.agents import MOVED
from prism.config import Config, FeedConfig
from prism.social.measures import unlike_configured
from prism.social.tables import PLACES, SHORT_INSIDE, SHORT_OUTSIDE, SHOWN_ALL, SHOWN_OUTSIDE
from tests.catalogue import catalogue
from tests.social.driver import SMALL, Run, shown, whole


def condition(**feed: Any) -> Config:
    return msgspec.structs.replace(SMALL, feed=msgspec.structs.replace(SMALL.feed, **feed))


@pytest.fixture(scope="module")
def run() -> Run:
    """A whole run, which tests only look at."""
    return asyncio.run(whole(condition(out_of_network=0.4)))


def test_time_by_state_is_that_of_the_updates(run: Run) -> None:
    since, spent = dict.fromkeys(range(run.domain.size), ("idle", 0)), Counter[str]()
    for update in run.updates:
        if update.source in MOVED:
            state, entered = since[update.agent]
            spent[state] += update.tick - entered
            since[update.agent] = update.to_state, update.tick
    for state, entered in since.values():
        spent[state] += run.tick - entered
    behaviour, whole_time = run.world.totals()["behaviour"], run.domain.size * run.tick
    assert behaviour["time_by_state"] == {state: round(spent[state] / whole_time, 6) for state in sorted(spent)}
    assert sum(behaviour["time_by_state"].values()) == pytest.approx(1.0, abs=1e-5)


def test_posts_seen_and_considered_are_the_triggers_for_them(run: Run) -> None:
    totals = run.world.totals()
    assert totals["posts_seen"] == len(shown(run, "sees_post"))
    assert totals["posts_considered"] == len(shown(run, "decides"))
    assert totals["posts_considered"] < totals["posts_seen"] <= totals["posts_shown"]
    counts = run.world.network.state.t.counts.feeds
    assert counts[SHORT_INSIDE] + counts[SHORT_OUTSIDE] == counts[PLACES] - counts[SHOWN_ALL] > 0
    assert 0 < counts[SHORT_OUTSIDE] < counts[SHORT_INSIDE]
    engagements = totals["likes"] + totals["replies"] + totals["reshares"]
    assert totals["behaviour"]["engagement_per_post_seen"] == round(engagements / totals["posts_seen"], 6)
    days = run.domain.size * run.tick / (24 * 60)
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
    simulation = msgspec.structs.replace(SMALL.simulation, rounds=3)
    run = asyncio.run(whole(msgspec.structs.replace(SMALL, simulation=simulation, feed=feed)))
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
