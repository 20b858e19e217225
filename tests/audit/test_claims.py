"""Verdicts on claims, and the small model of choices that carries a shift to them."""

from typing import Any

import numpy as np
import pytest

from prism.audit.choices import Recorded, fitted, tilted
from prism.audit.record import Claim, combined, verdict_on
from prism.audit.shift import Estimate
from tests.catalogue import catalogue

EFFECT: dict[str, Any] = {"claim": "hot > chronological", "measure": "likes", "kind": "difference", "effect": 10.0}


@catalogue(
    ("given", "effect", "low", "high", "verdict"),
    [
        ({}, 9.0, 2.0, 16.0, "survives"),
        ({}, 3.0, 1.0, 5.0, "weakens"),
        ({}, 0.5, -2.0, 3.0, "weakens"),
        ({}, -6.0, -9.0, -3.0, "turns"),
        ({}, 4.0, -5.0, 13.0, "cannot tell"),
        ({"effect": -10.0}, -9.0, -16.0, -2.0, "survives"),
        ({"effect": -10.0}, 6.0, 3.0, 9.0, "turns"),
        ({"kind": "equivalence", "margin": 2.0, "effect": 0.1}, 0.5, -1.0, 1.9, "survives"),
        ({"kind": "equivalence", "margin": 2.0, "effect": 0.1}, 4.0, 2.5, 6.0, "turns"),
        ({"kind": "equivalence", "margin": 2.0, "effect": 0.1}, 1.5, -0.5, 3.5, "cannot tell"),
        ({"kind": "measure"}, 10.5, 9.0, 11.5, "survives"),
        ({"kind": "measure"}, 15.0, 12.5, 17.0, "weakens"),
        ({"kind": "measure"}, 12.0, 9.0, 15.0, "cannot tell"),
    ],
)
def test_a_verdict_follows_from_the_interval(
    given: dict[str, Any], effect: float, low: float, high: float, verdict: str
) -> None:
    assert verdict_on(Claim(**{**EFFECT, **given}), Estimate(value=effect, low=low, high=high)) == verdict


def test_both_errors_count_and_several_ways_widen_the_interval() -> None:
    seeds, moved = [9.0, 10.0, 11.0, 10.0], [1.0, -1.0, 0.5, -0.5]
    alone, both, among = combined(seeds, []), combined(seeds, moved), combined(seeds, moved, ways=5)
    reach = [(each.high or 0.0) - each.value for each in (alone, both, among)]
    assert alone.value == both.value == 10.0
    assert reach == sorted(reach)
    assert combined([3.0], []) == Estimate(value=3.0, low=3.0, high=3.0)


def recorded(random: np.random.Generator, count: int = 4000) -> Recorded:
    seen = random.normal(size=count)
    values = np.column_stack([np.zeros(count), -0.5 + 1.2 * seen, -1.5 - 0.4 * seen])
    weights = np.exp(values)
    chosen = (random.random((count, 1)) > (weights / weights.sum(axis=1, keepdims=True)).cumsum(axis=1)).sum(axis=1)
    return Recorded(
        ("scroll", "like", "reply"), np.zeros((count, 3)), np.minimum(chosen, 2), seen[:, None], np.ones(count)
    )


def test_the_model_of_choices_finds_what_choices_depend_on() -> None:
    model = fitted(recorded(np.random.default_rng(5)))
    for seen in (-1.0, 0.0, 1.0):
        weights = np.exp([0.0, -0.5 + 1.2 * seen, -1.5 - 0.4 * seen])
        assert model.probabilities(("scroll", "like", "reply"), [seen]) == pytest.approx(
            weights / weights.sum(), abs=0.04
        )
    some = model.probabilities(("like", "scroll"), [0.0])
    assert sum(some) == pytest.approx(1.0)


def test_a_tilted_model_has_the_shift_of_the_sample_and_none_without_a_shift() -> None:
    random = np.random.default_rng(5)
    known = recorded(random)
    model, rows = fitted(known), np.arange(300)
    shift = np.tile([-0.2, 0.15, 0.05], (300, 1))

    def shares(of: Any) -> Any:
        return np.mean([of.probabilities(known.options, each) for each in known.features[:500]], axis=0)

    moved = tilted(model, known, rows, shift)
    assert shares(moved) - shares(model) == pytest.approx([-0.2, 0.15, 0.05], abs=0.03)
    same = tilted(model, known, rows, np.zeros((300, 3)))
    assert shares(same) == pytest.approx(shares(model), abs=1e-3)
