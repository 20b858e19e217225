"""Feeds as data: a ranking is an expression, and those with a name are expressions, too."""

import re
from collections import Counter
from typing import Any

import numpy as np
import pytest

from prism.columns import Columns
from prism.config import Config, PopulationConfig
from prism.config.model import ALGORITHMS
from prism.errors import ConfigError
from prism.events import PostEvent, events_in
from prism.social.domain import SocialDomain
from prism.social.field_source import ranking_fields
from prism.social.people.population import build_population
from prism.social.posts.post import author_of
from prism.social.tables import BASE
from tests.catalogue import catalogue
from tests.docs.pages import section
from tests.paths import ROOT
from tests.plain import plain_config
from tests.social.driver import Run

PEOPLE, TICKS = 50, 12
OPINION = {"opinion": {"type": "float", "min": -1, "max": 1}}
PAGE = ROOT / "docs" / "people.md"


def config_of(people: dict[str, Any] | None = None, later: list[dict[str, Any]] | None = None, **feed: Any) -> Config:
    settings = {
        "simulation": {"rounds": 3, "ticks_per_round": TICKS, "seed": 3},
        "population": {
            "size": PEOPLE,
            "posts_per_session": 0.6,
            "ambiguity": 0.4,
            "activity": {"mean": 0.9},
            "attributes": OPINION,
            **(people or {}),
        },
        "feed": {"size": 6, "out_of_network": 0.5, **feed},
        "interventions": later or [],
    }
    return plain_config(**settings)


def test_the_named_algorithms_are_those_of_the_configuration_and_of_the_page() -> None:
    rows = re.findall(r"^\| `([a-z]+)` \| `([^`]+)` \|", section(PAGE, "Algorithms"), re.MULTILINE)
    assert dict(rows) == dict(ALGORITHMS)
    listed = re.findall(r"^\| (`.*?) \|", section(PAGE, "A ranking of your own"), re.MULTILINE)
    assert {name for row in listed for name in re.findall(r"`([^`]+)`", row)} == {*ranking_fields(PopulationConfig())}


async def feeds(config: Config) -> list[tuple[Run, int, list[int]]]:
    """Return each feed that is built: after its tick, the reader and the rows of its posts."""
    run, found = Run(config), list[tuple[Run, int, list[int]]]()
    for _ in range(3 * TICKS):
        await run.advance(1)
        t = run.world.network.state.t
        for update in run.updates:
            if update.tick == run.tick - 1 and update.trigger == "feed_ready" and update.to_state == "scrolling":
                shown = t.feed[update.agent, : t.people["shown"][update.agent]].astype(np.int64)
                found.append((run, update.agent, (shown - t.counts.posts[BASE]).tolist()))
    return found


async def test_a_feed_is_in_the_order_of_an_expression_of_reader_author_and_post() -> None:
    checked = 0
    config = config_of(algorithm="-abs(author.opinion - agent.opinion) + if(post.followed, 0.1, 0)")
    for run, reader, rows in await feeds(config):
        opinions = [float(persona.attributes["opinion"]) for persona in run.domain.population.personas]
        graph, authors = run.domain.population.graph, run.world.network.state.t.posts["author"][rows].tolist()
        scores = [0.1 * graph.follows(reader, each) - abs(opinions[each] - opinions[reader]) for each in authors]
        assert scores == sorted(scores, reverse=True)
        checked += len(scores) > 1
    assert checked > 40


async def test_engagements_across_groups_are_counted_and_survive_a_checkpoint() -> None:
    run, expected = Run(config_of(algorithm="bridging", across="opinion")), Counter[int]()
    opinions = [float(persona.attributes["opinion"]) for persona in run.domain.population.personas]
    roots = dict[int, int]()
    for _ in range(3 * TICKS):
        await run.advance(1)
        for event in events_in(0, run.world.take_rows()):
            assert isinstance(event, PostEvent)
            above = event.post if event.parent is None else event.parent
            roots[event.post] = root = roots.get(above, event.post)
            author = author_of(root)
            if event.kind != "publish" and opinions[event.agent] * opinions[author] < 0:
                expected[root] += 1
    network = run.world.network
    trees, cascades, length = network.state.t.trees, network.state.t.cascades, network.cascades.length
    counted = dict(zip(trees["root"][:length].tolist(), cascades["across"][:length].tolist(), strict=True))
    assert sum(expected.values()) > 10
    assert counted == {root: expected[root] for root in counted}
    there = SocialDomain(run.config, build_population(run.config.population, 3)).world
    there.restore(Columns(run.world.columns()))
    assert [*there.columns()] == [*run.world.columns()]


@catalogue("out_of_network", [0.5, 1.0])
async def test_no_author_has_more_posts_than_the_limit_on_a_side_of_a_feed(out_of_network: float) -> None:
    most = Counter[bool]()
    for limit in (0, 1):
        for run, reader, rows in await feeds(config_of(size=12, out_of_network=out_of_network, per_author=limit)):
            t = run.world.network.state.t
            sides = Counter[tuple[int, bool]]()
            for row in rows:
                author = int(t.posts["author"][row])
                sides[author, run.domain.population.graph.follows(reader, author)] += 1
            if sides:
                most[bool(limit)] = max(most[bool(limit)], *sides.values())
    assert most[False] > 1
    assert most[True] <= (1 if out_of_network == 1.0 else 2)  # a reply to a reader is on the own side


@catalogue(
    ("feed", "later", "problem"),
    [
        ({"algorithm": "post.likes +"}, [], "column 13 of 'post.likes +': expected a field"),
        ({"algorithm": "post.appeal * 2"}, [], "unknown field post.appeal"),
        ({"algorithm": "author.mood * 1"}, [], "unknown field author.mood"),
        ({"algorithm": "post.likes > 3"}, [], "expected a number, found a condition"),
        ({"algorithm": "bridging"}, [], "feed.across: is not set, and bridging counts engagements across groups"),
        ({}, [{"tick": 1, "set": {"feed.algorithm": "log10(post.across)"}}], "feed.across: is not set"),
        ({"across": "party"}, [], "feed.across: party: people have no such attribute; expected one of opinion"),
    ],
)
def test_a_ranking_that_cannot_be_is_refused(feed: dict[str, Any], later: list[dict[str, Any]], problem: str) -> None:
    config = config_of(later=later, **feed)
    with pytest.raises(ConfigError) as error:
        SocialDomain(config, build_population(config.population, 3))
    assert problem in str(error.value)
