"""A network without a world: posts, cascades, timelines and samples."""

from collections import Counter
from itertools import pairwise
from random import Random
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.agents import Update, turn
from prism.columns import Columns, Ints
from prism.config import FeedConfig, RelevanceConfig, SimulationConfig
from prism.config.interventions import PublishConfig
from prism.errors import ConfigError, PrismError
from prism.events import NUMBER_BITS, PostEvent, events_in
from prism.rng import Draw, uniform
from prism.social.domain import SocialDomain
from prism.social.kernels import view_kernel
from prism.social.network import CONTEXTS, Network
from prism.social.people.population import build_population
from prism.social.posts.post import NO_POST, Post, drawn_about
from prism.social.state import NUMBERS_MAX
from prism.social.tables import BASE, END, FIRST
from prism.social.world import SocialWave
from tests.catalogue import catalogue
from tests.plain import plain_config
from tests.social.acts import (
    Cascade,
    cascades_of,
    columns_of,
    like,
    network_of,
    opened,
    post_id,
    posts_of,
    publish,
    reply,
    reshare,
    roots_of,
    view_of,
)
from tests.social.driver import SMALL, Run
from tests.social.people import persona, view
from tests.social.scalar_feed import feed_for, pool_of, roots_in

ADA, BO, CY, DI = range(4)
TIES = [(BO, ADA), (CY, ADA), (DI, BO)]  # Bo and Cy follow Ada, Di follows Bo


def network(**feed: Any) -> Network:
    people = [persona(name=name, interests=("tea",)) for name in ("Ada", "Bo", "Cy", "Di")]
    return network_of(people, TIES, **{"algorithm": "chronological", "out_of_network": 0.0, **feed})


def test_a_reply_goes_to_the_author_of_the_post_and_a_reshare_to_the_followers_of_who_shares_it() -> None:
    net = network()
    post = publish(net, ADA, 0)
    assert [feed_for(net, person, 1) for person in (ADA, BO, CY, DI)] == [[], [post.id], [post.id], []]
    reply(net, CY, post.id, 2)
    reshare(net, BO, post.id, 3)
    assert [feed_for(net, person, 5) for person in (ADA, DI)] == [[post_id(CY, 0)], [post_id(BO, 0)]]


def test_a_view_shows_a_post_as_this_person_sees_it() -> None:
    net = network()
    post = publish(net, ADA, 3)
    like(net, BO, post.id, 4)
    reply(net, BO, post.id, 5)
    net.state.t.people["shown"][BO], net.state.t.people["left"][BO] = 5, 2
    seen = view_of(net, BO, post.id, 13)
    assert (seen.id, seen.author, seen.author_name, seen.text) == (post.id, ADA, "Ada", net.text(post))
    assert (seen.age_ticks, seen.likes, seen.replies, seen.reshares) == (10, 1, 1, 0)
    assert (seen.velocity, seen.popularity, seen.topic_match) == pytest.approx((2.0, 2 / 12, 1.0))
    assert (seen.followed, seen.fatigue) == (True, 0.4)


def test_a_post_older_than_the_horizon_is_forgotten_and_stays_so() -> None:
    net = network(horizon_rounds=2)
    old, new = publish(net, ADA, 9), publish(net, ADA, 10)
    net.retire(30)
    assert list(posts_of(net)) == [new.id]
    assert net.post(old.id) is None
    assert feed_for(net, BO, 30) == [new.id]
    like(net, BO, old.id, 30)
    reply(net, BO, old.id, 30)
    reshare(net, BO, old.id, 30)
    assert net.counts == {"posts": 2, "likes": 0, "replies": 0, "reshares": 0}


def test_a_fork_may_keep_less_than_was_kept_and_has_room_for_what_came_before() -> None:
    net = network(memory=40, size=9)
    for tick in range(40):
        publish(net, ADA, tick)
    feed_for(net, CY, 40)
    small: dict[str, Any] = {"memory": 2, "size": 1, "pool": 1, "out_of_network": 1.0, "horizon_rounds": 2}
    fork, columns = network(**small), Columns(columns_of(net))
    fork.restore(columns)
    assert columns.unread == []
    assert fork.state.ring("timeline").of(BO) == [*range(40)]
    assert feed_for(fork, CY, 41) == []
    fork.use(FeedConfig(**{**small, "algorithm": "chronological", "out_of_network": 0.0}), RelevanceConfig())
    assert feed_for(fork, BO, 41) == [39]
    publish(fork, ADA, 42)
    assert fork.state.ring("timeline").of(BO) == [39, 40]


def test_every_effect_that_took_place_leaves_an_event_and_no_other_does() -> None:
    net = network(horizon_rounds=2)
    post = publish(net, ADA, 0)
    reshare(net, BO, post.id, 1)
    reply(net, DI, post_id(BO, 0), 2)
    like(net, CY, post.id, 3)
    made = [event for tick, each in enumerate(net.happened) for event in events_in(tick, each)]
    net.retire(30)
    like(net, CY, post.id, 30)
    reply(net, CY, post.id, 30)
    reshare(net, CY, post.id, 30)
    assert [event for tick, each in enumerate(net.happened) for event in events_in(tick, each)] == made
    assert made == [
        PostEvent(0, ADA, "publish", post.id, None, ("tea",)),
        PostEvent(1, BO, "reshare", post_id(BO, 0), post.id),
        PostEvent(2, DI, "reply", post_id(DI, 0), post_id(BO, 0)),
        PostEvent(3, CY, "like", post.id),
    ]


def crowd(people: int = 40, **feed: Any) -> Network:
    personas = [persona(interests=("tea", "rail")[: 1 + number % 2]) for number in range(people)]
    return network_of(personas, [(number + 1, number) for number in range(people - 1)], **feed)


@catalogue("seed", [1])
def test_the_table_says_of_each_living_post_what_was_done_to_it_while_the_old_are_forgotten(seed: int) -> None:
    random, net = Random(seed), crowd(horizon_rounds=2)
    made: list[int] = []
    children: dict[int, list[Post]] = {}
    likes: dict[int, int] = {}
    for tick in range(50):
        if tick % 10 == 0:
            net.retire(tick)
            made = [each for each in made if net.post(each)]
        for _ in range(random.choice((0, 3, 30))):
            person, post = random.randrange(40), random.choice(made or [0])
            what = random.choice(("publish", "publish", "like", "reply", "reshare"))
            if what == "publish":
                new = publish(net, person, tick, random.choice(("", "Night trains are back.")))
                made.append(new.id)
                assert net.post(new.id) == new
            elif made and what == "like":
                like(net, person, post, tick)
                likes[post] = likes.get(post, 0) + 1
            elif made:
                {"reply": reply, "reshare": reshare}[what](net, person, post, tick)
                child = [*net.living][-1]
                assert (child.parent, child.author, child.created, child.kind) == (post, person, tick, what)
                assert child.topics == posts_of(net)[post].topics
                children.setdefault(post, []).append(child)
                made.append(child.id)
        living = net.living
        assert [post.id for post in living] == made
        numbers = np.arange(living.first, living.end)
        assert living.ids(numbers).tolist() == made
        assert living.numbers(np.array([*made, post_id(39, 9999)])).tolist() == [*numbers, NO_POST]
        for each in living:
            below = children.get(each.id, ())
            assert each.likes + each.replies + each.reshares == likes.get(each.id, 0) + len(below)
            assert each.root in cascades_of(net)
            assert all((child.depth, child.root) == (each.depth + 1, each.root) for child in below)
        assert living.get(living.first - 1) is living.get(living.end) is None
    assert net.living.first > 0


def test_a_run_that_can_number_no_more_posts_says_what_to_change() -> None:
    net = crowd()
    net.state.t.counts.posts[[FIRST, BASE, END]] = NUMBERS_MAX - 1
    assert publish(net, 1, 7).id == post_id(1, 0)
    with pytest.raises(PrismError, match=r"limit of 2,147,483,647 posts; .*from 8 on .*population\.posts_per_session"):
        publish(net, 1, 8)


def test_a_person_can_make_no_more_posts_than_their_ids_can_tell_apart() -> None:
    net = crowd()
    net.state.t.people["made"][3] = (1 << NUMBER_BITS) - 1
    post = publish(net, 3, 0)
    for react in (reply, reshare):
        with pytest.raises(ValueError, match="person 3 has made 16,777,216 posts"):
            react(net, 3, post.id, 1)
    assert [each.id for each in net.living] == [post.id]


def engage(net: Network, cascades: Ints, tick: int) -> None:
    """Engage cascades, by number, as a like of each does."""
    rows = net.state.cascade_rows(cascades)
    net.state.t.cascades["touched"][rows] = tick
    net.state.t.cascades["engagements"][rows] += 1


@catalogue("seed", range(3))
def test_the_table_of_cascades_says_what_a_plain_dictionary_says(seed: int) -> None:
    random, net, count = Random(seed), network_of([persona()] * 2, []), 0
    plain: dict[int, Cascade] = {}
    every = random.choice((3, 50))
    for tick in range(100):
        for _ in range(random.choice((0, 3, 12))):
            publish(net, ADA, tick)
            plain[count] = Cascade(root=count, touched=tick)
            count += 1
        lasting = [root for root in plain if root % every == 0]
        engage(net, np.array(lasting, dtype=np.int64), tick)
        liked = random.choices([*plain] or [0], k=3 if plain else 0)
        for root in liked:
            like(net, BO, root, tick)
        for root in [*lasting, *liked]:
            plain[root] = plain[root]._replace(touched=tick, engagements=plain[root].engagements + 1)
        net.cascades.retire(tick - 10)
        plain = {root: cascade for root, cascade in plain.items() if cascade.touched >= tick - 10}
        assert [*cascades_of(net).values()] == [*plain.values()]
        expected = [root if root in plain else NO_POST for root in range(count)]
        assert roots_of(net, [-1, *range(count), count]) == [NO_POST, *expected, NO_POST]
        assert {*net.cascades.sizes()} <= {1}
        assert sum(net.cascades.sizes().values()) == count
    assert count > len(plain) > len(lasting) > 1
    again = network_of([persona()] * 2, [])
    again.cascades.restore(Columns(net.cascades.columns()))
    assert cascades_of(again) == cascades_of(net)
    assert roots_of(again, [*range(count)]) == expected
    assert again.cascades.totals() == net.cascades.totals()


def test_the_table_is_at_most_twice_as_long_as_the_living_cascades_in_a_long_run() -> None:
    random, net, number = Random(4), network_of([persona()] * 2, []), 0
    ends: dict[int, float] = {}
    for tick in range(600):
        for _ in range(5):
            publish(net, ADA, tick)
            ends[number] = tick + random.paretovariate(0.7)  # a few last for very long
            number += 1
        ends = {root: end for root, end in ends.items() if end > tick}
        if tick % 5 == 0:
            engage(net, np.array([*ends], dtype=np.int64), tick)
        net.cascades.retire(tick - 10)
        assert net.cascades.length <= 2 * len(cascades_of(net))
    assert roots_of(net, [*ends]) == [*ends]
    assert sum(net.cascades.sizes().values()) == number


def test_a_horizon_that_people_cannot_remember_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"feed\.horizon_rounds: .*would remember 70,070 cascades.* 65,535 at most"):
        strangers(2, size=70, horizon_rounds=1000)


def test_a_run_of_more_ticks_than_records_have_room_for_is_refused() -> None:
    config = plain_config(simulation=SimulationConfig(rounds=10**9, tick_seconds=1.0))
    with pytest.raises(ConfigError, match=r"simulation\.rounds: the run has 24,000,000,000 ticks: .* 1,073,741,824"):
        SocialDomain(config, build_population(config.population, 1))


def strangers(people: int, **feed: Any) -> Network:
    """Return a network of people of whom nobody follows anybody, and whose feeds have room for the whole sample."""
    settings = {"out_of_network": 1.0, "algorithm": "chronological", "size": 20, "pool": 20, **feed}
    return network_of([persona()] * people, [], ticks=24, **settings)


@catalogue("recent", [30, 100])
def test_a_reader_is_shown_the_sample_that_the_definition_gives_whatever_has_been_forgotten(recent: int) -> None:
    net, random = strangers(60, recent=recent, horizon_rounds=2), Random(4)
    shown = Counter[int]()
    for tick in range(240):
        if tick % 24 == 0:
            net.retire(tick)
        for author in random.sample(range(40), random.choice((0, 1, 12))):
            publish(net, author, tick)
        reader = 40 + tick % 20
        pool = net.living.ids(np.array(pool_of(net, reader, tick), dtype=np.int64)).tolist()
        expected = {*pool} - {*roots_in(net, "seen", reader)}
        assert {*opened(net, reader, tick)} == expected
        shown.update(expected)
    assert len(shown) > 500


# The same seed in two conditions is a matched pair: what does not follow from the difference is the same in both


def test_a_draw_is_of_the_person_the_original_and_the_time_in_view() -> None:
    seen = view(origin=77, viewed_ticks=2)
    drawn = drawn_about(seen, 1, 4, 500, Draw.CHOICE)
    assert drawn == uniform(1, 4, 2, Draw.CHOICE, 77)
    others = [
        drawn_about(view(origin=78, viewed_ticks=2), 1, 4, 500, Draw.CHOICE),
        drawn_about(view(origin=77, viewed_ticks=3), 1, 4, 500, Draw.CHOICE),
        drawn_about(seen, 1, 5, 500, Draw.CHOICE),
        drawn_about(seen, 1, 4, 500, Draw.INTENTION),
        drawn_about(None, 1, 4, 500, Draw.CHOICE),
    ]
    assert len({drawn, *others}) == 6


def test_a_post_from_outside_leaves_the_draws_about_all_others_alone() -> None:
    plain, changed = Run().world.network, Run().world.network
    given: Any = {"author": 3, "text": "The bridge is closed.", "topics": ["politics"]}
    changed.publish_from_outside(3, 5, msgspec.convert(given, PublishConfig))
    posts = publish(plain, 3, 5), publish(changed, 3, 5)
    assert posts[0].id != posts[1].id
    assert posts[0].origin == posts[1].origin
    assert view_of(plain, 8, posts[0].id, 6).appeal == view_of(changed, 8, posts[1].id, 6).appeal


def test_a_further_original_changes_at_most_one_post_of_a_pool() -> None:
    feed = msgspec.structs.replace(SMALL.feed, pool=10)
    plain, changed = (Run(msgspec.structs.replace(SMALL, feed=feed)).world.network for _ in range(2))
    for tick in range(30):
        for author in range(20):
            if (author, tick) != (7, 12):
                publish(plain, author, tick)
            publish(changed, author, tick)
    for reader in range(20, 60):
        pools = [
            {post.origin for each in pool_of(network, reader, 31) if (post := network.living.get(each))}
            for network in (plain, changed)
        ]
        assert len(pools[0] ^ pools[1]) <= 2
        assert len(pools[0]) == 10


# Views and triggers as bytes of a kernel, beside msgspec's of the same objects


encode = msgspec.msgpack.encode


def written(put: Any, *given: Any) -> bytes:
    out = np.zeros(400, dtype=np.uint8)
    return out[: put(out, 0, *given)].tobytes()


@given(st.floats())
def test_a_float_is_as_msgpack_has_it(number: float) -> None:
    assert written(view_kernel.put_float, number) == written(view_kernel._bits_one_by_one, number) == encode(number)


def test_triggers_of_a_run_are_as_msgpack_has_them_and_their_views_are_the_columns() -> None:
    domain, views = Run().domain, 0
    world, network = domain.world, domain.world.network
    for tick in range(90):
        wave = world.triggers(tick)
        assert isinstance(wave, SocialWave)
        sent = wave.encoded()
        assert sent is not None
        content, ends = sent
        assert [content[start:end] for start, end in pairwise([0, *ends])] == [*map(encode, wave)]
        seen = [trigger.context for trigger in wave if trigger.context is not None]
        looking = np.array([trigger.agent for trigger in wave if trigger.context is not None], dtype=np.int64)
        columns = network.words.in_columns(tick, network.see(looking, tick))
        assert [CONTEXTS.at(columns, place) for place in range(len(seen))] == seen
        found, expected = (
            [each.tolist() if isinstance(each, np.ndarray) else each.values() for each in those]
            for those in (columns, CONTEXTS.values(seen))
        )
        assert found == expected
        views += len(seen)
        for trigger in wave:
            answer = turn(domain.chart, domain.agent(trigger.agent), trigger, ask=False)
            assert isinstance(answer, Update)
            world.apply(answer)
        world.take_rows()
    assert views > 100
