"""Each constant of people's behaviour, at another value than its default."""

import math
from typing import Any

import pytest
from msgspec.structs import replace

from prism.columns import Columns
from prism.config import Config, FeedConfig, RelevanceConfig
from prism.config.model import PopulationConfig
from prism.rng import Draw, uniform
from prism.social.domain import SocialDomain
from prism.social.network import Network
from prism.social.people.population import build_population
from prism.social.world import SocialWorld
from tests.catalogue import catalogue
from tests.plain import plain_config
from tests.social.acts import posts_of, publish
from tests.social.driver import SMALL
from tests.social.in_view import view_of
from tests.social.scalar_feed import pool_of


def world_of(config: Config) -> SocialWorld:
    return SocialDomain(config, build_population(config.population, config.simulation.seed)).world


def changed(world: SocialWorld, **settings: Any) -> SocialWorld:
    given: Any = [{"tick": 1, "set": {name.replace("__", "."): value for name, value in settings.items()}}]
    for each in replace(SMALL, interventions=given).interventions:
        world.intervene(1, each)
    return world


def crowd(**relevance: float) -> Network:
    config = PopulationConfig(size=40)
    return Network(build_population(config, 1), FeedConfig(), 1, 10, RelevanceConfig(**relevance))


@catalogue("power", [0.5, 1.0, 2.0, 7.0])
def test_taste_is_a_uniform_draw_to_its_power(power: float) -> None:
    net = crowd(appeal_power=power)
    posts = [publish(net, author, tick).id for author in range(20) for tick in range(5)]
    tastes = [seen.appeal for post in posts for reader in range(20) if (seen := view_of(net, reader, post, 9))]
    assert len(tastes) == 2000
    # Four standard errors of the mean: the variance of u^p is p^2 / ((2p + 1) (p + 1)^2).
    error = power / ((power + 1) * math.sqrt((2 * power + 1) * len(tastes)))
    assert math.fsum(tastes) / len(tastes) == pytest.approx(1 / (power + 1), abs=4 * error)
    assert all(0.0 <= taste <= 1.0 for taste in tastes)


def test_strangers_posts_come_from_a_part_of_the_originals_also_after_a_checkpoint() -> None:
    config = replace(SMALL, feed=FeedConfig(recent=3, pool=200))
    world = world_of(config)
    for tick in range(10):
        publish(world.network, tick, 0)
    pools = [pool_of(world.network, reader, 1) for reader in range(50)]
    assert {post for pool in pools for post in pool} == {*range(len(world.network.living))}
    assert max(map(len, pools)) < len(posts_of(world.network))
    changed(world, feed__recent=80)
    for author in range(10, 20):
        publish(world.network, author, 1)
    assert set(pool_of(world.network, 50, 2)) == {*range(len(world.network.living))}
    copy = world_of(replace(config, feed=FeedConfig(recent=80, pool=200)))
    copy.restore(Columns(world.columns()))
    for recent in (3, 80):
        for each in (world, copy):
            changed(each, feed__recent=recent)
        assert pool_of(copy.network, 50, 2) == pool_of(world.network, 50, 2)


def test_people_decide_by_the_weights_of_the_configuration() -> None:
    people: Any = {"size": 20, "relevance": {"topic_match": 0, "followed": 0, "popularity": 0, "appeal": 1}}
    domain = SocialDomain(config := plain_config(population=people), build_population(config.population, 42))
    post = publish(domain.world.network, 0, 0)
    seen = view_of(domain.world.network, 1, post.id, 1)
    assert seen is not None
    assert domain.agent(1).relevance(seen) == uniform(42, 1, 0, Draw.APPEAL, post.origin) ** 3
