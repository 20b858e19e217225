from __future__ import annotations

from random import Random

import numpy as np
import pytest

from prism.errors import PostLimitError
from prism.social.cascade import Cascades
from prism.social.living import NUMBERS_MAX, LivingPosts
from prism.social.post import NO_POST, Post


def original(number: int, tick: int, author: int) -> Post:
    return Post(
        id=number, author=author, text="", topics=(f"topic {number % 3}",), created=tick, root=number, origin=number * 7
    )


@pytest.mark.parametrize("seed", range(20))
def test_columns_say_of_each_living_post_what_it_says_while_the_old_are_forgotten(seed: int) -> None:
    random, cascades = Random(seed), Cascades()
    living, made = LivingPosts(cascades), list[Post]()
    for tick in range(60):
        for _ in range(random.choice((0, 5, 40, 400))):
            post = original(len(made), tick, random.randrange(2**29))
            cascades.started(post)
            assert living.add(post) == len(made)
            made.append(post)
        gone = living.forget(tick - random.choice((2, 8, 20)))
        assert gone == made[living.first - len(gone) : living.first]
        numbers = np.arange(living.first, living.end)
        expected = made[living.first :]
        assert list(living) == expected
        assert living.ids(numbers).tolist() == [post.id for post in expected]
        assert living.authors(numbers).tolist() == [post.author for post in expected]
        assert living.created(numbers).tolist() == [post.created for post in expected]
        assert living.origins(numbers).tolist() == [post.origin for post in expected]
        assert living.cascades(numbers).tolist() == [cascades.number(post.root) for post in expected]
        assert [living.topics[code] for code in living.topic_codes(numbers)] == [post.topics for post in expected]
        assert sorted(living.places(numbers).tolist()) == list(range(len(numbers)))
        assert living.at_places(living.places(numbers)).tolist() == numbers.tolist()
        asked = np.array([living.first - 1, living.first, living.end])
        assert living.numbers(asked).tolist() == [NO_POST, living.first if expected else NO_POST, NO_POST]
    assert living.first > 0


def test_columns_are_whole_numbers_of_64_bits_so_that_sums_of_them_do_not_overflow() -> None:
    cascades = Cascades()
    living = LivingPosts(cascades)
    post = original(0, 3, 2**29 - 1)
    cascades.started(post)
    living.add(post)
    one = np.array([0])
    columns = (living.authors, living.created, living.origins, living.cascades, living.topic_codes, living.places)
    assert {column(one).dtype for column in columns} == {np.dtype(np.int64)}
    assert cascades.engagements(one).dtype == np.int64


def test_a_run_that_can_number_no_more_posts_says_what_to_change() -> None:
    living = LivingPosts(Cascades())
    living.first = NUMBERS_MAX - 1
    assert living.add(original(0, 7, 1)) == NUMBERS_MAX - 1
    with pytest.raises(PostLimitError, match=r"limit of 2,147,483,647 posts; .*population\.posts_per_session") as ended:
        living.add(original(1, 8, 1))
    assert (ended.value.limit, ended.value.tick) == (NUMBERS_MAX, 8)
