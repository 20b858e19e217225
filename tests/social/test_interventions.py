"""The effect of each kind of intervention on people and their feeds."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from prism.columns import Columns
from prism.config import Config
from prism.errors import ConfigError
from prism.social.domain import SocialDomain
from prism.social.network import Network
from prism.social.people.population import build_population
from prism.social.world import SocialWorld
from tests.social.acts import network_of, post_id, publish, reshare, view_of
from tests.social.driver import SMALL, Run
from tests.social.people import persona
from tests.social.scalar_feed import feed_for


def config_with(*interventions: dict[str, Any]) -> Config:
    return replace(SMALL, interventions=list(interventions))


def world_of(config: Config = SMALL) -> SocialWorld:
    return SocialDomain(config, build_population(config.population, config.simulation.seed)).world


def done(world: SocialWorld, tick: int, *interventions: dict[str, Any]) -> SocialWorld:
    for each in config_with(*interventions).interventions:
        world.intervene(tick, each)
    return world


async def advanced(run: Run, ticks: int, interventions: Sequence[dict[str, Any]] = ()) -> Run:
    """A run after more ticks, with these interventions at the beginning of the first of them."""
    done(run.world, run.tick, *interventions)
    return await run.advance(ticks)


POST = {"author": 7, "text": "Breaking: a bridge", "topics": ["food", "travel"], "quality": 0.9}


def test_a_post_from_outside_is_an_original_with_the_given_words() -> None:
    world = done(world_of(), 3, {"tick": 3, "publish": POST})
    (post,) = world.network.living
    assert (post.author, post.text, post.topics, post.created) == (7, "Breaking: a bridge", ("food", "travel"), 3)
    assert world.network.counts["posts"] == 1
    for follower in world.population.graph.followers(7).tolist():
        assert post.id in feed_for(world.network, follower, 4)


def test_quality_is_the_least_appeal_of_the_whole_cascade() -> None:
    plain = done(world_of(), 3, {"tick": 3, "publish": {**POST, "quality": 0.0}}).network
    good = done(world_of(), 3, {"tick": 3, "publish": {**POST, "quality": 0.5}}).network
    given, shared = post_id(7, 0), post_id(8, 0)
    reshare(good, 8, given, 4)
    found = [
        [view_of(network, agent, post, 5).appeal for network, post in ((plain, given), (good, given), (good, shared))]
        for agent in range(SMALL.population.size)
    ]
    assert all(now == reshared == max(0.5, drawn) for drawn, now, reshared in found)
    assert any(now > 0.5 for _, now, _ in found)


def ties_of(network: Network) -> list[list[list[int]]]:
    """Return whom each person follows, who follows them, and whom they have muted."""
    return [
        [lists.values[start:end].tolist() for start, end in zip(lists.starts, lists.ends, strict=True)]
        for lists in network.state.t.ties
    ]


def test_changed_ties_read_as_a_graph_that_was_built_so() -> None:
    network = network_of([persona()] * 5, [(0, 4), (1, 4), (2, 4), (3, 0)])
    network.change_ties({(1, 4): False, (3, 4): True, (2, 4): True, (0, 1): False})  # 2 had followed 4, 0 had not 1
    assert ties_of(network) == [[[4], [], [4], [0, 4], []], [[3], [], [], [], [0, 2, 3]], []]
    network.change_ties({(1, 4): True})
    post = publish(network, 4, 0)
    came = [network.state.ring("timeline").of(person) for person in range(5)]
    assert [[network.living.ids(np.array(each))[0] for each in came[:4]], came[4]] == [[post.id] * 4, []]
    assert network.population.graph.followers(4).tolist() == [0, 1, 2]


async def test_silenced_people_get_no_trigger_and_publish_nothing() -> None:
    run = await Run().advance(30)
    start = len(run.triggers)
    everybody = [*range(0, 60, 2)]
    await advanced(run, 60, [{"tick": 30, "silence": everybody}])
    later = [trigger for happening in run.triggers[start:] for trigger in happening]
    assert later
    assert not [trigger for trigger in later if trigger.agent % 2 == 0]
    asked = {(question.agent, question.tick) for question in run.questions}
    late = {update.agent for update in run.updates if update.tick >= 30 and update.agent % 2 == 0}
    assert late <= {agent for agent, tick in asked if tick < 30}  # only those that waited for a decision
    posts = run.world.network.living
    assert not [post for post in posts if post.created >= 30 and post.author % 2 == 0]


async def test_people_come_back_in_the_round_in_which_their_silence_ends() -> None:
    length = SMALL.simulation.ticks_per_round
    run = await Run().advance(length + 9)
    await advanced(run, 3 * length, [{"tick": length + 9, "silence": [*range(60)], "until_round": 3}])
    by_tick = {happening[0].tick: happening for happening in run.triggers if happening}
    quiet = [tick for tick in by_tick if length + 9 <= tick < 2 * length]
    assert quiet == [2 * length - 1]  # the sessions that were interrupted end
    assert {trigger.name for trigger in by_tick[2 * length - 1]} == {"round_ends"}
    assert len({trigger.agent for tick, all_ in by_tick.items() if tick >= 2 * length for trigger in all_}) > 40
    assert not run.world.people["silent"].any()


KINDS: list[dict[str, Any]] = [
    {"tick": 40, "publish": POST},
    {"tick": 40, "set": {"feed.algorithm": "hot", "feed.memory": 3, "population.posts_per_session": 1.0}},
    {"tick": 40, "follow": [[1, 2], [3, 4], [5, 6]]},
    {"tick": 40, "unfollow": [[1, 2]]},
    {"tick": 40, "silence": [1, 2, 3]},
    {"tick": 40, "silence": [11, 12, 13], "until_round": 3},
]


async def test_a_checkpoint_after_interventions_gives_the_same_world() -> None:
    run = await advanced(await Run().advance(40), 30, KINDS)
    there, columns = world_of(), Columns(run.world.columns())
    there.restore(columns)
    assert columns.unread == []
    assert [*there.columns()] == [*run.world.columns()]
    assert ties_of(there.network) == ties_of(run.world.network)
    assert there.config == run.world.config
    for agent in range(60):
        assert feed_for(there.network, agent, run.tick) == feed_for(run.world.network, agent, run.tick)


async def test_a_fork_may_have_shorter_feeds_and_goes_on_with_those_that_are_open() -> None:
    run = await Run(replace(SMALL, feed=replace(SMALL.feed, size=20))).advance(9)
    longest = max(run.world.people["left"].tolist())
    fork = Run(replace(SMALL, feed=replace(SMALL.feed, size=1)))
    fork.world.restore(Columns(run.world.columns()))
    assert fork.world.people["left"].tolist() == run.world.people["left"].tolist()
    assert longest > 1
    fork.people, fork.tick = [fork.domain.agent(number) for number in range(60)], 9
    await fork.advance(40)
    assert max(fork.world.people["shown"].tolist()) > 0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"tick": 3, "silence": [1, 60]}, "silence[1]: expected the number of one of 60 people, 0 to 59, got 60"),
        ({"tick": 3, "follow": [[1, 2], [3, 60]]}, "follow[1][1]: expected the number of one of 60 people"),
    ],
)
def test_an_intervention_on_nobody_is_refused_when_the_people_are_made(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        world_of(config_with({"tick": 1, "silence": [1]}, given))
    assert f": interventions[1].{message}" in str(caught.value)
