"""The terms that are off by default: response, quality, posting by followers, exposure, credit."""

import asyncio
import math
from collections import Counter
from random import Random
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from prism.columns import Columns
from prism.config import RelevanceConfig
from prism.rng import Draw, normal, uniform
from prism.social.domain import SocialDomain
from prism.social.kernels import turn_kernel
from prism.social.kernels.feed_kernel import has_reached
from prism.social.network import Network
from prism.social.people.population import build_population, participation, posting_rates
from prism.social.posts.post import Post, PostView, author_of
from prism.social.tables import NEVER, WANTS_TO_POST
from tests.catalogue import catalogue
from tests.plain import plain_config
from tests.social.acts import cascades_of, columns_of, like, network_of, posts_of, publish, reply, reshare, view_of
from tests.social.driver import SMALL, Run, whole
from tests.social.people import persona
from tests.social.scalar_feed import feed_for, roots_in

ADA, BO, CY, DI, EVE = range(5)
TIES = [(DI, ADA), (DI, BO), (DI, CY), (BO, ADA), (CY, ADA), (EVE, BO)]
"""Di follows Ada, Bo and Cy; Bo and Cy follow Ada; Eve follows Bo."""


def network(sigma: float = 0.0, **feed: Any) -> Network:
    people = [persona(name=name, interests=("tea",)) for name in ("Ada", "Bo", "Cy", "Di", "Eve")]
    return network_of(people, TIES, sigma, **{"algorithm": "chronological", "out_of_network": 0.0, **feed})


def copied(net: Network, **feed: Any) -> Network:
    copy, columns = network(net.state.t.settings.quality_sigma, **feed), Columns(columns_of(net))
    copy.restore(columns)
    assert columns.unread == []
    return copy


def seen(net: Network, agent: int, post: int, tick: int = 9) -> PostView:
    return view_of(net, agent, post, tick)


def reshared(net: Network, agent: int, post: int, tick: int) -> Post:
    reshare(net, agent, post, tick)
    *_, made = net.living
    return made


# The time until a post reaches a person


def reached_after(net: Network, person: int, post: int) -> int:
    """Return the ticks after which a post, by its row, has reached a person: a bisection, for it stays reached."""
    low, high, made = -1, 10**7, int(net.state.t.posts["created"][post])
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if has_reached(net.state.held, person, post, made + middle) else (middle, high)
    return high


def responding(net: Network, median: float, sigma: float = 0.0, speed_sigma: float = 0.0) -> Network:
    """Return a network whose posts reach people after log-normal times."""
    settings = net.state.t.settings._replace(response=median, response_sigma=sigma, speed_sigma=speed_sigma)
    net.state.t = net.state.t._replace(settings=settings)
    return net


def test_feeds_have_a_post_from_the_tick_on_at_which_it_has_reached_the_person() -> None:
    def built(tick: int, **feed: Any) -> list[int]:
        net = responding(network(**feed), 200.0, 0.5, 0.5)
        publish(net, ADA, 3)
        return feed_for(net, EVE if "out_of_network" in feed else DI, tick)

    net = responding(network(), 200.0, 0.5, 0.5)
    publish(net, ADA, 3)
    for reader, feed in ((DI, {}), (EVE, {"out_of_network": 1.0})):
        after = 3 + reached_after(net, reader, 0)
        assert not built(after - 1, **feed)
        assert len(built(after, **feed)) == 1


# Quality


def test_quality_is_a_draw_of_the_author_and_the_tick_and_belongs_to_the_cascade() -> None:
    net = network(sigma=1.0)
    first, second = publish(net, ADA, 3), publish(net, ADA, 4)
    quality = math.exp(normal(1, ADA, 3, Draw.QUALITY) - 0.5)
    copy = reshared(net, BO, first.id, 5)
    assert seen(net, DI, first.id).quality == seen(net, EVE, copy.id).quality == pytest.approx(quality)
    assert seen(net, DI, second.id).quality != seen(net, DI, first.id).quality
    taste = uniform(1, DI, 0, Draw.APPEAL, first.origin) ** 20
    assert seen(net, DI, first.id).appeal == pytest.approx(min(1.0, taste * quality))


# Posting


@catalogue(
    ("exponent", "mean", "rates"),
    [
        (0.0, 0.3, [0.3, 0.3, 0.3, 0.3, 0.3]),
        # Followers: Ada 3, Bo 2, Cy 1, Di and Eve 0. So the weights are 4, 3, 2, 1, 1 for a = 1, 11 together.
        (1.0, 2.2, [4.0, 3.0, 2.0, 1.0, 1.0]),
        # Their sum is 21: with Ada at 7, 14 remains for weights 3, 2, 1, 1; Bo's 6 stays below 7.
        (1.0, 4.2, [7.0, 6.0, 4.0, 2.0, 2.0]),
        (2.0, 7.0, [7.0] * 5),
    ],
)
def test_posting_grows_with_followers_and_keeps_its_mean(exponent: float, mean: float, rates: list[float]) -> None:
    assert posting_rates(network().population.graph, mean, exponent, np.ones(5)).tolist() == pytest.approx(rates)


def test_people_post_at_their_rates_and_the_cap_is_told() -> None:
    people: Any = {"size": 100, "posts_by_followers": 5.0, "posts_per_session": 0.6}
    config = plain_config(population=people)
    world = SocialDomain(config, build_population(config.population, 42)).world
    rates = posting_rates(world.population.graph, 0.6, 5.0, np.ones(100))
    came, posted = Counter[int](), Counter[int]()
    for tick in range(0, 600 * config.simulation.ticks_per_round, config.simulation.ticks_per_round):
        world.network.state.t.due[:] = NEVER
        turn_kernel.begin_round(world.network.state.held, tick, 1.0)
        is_due = world.network.state.t.due != NEVER
        came.update(np.flatnonzero(is_due).tolist())
        posted.update(np.flatnonzero(is_due & (world.people["next"] == WANTS_TO_POST)).tolist())
    for agent, sessions in came.items():
        assert posted[agent] / sessions == pytest.approx(min(1, rates[agent]), abs=4 * math.sqrt(0.25 / sessions))
    assert came.total() > 20_000
    capped = sum(rate > 7 - 1e-9 for rate in rates)
    assert capped > 0
    (note,) = world.capped()
    assert note == (
        f"population.posts_per_session: {capped} of 100 people post 7 times in every session, which is the most; "
        "the mean over people is still 0.6"
    )


def test_a_rate_above_1_is_the_mean_of_the_originals_of_a_session_which_differ() -> None:
    people = replace(SMALL.population, posts_per_session=2.4, quality_sigma=0.7)
    run = asyncio.run(whole(replace(SMALL, population=people)))
    made = [post for post in run.world.network.living if post.parent is None]
    together = Counter((post.author, post.created) for post in made)
    assert {*together.values()} == {2, 3}
    assert len(made) / len(together) == pytest.approx(2.4, abs=4 * math.sqrt(0.24 / len(together)))
    assert len({post.origin for post in made}) == len(made)
    qualities = run.world.network.state.t.cascades["quality"][: run.world.network.cascades.length]
    assert len({*qualities.tolist()}) == len(made)
    firsts = [(post.author, post.created) for post in made if post.origin >> 29 & 7 == 1]
    assert sorted(firsts) == sorted(together)
    topics = [post.topics for post in made if post.origin >> 29 & 7 <= 2]
    assert 0.3 < np.mean([one != other for one, other in zip(topics[::2], topics[1::2], strict=True)]) < 0.9


def test_a_text_of_a_model_is_that_of_the_first_of_several_originals() -> None:
    run = Run(replace(SMALL, population=replace(SMALL.population, posts_per_session=3.0)))
    net = run.world.network
    publish(net, ADA, 3, "Written by a model.")
    texts = [net.text(post) for post in net.living]
    assert [text == "Written by a model." for text in texts] == [True, False, False]


# Participation


def test_people_write_in_proportion_to_their_participation_and_take_to_posts_by_it() -> None:
    people = replace(SMALL.population, participation_sigma=1.2, posts_per_session=0.2)
    world = Run(replace(SMALL, population=people)).world
    factors = participation(60, 5, 1.2)
    rates = world.network.state.t.rates
    assert rates.mean() == pytest.approx(0.2)
    assert (rates / rates.mean()).tolist() == pytest.approx((factors / factors.mean()).tolist())
    root = publish(world.network, ADA, 1)
    for reader in (DI, EVE, 30):
        drawn = uniform(5, reader, 0, Draw.APPEAL, root.origin)
        assert seen(world.network, reader, root.id).appeal == pytest.approx(drawn ** (3.0 / factors[reader]))


# Exposure


@catalogue("exposure", ["simple", "complex"])
def test_a_cascade_comes_again_from_each_other_followed_person_until_one_engages(exposure: str) -> None:
    net = network(exposure=exposure)
    root = publish(net, ADA, 1)
    assert feed_for(net, DI, 2) == [root.id]
    assert feed_for(net, DI, 3) == []
    by_bo = reshared(net, BO, root.id, 4)
    assert feed_for(net, DI, 5) == [by_bo.id]
    reshared(net, BO, root.id, 6)
    assert feed_for(net, DI, 7) == [], "the same friend is no further exposure"
    net = copied(net, exposure=exposure)
    by_cy = reshared(net, CY, by_bo.id, 8)
    assert feed_for(net, DI, 9) == [by_cy.id]
    assert [seen(net, DI, post.id).exposures for post in (root, by_bo, by_cy)] == [1, 2, 3]
    assert seen(net, EVE, by_bo.id).exposures == 1


def test_a_fork_that_begins_to_show_again_does_not_do_so_with_what_came_before() -> None:
    net = network()
    root = publish(net, ADA, 1)
    feed_for(net, DI, 2)
    later = copied(net, exposure="simple")
    reshared(later, BO, root.id, 4)
    assert feed_for(later, DI, 5) == []
    fresh = publish(later, ADA, 6)
    feed_for(later, DI, 7)
    assert feed_for(later, DI, 8) == []
    assert reshared(later, CY, fresh.id, 9).id in feed_for(later, DI, 9)


def test_in_simple_contagion_each_exposure_has_a_taste_of_its_own_and_in_complex_one_is_for_all() -> None:
    for exposure, ticks in (("simple", (0, 1)), ("complex", (0, 0))):
        net = network(exposure=exposure)
        root = publish(net, ADA, 1)
        feed_for(net, DI, 2)
        again = reshared(net, BO, root.id, 3)
        feed_for(net, DI, 4)
        tastes = [seen(net, DI, post.id).appeal for post in (root, again)]
        assert tastes == [uniform(1, DI, tick, Draw.APPEAL, root.origin) ** 20 for tick in ticks]


def counted(net: Network, agent: int, post: Post) -> int:
    """Return how many people have shown somebody the cascade of a post, up to this post, from what is remembered."""
    authors = {post.author}
    for root, shown in zip(roots_in(net, "exposed", agent), net.state.ring("exposed_posts").of(agent), strict=True):
        if shown == post.id:
            break
        if root == post.root:
            authors.add(author_of(shown))
    return len(authors)


@catalogue("seed", [2])
def test_exposures_are_counted_from_a_bounded_memory_which_survives_a_checkpoint(seed: int) -> None:
    random, most = Random(seed), Counter[int]()
    settings: dict[str, Any] = {"exposure": "complex", "size": random.choice((1, 2)), "memory": 4, "horizon_rounds": 2}
    net = network(**settings)
    for tick in range(50):
        if tick % 10 == 0:
            net.retire(tick)
            net = copied(net, **settings)
        posts = [*posts_of(net)] or [publish(net, ADA, tick).id]
        if random.random() < 0.3:
            publish(net, random.randrange(5), tick)
        act = random.choice((like, reply, reshare, reshare))
        act(net, random.randrange(5), random.choice(posts), tick)
        for agent in range(5):
            feed_for(net, agent, tick)  # as the scalar reference of a feed has it
            assert len(net.state.ring("exposed_posts").of(agent)) <= max(4, 3 * net.feed.size)
            for post in net.living:
                found = seen(net, agent, post.id, tick).exposures
                assert found == counted(net, agent, post)
                most[found] += 1
    assert {1, 2, 3} <= most.keys()


# Credit


@catalogue(("credit", "parent"), [("seen", "second"), ("root", "root"), ("newest", "third")])
def test_a_reshare_is_a_child_of_the_post_that_gets_the_credit(credit: str, parent: str) -> None:
    net = network(reshare_credit=credit)
    root = publish(net, ADA, 1)
    second = reshared(network_like(net, "seen"), BO, root.id, 2)
    third = reshared(network_like(net, "seen"), CY, second.id, 3)
    reply(net, BO, third.id, 4)
    network_like(net, credit)
    posts = {"root": root, "second": second, "third": third}
    before = {name: posts_of(net)[post.id].reshares for name, post in posts.items()}
    child = reshared(net, DI, second.id, 5)
    assert (child.parent, child.depth, child.root) == (posts[parent].id, posts[parent].depth + 1, root.id)
    assert {name: posts_of(net)[post.id].reshares - before[name] for name, post in posts.items()} == {
        name: int(name == parent) for name in posts
    }
    assert cascades_of(net)[root.id].posts == 5
    assert net.happened[-1]["posts"][3].tolist() == [child.parent]


def network_like(net: Network, credit: str) -> Network:
    """The network itself, under another rule of credit."""
    net.use(replace(net.feed, reshare_credit=credit), RelevanceConfig())
    return net


@catalogue("credit", ["root", "newest"])
def test_what_is_forgotten_gets_no_credit(credit: str) -> None:
    net = network(reshare_credit=credit, horizon_rounds=2)
    root = publish(net, ADA, 1)
    copy = reshared(net, BO, root.id, 15)
    net.retire(30)
    assert root.id not in posts_of(net)
    child = reshared(net, EVE, copy.id, 31)
    assert (child.parent, child.depth) == (copy.id, copy.depth + 1)
    lone = reshared(network_like(net, credit), ADA, copy.id, 32)  # nothing of it is in Ada's timeline
    assert lone.parent == copy.id
