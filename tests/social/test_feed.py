from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.config import FeedConfig
from prism.rng import Draw, uniform
from prism.social.network import Network
from prism.social.people.population import Population
from prism.social.posts.post import Post
from prism.social.tables import LIKES
from prism.social.ties.graph import FollowGraph
from tests.catalogue import catalogue
from tests.social.in_view import view_of
from tests.social.people import persona
from tests.social.scalar_feed import SCORES, Candidate, Reader, build_feed, topic_match

READER = Reader(
    seed=1,
    agent=3,
    tick=50,
    round_start=48,
    interests=("tea", "rail"),
    freshness=12.0,
    popularity_weight=0.5,
    popularity_half=10.0,
)


def post(number: int, *, created: int = 0, root: int | None = None, topics: tuple[str, ...] = ()) -> Post:
    root = number if root is None else root
    return Post(id=number, author=9, text="", topics=topics, created=created, root=root, origin=root)


def candidate(number: int, engagements: int = 0, **fields: Any) -> Candidate:
    return Candidate(post(number, **fields), engagements)


def feed(
    inside: list[Candidate],
    outside: list[Candidate] | None = None,
    quota: tuple[int, int] = (3, 0),
    algorithm: str = "chronological",
    *,
    borrow: bool = False,
) -> list[int]:
    return build_feed(algorithm, READER, inside, outside or [], quota, borrow=borrow).posts


CANDIDATES = st.lists(
    st.builds(
        lambda number, engagements, created, root: candidate(
            number, engagements, created=created, root=number if root is None else root, topics=("tea",) * (number % 2)
        ),
        st.integers(0, 40),
        st.integers(0, 3),
        st.integers(0, 3),
        st.none() | st.integers(0, 10),
    ),
    max_size=25,
    unique_by=lambda found: found.post.id,
)


def test_chronological_scores_by_the_tick_of_the_post() -> None:
    assert SCORES["chronological"](READER, post(1, created=17), 99) == 17.0


@catalogue(
    ("engagements", "created", "score"),
    [(0, 0, 0.0), (1, 0, 0.0), (10, 0, 1.0), (100, 0, 2.0), (0, 12, 1.0), (1000, 36, 6.0), (2, 6, math.log10(2) + 0.5)],
)
def test_hot_adds_the_logarithm_of_engagements_and_half_rounds(engagements: int, created: int, score: float) -> None:
    assert SCORES["hot"](READER, post(1, created=created), engagements) == pytest.approx(score)


@catalogue(
    ("topics", "engagements", "score"),
    [
        ((), 0, 0.0),
        (("tea",), 0, 1.0),
        (("tea", "war"), 0, 0.5),
        (("war",), 10, 0.25),
        (("tea",), 30, 1.375),
    ],
)
def test_interest_adds_the_topic_match_and_half_the_popularity(
    topics: tuple[str, ...], engagements: int, score: float
) -> None:
    assert SCORES["interest"](READER, post(1, topics=topics), engagements) == pytest.approx(score)


def test_random_is_a_draw_of_the_reader_the_tick_and_the_post() -> None:
    assert SCORES["random"](
        READER, Post(id=5, author=9, text="", topics=(), created=0, root=5, origin=77), 99
    ) == uniform(1, 3, 48, Draw.FEED_ORDER, 77)


@catalogue(("topics", "share"), [((), 0.0), (("tea",), 1.0), (("war",), 0.0), (("tea", "war", "rail", "art"), 0.5)])
def test_a_topic_match_is_a_share_of_the_posts_topics(topics: tuple[str, ...], share: float) -> None:
    assert topic_match(("tea", "rail"), topics) == share


@catalogue(("age", "engagements", "velocity"), [(0, 6, 6.0), (24, 6, 6.0), (48, 6, 3.0), (240, 5, 0.5), (48, 0, 0.0)])
def test_velocity_is_engagements_a_round_of_a_life_of_at_least_one(age: int, engagements: int, velocity: float) -> None:
    people = Population(personas=(persona(), persona()), graph=FollowGraph(2, [], []))
    network = Network(people, FeedConfig(), seed=1, ticks_per_round=24)
    made = network.publish(0, 100)
    network.state.t.posts[0, LIKES] = engagements
    seen = view_of(network, 1, made.id, 100 + age)
    assert seen is not None
    assert seen.velocity == pytest.approx(velocity)


def test_equal_scores_go_to_the_newer_post_then_to_the_higher_id() -> None:
    old, new, newest = candidate(8, created=1), candidate(2, created=4), candidate(3, created=4)
    assert feed([old, new, newest], algorithm="interest") == [3, 2, 8]


def test_what_strangers_cannot_fill_people_one_follows_do_if_they_may() -> None:
    inside = [candidate(number, created=number) for number in range(5)]
    assert feed(inside, [candidate(9, created=9)], (2, 2), borrow=True) == [9, 4, 3, 2]
    assert feed(inside, [candidate(9, created=9)], (2, 2)) == [9, 4, 3]


def test_what_people_one_follows_cannot_fill_strangers_do_if_they_may() -> None:
    outside = [candidate(number, created=number) for number in range(10, 15)]
    assert feed([candidate(1, created=1)], outside, (3, 1), borrow=True) == [14, 13, 12, 1]
    assert feed([candidate(1, created=1)], outside, (3, 1)) == [14, 1]


def test_the_two_sides_are_mixed_by_score() -> None:
    assert feed([candidate(1, created=1), candidate(3, created=3)], [candidate(2, created=2)], (2, 1)) == [3, 2, 1]


def test_a_cascade_shown_from_people_one_follows_is_not_shown_from_strangers_too() -> None:
    assert feed([candidate(5, created=1, root=0)], [candidate(0, created=9)], (1, 1)) == [5]


def test_a_candidate_sampled_twice_is_shown_once() -> None:
    assert feed([], [candidate(1), candidate(1)], (1, 1), borrow=True) == [1]


def test_two_readers_get_random_feeds_of_their_own() -> None:
    found = [candidate(number) for number in range(20)]
    feeds = [build_feed("random", READER._replace(agent=agent), found, [], (20, 0)).posts for agent in (1, 2)]
    assert feeds[0] != feeds[1]
    assert sorted(feeds[0]) == sorted(feeds[1])


@given(st.sampled_from(sorted(SCORES)), CANDIDATES, CANDIDATES, st.integers(0, 6), st.integers(0, 6), st.randoms())
def test_a_feed_does_not_depend_on_the_order_of_its_candidates(
    algorithm: str, inside: list[Candidate], outside: list[Candidate], first: int, second: int, shuffler: Any
) -> None:
    expected = build_feed(algorithm, READER, inside, outside, (first, second))
    shuffler.shuffle(inside)
    shuffler.shuffle(outside)
    assert build_feed(algorithm, READER, inside, outside, (first, second)) == expected


@given(st.sampled_from(sorted(SCORES)), CANDIDATES, CANDIDATES, st.integers(0, 6), st.integers(0, 6))
def test_a_feed_that_borrows_is_as_long_as_it_can_be_and_shows_no_cascade_twice(
    algorithm: str, inside: list[Candidate], outside: list[Candidate], first: int, second: int
) -> None:
    shown = build_feed(algorithm, READER, inside, outside, (first, second), borrow=True).posts
    root_of = {found.post.id: found.post.root for found in [*outside, *inside]}
    roots = [root_of[number] for number in shown]
    cascades = {found.post.root for found in [*inside, *outside]}
    assert len(shown) == min(first + second, len(cascades))
    if {found.post.id for found in inside}.isdisjoint(found.post.id for found in outside):
        assert len(set(roots)) == len(roots)


@given(st.sampled_from(sorted(SCORES)), CANDIDATES, CANDIDATES, st.integers(0, 6), st.integers(0, 6))
def test_a_strict_feed_keeps_to_both_quotas(
    algorithm: str, inside: list[Candidate], outside: list[Candidate], first: int, second: int
) -> None:
    built = build_feed(algorithm, READER, inside, outside, (first, second))
    roots = {found.post.root for found in inside}
    strangers = {found.post.root for found in outside} - roots
    assert built.in_network == min(first, len(roots))
    assert built.out_of_network == min(second, len(strangers))
    assert len(built.posts) == built.in_network + built.out_of_network
