from __future__ import annotations

from typing import Any

import pytest

from prism.columns import Columns
from prism.config import FeedConfig, RelevanceConfig
from prism.events import PostEvent
from prism.social.network import Network
from prism.social.people.population import Population
from prism.social.posts.cascade import Cascade
from prism.social.posts.post import Post, PostKind, author_of, post_id
from prism.social.tables import LEFT, SHOWN
from prism.social.ties.graph import FollowGraph
from tests.catalogue import catalogue
from tests.social.cascade_edges import CascadeEdge, edges
from tests.social.in_view import columns_of, view_of
from tests.social.people import persona
from tests.social.scalar_feed import feed_for

ADA, BO, CY, DI = range(4)
TIES = [(BO, ADA), (CY, ADA), (DI, BO)]
"""Bo and Cy follow Ada, Di follows Bo."""


def network(**feed: Any) -> Network:
    personas = tuple(persona(name=name, interests=("tea",)) for name in ("Ada", "Bo", "Cy", "Di"))
    graph = FollowGraph(4, [tie[0] for tie in TIES], [tie[1] for tie in TIES])
    settings = FeedConfig(**{"algorithm": "chronological", "out_of_network": 0.0, **feed})
    return Network(Population(personas=personas, graph=graph), settings, seed=1, ticks_per_round=10)


def now(net: Network, post: Post) -> Post:
    """Return a post as it is now."""
    return net.posts[post.id]


def test_an_original_is_about_an_interest_and_starts_a_cascade() -> None:
    net = network()
    post = net.publish(ADA, 3)
    assert (post.author, post.created, post.kind, post.topics) == (ADA, 3, PostKind.ORIGINAL, ("tea",))
    assert (post.root, post.parent, post.depth) == (post.id, None, 0)
    assert not post.text
    assert net.text(post)
    assert net.cascades[post.id] == Cascade(root=post.id, touched=3)
    assert net.counts == {"posts": 1, "likes": 0, "replies": 0, "reshares": 0}


def test_a_post_reaches_the_authors_followers_and_nobody_else() -> None:
    net = network()
    post = net.publish(ADA, 0)
    assert [feed_for(net, person, 1) for person in (ADA, BO, CY, DI)] == [[], [post.id], [post.id], []]


def test_a_like_counts_on_the_post_and_on_its_cascade_and_leaves_no_edge() -> None:
    net = network()
    post = net.publish(ADA, 0)
    net.like(BO, post.id, 4)
    assert (now(net, post).likes, now(net, post).engagements) == (1, 1)
    assert net.cascades[post.id] == Cascade(root=post.id, touched=4, engagements=1)
    assert (net.counts["likes"], list(edges(net))) == (1, [])


def test_a_reply_joins_the_cascade_and_reaches_the_author_of_the_post() -> None:
    net = network()
    post = net.publish(ADA, 0)
    net.reply(BO, post.id, 4)
    (edge,) = edges(net)
    assert edge == CascadeEdge(tick=4, root=post.id, parent=post.id, child=edge.child, kind=PostKind.REPLY)
    reply = net.posts[edge.child]
    assert (reply.author, reply.depth, reply.topics) == (BO, 1, post.topics)
    assert (now(net, post).replies, net.cascades[post.id].posts, net.counts["replies"]) == (1, 2, 1)
    assert [feed_for(net, person, 5) for person in (ADA, DI)] == [[reply.id], []]


def test_an_answer_to_oneself_takes_no_place_in_ones_timeline() -> None:
    net = network(memory=1)
    post = net.publish(ADA, 0)
    net.reply(BO, post.id, 1)
    net.reply(ADA, post.id, 2)
    assert now(net, post).replies == 2
    assert [net.posts[shown].author for shown in feed_for(net, ADA, 3)] == [BO]


def test_a_reshare_joins_the_cascade_and_reaches_the_followers_of_whoever_passed_it_on() -> None:
    net = network()
    post = net.publish(ADA, 0)
    net.reshare(BO, post.id, 4)
    (edge,) = edges(net)
    assert edge == CascadeEdge(tick=4, root=post.id, parent=post.id, child=edge.child, kind=PostKind.RESHARE)
    assert (now(net, post).reshares, net.cascades[post.id].posts, net.counts["reshares"]) == (1, 2, 1)
    assert [feed_for(net, person, 5) for person in (ADA, DI)] == [[], [edge.child]]


def test_the_pool_offers_strangers_only_so_a_full_timeline_keeps_what_it_dropped() -> None:
    net = network(memory=1, out_of_network=1.0, size=3, fill="borrow")
    for tick in range(3):
        net.publish(ADA, tick)
    assert (feed_for(net, BO, 5), feed_for(net, DI, 5)) == ([2], [2, 1, 0])


@catalogue(("reader", "settings"), [(BO, {"memory": 50}), (DI, {"memory": 1, "out_of_network": 1.0, "size": 3})])
def test_nobody_is_shown_a_cascade_twice(reader: int, settings: dict[str, Any]) -> None:
    net = network(**settings)
    for tick in range(3):
        net.publish(ADA, tick)
    feeds = [feed_for(net, reader, tick) for tick in (5, 15, 25)]
    assert feeds == [[2, 1, 0], [], []]


def test_a_reshare_of_a_cascade_one_has_seen_is_not_shown_again() -> None:
    net = network()
    for tick in range(3):
        net.publish(ADA, tick)
    assert feed_for(net, BO, 5) == [2, 1, 0]
    net.reshare(BO, 0, 26)
    assert feed_for(net, DI, 27) != []
    assert feed_for(net, BO, 28) == []


def test_strangers_fill_their_share_of_a_feed() -> None:
    net = network(out_of_network=0.5, size=2)
    net.publish(ADA, 0)
    ada = net.publish(ADA, 1)
    cy = net.publish(CY, 2)
    assert feed_for(net, BO, 3) == [cy.id, ada.id]


def test_a_timeline_keeps_the_newest_posts() -> None:
    net = network(memory=2, size=5)
    for tick in range(5):
        net.publish(ADA, tick)
    assert feed_for(net, BO, 6) == [4, 3]


def test_a_view_shows_a_post_as_this_person_sees_it() -> None:
    net = network()
    post = net.publish(ADA, 3)
    net.like(BO, post.id, 4)
    net.reply(BO, post.id, 5)
    net.state.t.people[BO, [SHOWN, LEFT]] = 5, 2
    seen = view_of(net, BO, post.id, 13)
    assert seen is not None
    assert (seen.id, seen.author, seen.author_name, seen.text) == (post.id, ADA, "Ada", net.text(post))
    assert (seen.age_ticks, seen.likes, seen.replies, seen.reshares) == (10, 1, 1, 0)
    assert (seen.velocity, seen.popularity, seen.topic_match) == pytest.approx((2.0, 2 / 12, 1.0))
    assert (seen.followed, seen.fatigue) == (True, 0.4)


def test_taste_is_of_the_person_and_the_cascade_and_does_not_change() -> None:
    net = network()
    root = net.publish(ADA, 0)
    net.reshare(BO, root.id, 1)
    reshare = post_id(BO, 0)
    seen = ((DI, root.id, 2), (DI, reshare, 9), (CY, root.id, 2))
    views = [view_of(net, person, post, tick) for person, post, tick in seen]
    tastes = [seen.appeal for seen in views if seen is not None]
    assert tastes[0] == tastes[1] != tastes[2]
    assert all(0.0 <= taste < 1.0 for taste in tastes)


def test_a_post_older_than_the_horizon_is_forgotten_and_stays_so() -> None:
    net = network(horizon_rounds=2)
    old, new = net.publish(ADA, 9), net.publish(ADA, 10)
    net.retire(30)
    assert list(net.posts) == [new.id]
    assert view_of(net, BO, old.id, 30) is None
    assert feed_for(net, BO, 30) == [new.id]
    net.like(BO, old.id, 30)
    net.reply(BO, old.id, 30)
    net.reshare(BO, old.id, 30)
    assert net.counts == {"posts": 2, "likes": 0, "replies": 0, "reshares": 0}


def test_a_cascade_outlives_its_root_while_people_engage_with_it() -> None:
    net = network(horizon_rounds=2)
    root = net.publish(ADA, 0)
    net.reshare(BO, root.id, 9)
    net.retire(20)
    net.reply(DI, post_id(BO, 0), 20)
    net.retire(30)
    assert list(net.posts) == [post_id(DI, 0)]
    assert net.cascades[root.id].posts == 3
    assert view_of(net, BO, post_id(DI, 0), 30) is not None


@pytest.mark.slow
def test_memory_is_bounded_by_the_horizon_however_long_a_run_is() -> None:
    net = network(horizon_rounds=2, memory=10)
    sizes = []
    for tick in range(5000):
        if tick % 10 == 0:
            net.retire(tick)
            sizes.append((len(net.posts), len(net.cascades)))
        net.publish(ADA, tick)
        for shown in feed_for(net, BO, tick):
            net.reply(BO, shown, tick)
    assert max(posts for posts, _ in sizes) <= 2 * 10 * 2
    assert max(cascades for _, cascades in sizes) <= 4 * 10
    assert sizes[10:] == [sizes[10]] * len(sizes[10:])
    assert net.counts["posts"] == 5000 > FeedConfig().recent


def test_a_timeline_keeps_no_posts_that_are_forgotten() -> None:
    net = network(horizon_rounds=2)
    for tick in range(0, 200, 10):
        net.retire(tick)
        net.publish(ADA, tick)
    kept = Columns(columns_of(net)).lists("timelines", int, int)
    assert kept[BO] == list(net.posts)
    assert len(net.posts) == 3


def test_a_post_is_named_by_its_author_and_the_authors_count() -> None:
    net = network()
    first, second, other = net.publish(ADA, 0), net.publish(ADA, 0), net.publish(BO, 0)
    net.reshare(BO, first.id, 1)
    assert [first.id, second.id, other.id] == [post_id(ADA, 0), post_id(ADA, 1), post_id(BO, 0)]
    assert post_id(BO, 1) in net.posts
    assert [author_of(post) for post in net.posts] == [ADA, ADA, BO, BO]


def test_a_fork_may_keep_less_than_was_kept_and_has_room_for_what_came_before() -> None:
    net = network(memory=40, size=9)
    for tick in range(40):
        net.publish(ADA, tick)
    feed_for(net, CY, 40)
    small: dict[str, Any] = {"memory": 2, "size": 1, "pool": 1, "out_of_network": 1.0, "horizon_rounds": 2}
    fork, columns = network(**small), Columns(columns_of(net))
    fork.restore(columns)
    assert columns.unread == []
    assert fork.timelines.of(BO) == [*range(40)]
    assert feed_for(fork, CY, 41) == []
    fork.use(FeedConfig(**{**small, "algorithm": "chronological", "out_of_network": 0.0}), RelevanceConfig())
    assert feed_for(fork, BO, 41) == [39]
    fork.publish(ADA, 42)
    assert fork.timelines.of(BO) == [39, 40]


def test_ids_are_exact_in_a_double_and_never_overflow() -> None:
    largest = post_id(2**29 - 1, 2**24 - 1)
    assert largest == 2**53 - 1 == int(float(largest))
    with pytest.raises(ValueError, match="person 3 has made 16,777,216 posts"):
        post_id(3, 2**24)
    with pytest.raises(ValueError, match="must be from 0 to 536,870,911, got 536,870,912"):
        post_id(2**29, 0)


def test_every_effect_that_took_place_leaves_an_event_and_no_other_does() -> None:
    net = network(horizon_rounds=2)
    post = net.publish(ADA, 0)
    net.reshare(BO, post.id, 1)
    net.reply(DI, post_id(BO, 0), 2)
    net.like(CY, post.id, 3)
    made = [event for each in net.happened for event in each]
    net.retire(30)
    net.like(CY, post.id, 30)
    net.reply(CY, post.id, 30)
    net.reshare(CY, post.id, 30)
    assert (
        [event for each in net.happened for event in each]
        == made
        == [
            PostEvent(0, ADA, "publish", post.id, None, ("tea",)),
            PostEvent(1, BO, "reshare", post_id(BO, 0), post.id),
            PostEvent(2, DI, "reply", post_id(DI, 0), post_id(BO, 0)),
            PostEvent(3, CY, "like", post.id),
        ]
    )
