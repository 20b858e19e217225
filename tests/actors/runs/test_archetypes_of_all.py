"""The number of archetypes that very many questions have, foretold by those of a few."""

from __future__ import annotations

from collections import Counter

from actors.runs.forecast import archetypes_of_all
from prism.rng import uniform


def test_archetypes_of_many_questions_are_estimated_from_a_few() -> None:
    for few, kinds, power in ((500, 30, 1.0), (500, 3000, 2.5), (2000, 30_000, 4.0)):
        drawn = [int(kinds * uniform(1, number, 0, 0) ** power) for number in range(40_000)]
        assert 0.9 < archetypes_of_all(Counter(drawn[:few]), len(drawn)) / len({*drawn}) < 8
    assert archetypes_of_all(Counter(), 100.0) == 0.0
    assert archetypes_of_all(Counter("abca"), 4.0) == 3
    assert archetypes_of_all(Counter("abc"), 5.0) <= 5
