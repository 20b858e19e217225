"""The plan: how many of each kind, a sample of exact size, and estimates without bias whose intervals hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.studies.causes.sample import sample, shares, total
from tests.tiers import Size


def effects_like_those_of_a_cascade(size: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return effects, most of which are 0 and few large, and weights that tell a part of them."""
    draws = np.random.default_rng(seed)
    told = draws.pareto(1.5, size)
    effects = np.round(told * draws.normal(1.0, 0.5, size)) * (draws.random(size) < 0.4)
    return effects, told + told.mean()


@given(st.lists(st.integers(0, 500), min_size=1, max_size=4), st.integers(1, 1000))
def test_a_budget_is_used_as_far_as_there_are_candidates(counts: list[int], budget: int) -> None:
    found = shares(counts, budget)
    assert sum(found) == min(budget, sum(counts))
    assert all(0 <= one <= count for one, count in zip(found, counts, strict=True))


@given(
    st.lists(st.floats(0.001, 1000.0), min_size=1, max_size=60),
    st.integers(0, 60),
    st.integers(0, 2**31),
    st.integers(0, 3),
)
def test_a_sample_has_exactly_its_size_and_nobody_twice(
    weights: list[float], number: int, seed: int, purpose: int
) -> None:
    number = min(number, len(weights))
    found = sample(np.array(weights), number, seed, purpose)
    assert len(found.chosen) == len(found.chances) == number
    assert (np.diff(found.chosen) > 0).all()
    assert ((found.chances > 0) & (found.chances <= 1)).all()


def test_estimates_are_without_bias_and_their_intervals_hold_the_truth(size: Size) -> None:
    samples = size(4000, everyday=400)
    effects, weights = effects_like_those_of_a_cascade(300, 1)
    estimates, held = [], []
    for seed in range(samples):
        chosen = sample(weights, 60, seed, 2)
        found = total(effects[chosen.chosen], chosen.chances)
        estimates.append(found.total)
        assert found.low is not None
        assert found.high is not None
        held.append(found.low <= effects.sum() <= found.high)
    error = float(np.std(estimates)) / samples**0.5
    assert np.mean(estimates) == pytest.approx(effects.sum(), abs=4 * error)
    assert np.mean(held) >= 0.95 - 3 * (0.95 * 0.05 / samples) ** 0.5


def test_a_sample_in_which_hardly_anything_has_an_effect_has_no_interval() -> None:
    assert total(np.array([5.0, 3.0, 0.0]), np.array([1.0, 0.5, 0.5])) == (11.0, None, None)
