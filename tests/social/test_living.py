from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

from prism.config import FeedConfig
from prism.errors import PostLimitError
from prism.social.network import Network
from prism.social.people.population import Population
from prism.social.posts.post import NO_POST, NUMBER_BITS, Post, post_id
from prism.social.state import NUMBERS_MAX
from prism.social.tables import BASE, END, FIRST, MADE
from prism.social.ties.graph import FollowGraph
from tests.catalogue import catalogue
from tests.social.people import persona


def network(people: int = 40, **feed: Any) -> Network:
    personas = tuple(persona(interests=("tea", "rail")[: 1 + number % 2]) for number in range(people))
    graph = FollowGraph(people, [*range(1, people)], [*range(people - 1)])
    return Network(Population(personas=personas, graph=graph), FeedConfig(**feed), seed=1, ticks_per_round=10)


@catalogue("seed", range(2))
def test_the_table_says_of_each_living_post_what_was_done_to_it_while_the_old_are_forgotten(seed: int) -> None:
    random, net = Random(seed), network(horizon_rounds=2)
    made: list[int] = []
    children: dict[int, list[Post]] = {}
    likes: dict[int, int] = {}
    for tick in range(50):
        if tick % 10 == 0:
            net.retire(tick)
            made = [each for each in made if net.post(each) is not None]
        for _ in range(random.choice((0, 3, 30))):
            person, post = random.randrange(40), random.choice(made or [0])
            what = random.choice(("publish", "publish", "like", "reply", "reshare"))
            if what == "publish":
                new = net.publish(person, tick, random.choice(("", "Night trains are back.")))
                made.append(new.id)
                assert net.post(new.id) == new
            elif made and what == "like":
                net.like(person, post, tick)
                likes[post] = likes.get(post, 0) + 1
            elif made:
                getattr(net, what)(person, post, tick)
                child = [*net.living][-1]
                assert (child.parent, child.author, child.created, child.kind) == (post, person, tick, what)
                children.setdefault(post, []).append(child)
                made.append(child.id)
        living = net.living
        assert [post.id for post in living] == made
        numbers = np.arange(living.first, living.end)
        assert living.ids(numbers).tolist() == made
        assert living.numbers(np.array([*made, post_id(39, 9999)])).tolist() == [*numbers, NO_POST]
        for each in living:
            below = children.get(each.id, ())
            assert each.engagements == likes.get(each.id, 0) + len(below)
            assert each.root in net.cascades
            assert all((child.depth, child.root) == (each.depth + 1, each.root) for child in below)
        assert living.get(living.first - 1) is living.get(living.end) is None
    assert net.living.first > 0


def test_a_run_that_can_number_no_more_posts_says_what_to_change() -> None:
    net = network()
    net.state.t.counts.posts[[FIRST, BASE, END]] = NUMBERS_MAX - 1
    assert net.publish(1, 7).id == post_id(1, 0)
    with pytest.raises(PostLimitError, match=r"limit of 2,147,483,647 posts; .*population\.posts_per_session") as ended:
        net.publish(1, 8)
    assert (ended.value.limit, ended.value.tick) == (NUMBERS_MAX, 8)


def test_a_person_can_make_no_more_posts_than_their_ids_can_tell_apart() -> None:
    net = network()
    net.state.t.people[3, MADE] = (1 << NUMBER_BITS) - 1
    post = net.publish(3, 0)
    for act in (net.reply, net.reshare):
        with pytest.raises(ValueError, match="person 3 has made 16,777,216 posts"):
            act(3, post.id, 1)
    assert [each.id for each in net.living] == [post.id]
