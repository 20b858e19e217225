from __future__ import annotations

import math
from collections.abc import Callable
from random import Random

import numpy as np
import pytest
from msgspec.structs import replace

from prism.social.cascade import Cascade, Cascades, CascadeSize
from prism.social.post import NO_POST, Post, PostKind
from tests.social.cascade_edges import CascadeEdge, edge_of


def post(number: int, *, created: int = 0, parent: Post | None = None) -> Post:
    return Post(
        id=number,
        author=number,
        text="",
        topics=(),
        created=created,
        root=number if parent is None else parent.root,
        parent=None if parent is None else parent.id,
        depth=0 if parent is None else parent.depth + 1,
        kind=PostKind.ORIGINAL if parent is None else PostKind.REPLY,
    )


def engage(cascades: Cascades, root: int, tick: int) -> int:
    number = cascades.number(root)
    cascades.engaged(np.array([number]), tick)
    return number


def grow(cascades: Cascades, child: Post) -> None:
    engage(cascades, child.root, child.created)
    cascades.grown(child)


def test_an_original_is_a_cascade_of_one_post() -> None:
    cascades = Cascades()
    cascades.started(post(4, created=9))
    assert cascades[4] == Cascade(root=4, touched=9, posts=1, depth=0, engagements=0)
    assert (4 in cascades, 5 in cascades, len(cascades)) == (True, False, 1)


def test_nothing_that_grew_is_the_largest_cascade_at_first() -> None:
    cascades = Cascades()
    cascades.started(post(4))
    assert (cascades.largest, cascades.deepest, cascades.branched) == (CascadeSize(-1, 0, 0), 0, 0)


def test_a_like_engages_a_cascade_and_does_not_grow_it() -> None:
    cascades = Cascades()
    cascades.started(post(4))
    assert engage(cascades, 4, 12) == 0
    assert cascades[4] == Cascade(root=4, touched=12, posts=1, depth=0, engagements=1)


def test_a_chain_grows_deep_and_a_star_grows_wide() -> None:
    cascades, root = Cascades(), post(0)
    cascades.started(root)
    child = post(1, parent=root, created=1)
    grandchild = post(2, parent=child, created=2)
    for grown in (child, grandchild, post(3, parent=root, created=3)):
        grow(cascades, grown)
    assert cascades[0] == Cascade(root=0, touched=3, posts=4, depth=2, engagements=3)
    assert (cascades.largest, cascades.deepest, cascades.branched) == (CascadeSize(0, 4, 2), 2, 1)


def test_more_posts_make_a_larger_cascade_then_more_depth() -> None:
    cascades = Cascades()
    roots = [post(number) for number in (0, 10)]
    for root in roots:
        cascades.started(root)
    first, second = (post(root.id + 1, parent=root) for root in roots)
    grow(cascades, first)
    grow(cascades, second)
    assert cascades.largest.root == 0
    grow(cascades, post(2, parent=roots[0]))
    grow(cascades, post(12, parent=second))
    assert cascades.largest == CascadeSize(10, 3, 2)


def test_a_cascade_untouched_since_before_a_tick_is_forgotten_and_its_size_is_not() -> None:
    cascades, old, new = Cascades(), post(0, created=0), post(1, created=5)
    cascades.started(old)
    cascades.started(new)
    grow(cascades, post(2, parent=old, created=4))
    cascades.retire(5)
    assert (0 in cascades, 1 in cascades) == (False, True)
    assert cascades.largest == CascadeSize(0, 2, 1)


def test_columns_of_forgotten_cascades_are_dropped_and_numbers_stay() -> None:
    cascades = Cascades()
    for number in range(10):
        cascades.started(post(100 + number, created=number))
    engage(cascades, 101, 20)
    cascades.retire(8)
    assert [cascade.root for cascade in cascades] == [101, 108, 109]
    roots = cascades.roots()
    assert roots(np.array([0, 1, 7, 8, 9])).tolist() == [NO_POST, 101, NO_POST, 108, 109]
    cascades.retire(9)
    engage(cascades, 109, 21)
    cascades.retire(21)
    assert [cascades.number(root) for root in (101, 108, 109)] == [NO_POST, NO_POST, 9]
    assert cascades.roots()(np.array([0, 1, 8, 9])).tolist() == [NO_POST, NO_POST, NO_POST, 109]
    cascades.started(post(110, created=22))
    engage(cascades, 110, 23)
    assert (cascades.number(110), cascades.engagements(np.array([10, 9])).tolist()) == (10, [1, 1])
    cascades.retire(30)
    assert (len(cascades), cascades.sizes()) == (0, {1: 11})
    cascades.started(post(111))
    assert (cascades.number(111), cascades[111]) == (11, Cascade(root=111, touched=0))


@pytest.mark.parametrize("seed", range(30))
def test_columns_of_cascades_say_what_a_plain_dictionary_says(seed: int) -> None:
    random, cascades = Random(seed), Cascades()
    plain: dict[int, Cascade] = {}
    numbers: dict[int, int] = {}
    every = random.choice((3, 50))
    for tick in range(120):
        for _ in range(random.choice((0, 3, 20))):
            root = 1000 + len(numbers)
            numbers[root] = len(numbers)
            cascades.started(post(root, created=tick))
            plain[root] = Cascade(root=root, touched=tick)
        lasting = [root for root in plain if numbers[root] % every == 0]
        touched = [*lasting, *random.choices([*plain] or [0], k=5 if plain else 0)]
        cascades.engaged(np.array([numbers[root] for root in touched], dtype=np.int64), tick)
        for root in touched:
            plain[root] = replace(plain[root], touched=tick, engagements=plain[root].engagements + 1)
        cascades.retire(tick - 10)
        plain = {root: cascade for root, cascade in plain.items() if cascade.touched >= tick - 10}
        assert list(cascades) == list(plain.values())
        assert [cascades.engagements_of(root) for root in plain] == [each.engagements for each in plain.values()]
        living = np.array([numbers[root] for root in plain], dtype=np.int64)
        assert cascades.engagements(living).tolist() == [cascade.engagements for cascade in plain.values()]
        asked = np.array([-1, *numbers.values(), len(numbers)])
        expected = [root if root in plain else NO_POST for root in numbers]
        assert cascades.roots()(asked).tolist() == [NO_POST, *expected, NO_POST]
        assert cascades.numbers(np.array([0, *plain])).tolist() == [NO_POST, *living.tolist()]
    assert len(numbers) > len(plain) > len(lasting) > 1


LIFETIMES: dict[str, Callable[[int, Random], float]] = {
    "every 50th lasts": lambda number, _: 0 if number % 50 else math.inf,
    "every 200th lasts": lambda number, _: 0 if number % 200 else math.inf,
    "the first 500 last": lambda number, _: math.inf if number < 500 else 0,
    "random": lambda _, random: random.expovariate(1 / 30),
    "a few for very long": lambda _, random: random.paretovariate(0.7),
    "all are short": lambda _, __: 0,
    "all last": lambda _, __: math.inf,
}
"""Ticks for which the cascade of a number is engaged."""


@pytest.mark.everyday(2)
@pytest.mark.parametrize("name", LIFETIMES)
def test_columns_are_at_most_twice_as_long_as_the_living_cascades_in_a_long_run(name: str) -> None:
    random, cascades, number = Random(4), Cascades(), 0
    ends: dict[int, float] = {}
    for tick in range(2000):
        for _ in range(5):
            cascades.started(post(number, created=tick))
            ends[number] = tick + LIFETIMES[name](number, random)
            number += 1
        ends = {root: end for root, end in ends.items() if end > tick}
        if tick % 5 == 0:
            for root in ends:
                engage(cascades, root, tick)
        cascades.retire(tick - 10)
        assert cascades.length <= 2 * len(cascades)
    assert [cascades.number(root) for root in ends] == [*ends]
    assert sum(cascades.sizes().values()) == number


@pytest.mark.parametrize("kind", [PostKind.REPLY, PostKind.RESHARE])
def test_an_edge_says_who_answers_whom_in_which_tree(kind: PostKind) -> None:
    child = Post(id=7, author=1, text="", topics=(), created=3, root=2, parent=5, depth=2, kind=kind)
    assert edge_of(child) == CascadeEdge(tick=3, root=2, parent=5, child=7, kind=kind)


def test_an_original_adds_no_edge() -> None:
    assert edge_of(post(1)) is None
