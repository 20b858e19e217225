from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.columns import Floats
from prism.scorecard import Matching
from prism.scorecard.matched import distance

VALUES = st.lists(st.integers(0, 9), min_size=1, max_size=30)


def floats(*values: float) -> Floats:
    return np.array(values, dtype=np.float64)


def brute_distance(one: list[int], other: list[int]) -> float:
    below = [[sum(value <= point for value in each) / len(each) for each in (one, other)] for point in range(10)]
    return max(abs(first - second) for first, second in below)


@given(VALUES, VALUES)
def test_the_distance_is_the_largest_gap_of_the_two_shares(one: list[int], other: list[int]) -> None:
    found = distance(floats(*one), np.ones(len(one)), floats(*other), np.ones(len(other)))
    assert found == pytest.approx(brute_distance(one, other))


def test_cascades_of_one_law_are_close_and_those_of_another_are_not() -> None:
    random = np.random.default_rng(3)
    sizes, real_sizes = random.lognormal(5, 0.5, size=300), random.lognormal(5.5, 0.7, size=1500)
    noise, real_noise = random.normal(size=300), random.normal(size=1500)
    matching = Matching(sizes, real_sizes)
    same = matching.compare(np.log(sizes) + noise, np.log(real_sizes) + real_noise)
    other = matching.compare(np.log(sizes) + noise + 1.0, np.log(real_sizes) + real_noise)
    assert same.matched > 250
    assert same.distance < 0.12
    assert same.simulated_low < same.simulated < same.simulated_high
    assert other.distance == pytest.approx(0.36, abs=0.1)  # a shift by s of a normal law of deviation 1.1 or so
    assert other.distance_low > same.distance


def test_a_cascade_with_fewer_than_ten_real_ones_of_its_size_is_left_out() -> None:
    matching = Matching(floats(60, 200), np.array([60.0] * 9 + [200.0] * 10))
    assert matching.kept.tolist() == [1]
    found = matching.compare(floats(1, 2), np.arange(19.0))
    assert found.neighbours == 10
    assert found.effective == pytest.approx(10.0)


def test_the_interval_of_a_distance_is_as_much_wider_for_few_authors_as_student_is_than_the_normal_curve() -> None:
    random = np.random.default_rng(8)
    authors, real = np.repeat(np.arange(10), 20), random.normal(size=500)
    values = 1.0 + random.normal(size=200)
    one, other = (Matching(np.full(200, 50.0), np.full(500, 50.0), authors) for _ in range(2))
    found = one.compare(values, real)
    resampled = [distance(values, each, real, other.real_weights(each)) for each in (other.drawn() for _ in range(400))]
    low, high = np.percentile(resampled, (2.5, 97.5))
    assert (found.distance_high - found.distance_low) / (high - low) == pytest.approx(
        2.262 / 1.960 * (10 / 9) ** 0.5, rel=0.001
    )
