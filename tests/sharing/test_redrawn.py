"""Judgements drawn anew: they hold what audits say, and their spread holds what audits leave open."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pytest

from prism.columns import Floats
from prism.sharing import Judged
from prism.sharing.records import Fields
from prism.sharing.redrawn import Drawn, Possible
from tests.tiers import Size

Shares = tuple[float, ...]
KIND = ("reading", "decides", "like", "reply", "scroll")
FIELDS = Fields(("post.group", "agent.age"), {"post.group", "agent.age"}, {"post.group"})


def judged(agent: int, archetype: int, own: Shares, shared: Shares = (), age: float = 0.0) -> Judged:
    key, chance = (*KIND, archetype), 0.1 if shared else 1.0
    return Judged(agent, agent, "decides", own, key, (f"group {archetype}", age), shared, chance=chance)


def told(drawn: Drawn, agent: int, archetype: int, age: float = 0.0) -> Shares:
    """Return what a person was told."""
    found = drawn.judgement(agent, KIND, (archetype,), (f"group {archetype}", age))
    assert found is not None
    assert not found.is_counted
    return found.probabilities


def mean_told(judgements: Sequence[Judged], archetype: int, draws: int = 8) -> Floats:
    """Return what people of an archetype were told in the mean of some draws."""
    drawn = [Drawn(Possible(judgements, FIELDS, seed=1), draw) for draw in range(draws)]
    found: Floats = np.mean([told(each, agent, archetype) for each in drawn for agent in range(20)], axis=0)
    return found


def test_where_all_audits_agree_everybody_is_told_what_was_shared() -> None:
    first = [(0.2, 0.1, 0.7), (0.6, 0.3, 0.1), (0.4, 0.0, 0.6)]
    asked = [judged(at, at, first[at]) for at in range(3)]
    possible = Possible(
        [*asked, *(judged(10 + at, at % 2, first[at % 2], first[at % 2]) for at in range(8))], FIELDS, 1
    )
    for archetype, own in enumerate(first):
        assert told(Drawn(possible, archetype), 7, archetype) == pytest.approx(own, abs=1e-6)


def test_what_audits_are_off_by_moves_archetypes_without_any_and_own_audits_count_more() -> None:
    first, own = (0.3, 0.2, 0.5), (0.5, 0.2, 0.3)
    found = [judged(at, at, first) for at in range(6)]
    found += [judged(10 + at, at % 5, own, first) for at in range(10)]
    assert mean_told(found, archetype=5) == pytest.approx(own, abs=0.05)
    assert mean_told(found, archetype=0) == pytest.approx(own, abs=0.05)
    found += [judged(100 + at, 5, first, first) for at in range(40)]
    assert mean_told(found, archetype=5) == pytest.approx(first, abs=0.05)
    assert mean_told(found, archetype=0) == pytest.approx(own, abs=0.05)


def test_questions_without_an_audit_stay_as_they_were_shared_and_unknown_ones_have_no_judgement() -> None:
    drawn = Drawn(Possible([judged(0, 0, (0.2, 0.1, 0.7))], FIELDS, seed=1), 0)
    assert told(drawn, 5, 0) == pytest.approx((0.2, 0.1, 0.7))
    assert drawn.judgement(5, ("resting", *KIND[1:]), (0,), ("group 0", 0.0)) is None


class Person(NamedTuple):
    """Somebody who shared, and what this person would have been told."""

    agent: int
    archetype: int
    age: float
    own: Floats


class Law:
    """People of archetypes of unequal sizes, each of whom would be told something else.

    Args:
        noise: the standard deviation of what belongs to a person alone, in log-odds; by_age: the weight of age.
    """

    def __init__(self, seed: int, noise: float = 0.3, by_age: float = 0.3) -> None:
        random = np.random.default_rng(seed)
        self.first: list[Shares] = []
        self.judged: list[Judged] = []
        self.shared: list[Person] = []
        agent = 0
        for archetype in range(12):
            size = 2 + 100 // (archetype + 1)
            utilities = np.array([0.0, -0.7, 0.4]) + 0.5 * random.standard_normal(3)
            ages = random.standard_normal(size)
            own = np.exp(
                utilities + by_age * np.outer(ages, [1.0, -1.0, 0.0]) + noise * random.standard_normal((size, 3))
            )
            own /= own.sum(axis=1, keepdims=True)
            first = tuple(own[0].tolist())
            self.first.append(first)
            self.judged.append(judged(agent, archetype, first, age=float(ages[0])))
            for place, audited in enumerate(random.random(size - 1) < 0.15, start=1):
                age = float(ages[place])
                if audited:
                    self.judged.append(judged(agent + place, archetype, tuple(own[place].tolist()), first, age))
                else:
                    self.shared.append(Person(agent + place, archetype, age, own[place]))
            agent += size

    def held(self, seed: int) -> int:
        """Return for how many options the least and the greatest of 39 draws hold what everybody would be told."""
        possible, truth = Possible(self.judged, FIELDS, seed), np.mean([each.own for each in self.shared], axis=0)
        drawn = [Drawn(possible, draw) for draw in range(39)]
        means = [np.mean([told(draw, *each[:3]) for each in self.shared], axis=0) for draw in drawn]
        return int(((np.min(means, axis=0) <= truth) & (truth <= np.max(means, axis=0))).sum())


@pytest.mark.slow
def test_draws_hold_what_everybody_would_be_told_as_often_as_they_should(size: Size) -> None:
    laws = size(150, everyday=2)
    held = sum(Law(seed).held(seed) for seed in range(laws))
    assert held >= 0.86 * 3 * laws - 1
