"""The number of archetypes that very many questions have, foretold by those of a few."""

from __future__ import annotations

from collections import Counter

import pytest

from actors.runs.forecast import archetypes_of_all
from prism.rng import uniform
from tests.catalogue import catalogue


@catalogue("few", [500, 2000])
@catalogue(("kinds", "power"), [(30, 1.0), (3000, 2.5), (30_000, 4.0)])
def test_archetypes_of_many_questions_are_foretold_by_those_of_a_few(kinds: int, power: float, few: int) -> None:
    drawn = [int(kinds * uniform(1, number, 0, 0) ** power) for number in range(40_000)]
    foretold = archetypes_of_all(Counter(drawn[:few]), len(drawn))
    assert 0.9 < foretold / len({*drawn}) < 8


def test_what_has_been_seen_whole_is_not_foretold() -> None:
    assert archetypes_of_all(Counter(), 100.0) == 0.0
    assert archetypes_of_all(Counter("abca"), 4.0) == 3
    assert archetypes_of_all(Counter("aaaabbbbcccc"), 1000.0) == pytest.approx(3, rel=0.6)
    assert archetypes_of_all(Counter("abc"), 5.0) <= 5
