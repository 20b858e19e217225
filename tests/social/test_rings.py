"""Rings keep the latest few numbers of every person, in whatever order and number these come."""

from __future__ import annotations

import random

import numpy as np

from prism.social.rings import Rings


def test_numbers_that_come_at_once_are_kept_as_those_that_come_one_by_one() -> None:
    draw = random.Random(1)  # a test
    for _ in range(50):
        size, depth = draw.randint(1, 6), draw.randint(0, 5)
        at_once, one_by_one = Rings(size, depth), Rings(size, depth)
        kept: list[list[int]] = [[] for _ in range(size)]
        for wave in range(6):
            if wave == 3:
                at_once.depth = one_by_one.depth = depth = draw.randint(1, 8)
            people = [draw.randrange(size) for _ in range(draw.randint(0, 30))]
            numbers = sorted(draw.randrange(1000) for _ in people)
            at_once.add(np.array(people, dtype=np.int64), np.array(numbers, dtype=np.int64))
            for person, number in zip(people, numbers, strict=True):
                one_by_one.add(np.array([person]), np.array([number]))
                kept[person] = [*kept[person], number][-depth:] if depth else []
            touched = sorted(set(people))
            assert [at_once.of(person) for person in touched] == [kept[person] for person in touched]
            assert [one_by_one.of(person) for person in range(size)] == [at_once.of(person) for person in range(size)]
