"""The same seed in two conditions is a matched pair: what does not follow from the difference is the same in both."""

import asyncio
from typing import Any

import msgspec
import pytest

from prism.config import Config
from prism.config.interventions import PublishConfig
from prism.rng import Draw, uniform
from prism.social.posts.post import drawn_about
from tests.social.acts import publish
from tests.social.driver import SMALL, Run, shown, whole
from tests.social.in_view import view_of
from tests.social.people import view
from tests.social.scalar_feed import pool_of


def condition(config: Config = SMALL, **feed: Any) -> Config:
    return msgspec.structs.replace(config, feed=msgspec.structs.replace(config.feed, **feed))


def with_activity(mean: float) -> Config:
    activity = msgspec.structs.replace(SMALL.population.activity, mean=mean)
    return msgspec.structs.replace(SMALL, population=msgspec.structs.replace(SMALL.population, activity=activity))


def originals(run: Run) -> dict[int, tuple[int, tuple[str, ...]]]:
    """Return `{origin: (author, topics)}` of every original."""
    return {post.origin: (post.author, post.topics) for post in run.world.network.living if post.parent is None}


@pytest.fixture(scope="module")
def pair() -> tuple[Run, Run]:
    """Two whole runs of one seed with different feeds, which tests only look at."""
    people = with_activity(0.765)  # at 0.8, more are back while they still deliberate
    first = asyncio.run(whole(condition(people, algorithm="chronological")))
    return first, asyncio.run(whole(condition(people, algorithm="hot", out_of_network=0.6, attention=0.7)))


@pytest.mark.slow
def test_the_same_originals_are_written(pair: tuple[Run, Run]) -> None:
    first, second = map(originals, pair)
    assert len(first) > 100
    both = first.keys() & second.keys()
    assert len(both) / len(first.keys() | second.keys()) > 0.9  # who still deliberates misses the next round
    assert all(first[origin] == second[origin] for origin in both)


def test_a_reader_has_the_same_taste_for_a_post_in_both(pair: tuple[Run, Run]) -> None:
    first, second = ({(each.agent, each.view.origin): each.view.appeal for each in shown(run)} for run in pair)
    both = first.keys() & second.keys()
    assert len(both) > 300
    assert all(first[key] == second[key] for key in both)


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
    views = [view_of(network, 8, post.id, 6) for network, post in zip((plain, changed), posts, strict=True)]
    assert views[0] is not None
    assert views[1] is not None
    assert views[0].appeal == views[1].appeal


def test_a_further_original_changes_at_most_one_post_of_a_pool() -> None:
    plain, changed = (Run(condition(pool=10)).world.network for _ in range(2))
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
