"""The same seed in two conditions is a matched pair: what does not follow from the difference is the same in both."""

from typing import Any

import msgspec

from prism.config import Config
from prism.config.interventions import PublishConfig
from prism.rng import Draw, uniform
from prism.social.posts.post import drawn_about
from tests.social.acts import publish, view_of
from tests.social.driver import SMALL, Run
from tests.social.people import view
from tests.social.scalar_feed import pool_of


def condition(config: Config = SMALL, **feed: Any) -> Config:
    return msgspec.structs.replace(config, feed=msgspec.structs.replace(config.feed, **feed))


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
