from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.columns import Floats
from prism.scorecard import Matching
from prism.scorecard.matched import NEIGHBOURS, distance, weighted_median
from prism.scorecard.social import rank_correlation

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


@given(VALUES, st.data())
def test_a_weight_of_three_is_the_value_three_times(values: list[int], data: st.DataObject) -> None:
    weights = data.draw(st.lists(st.integers(1, 3), min_size=len(values), max_size=len(values)))
    repeated = [value for value, weight in zip(values, weights, strict=True) for _ in range(weight)]
    assert weighted_median(floats(*values), floats(*weights)) == sorted(repeated)[(len(repeated) - 1) // 2]
    other = floats(4)
    weighted = distance(floats(*values), floats(*weights), other, np.ones(1))
    assert weighted == pytest.approx(brute_distance(repeated, [4]))


def test_a_cascade_stands_beside_those_within_a_tenth_of_its_size() -> None:
    matching = Matching(floats(100, 10, 1000), np.repeat(floats(1200, 95, 110, 9000, 111, 1001), NEIGHBOURS))
    assert matching.kept.tolist() == [0, 2]
    # 95 and 110 share the weight of 100, and 1001 has that of 1,000: ln(1.11) and ln(1.2) are above a tenth.
    for weights, shared in (((1, 1), [0, 0.5, 0.5, 0, 0, 1]), ((4, 0), [0, 2, 2, 0, 0, 0])):
        by_size = matching.real_weights(floats(*weights)).reshape(-1, NEIGHBOURS).sum(axis=1)
        assert by_size.tolist() == pytest.approx(shared)


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


def test_the_interval_of_a_distance_holds_it_and_reaches_down_where_nothing_differs() -> None:
    random = np.random.default_rng(5)
    reached = 0
    for _ in range(5):
        sizes, real_sizes = np.full(60, 20.0), np.full(300, 20.0)
        found = Matching(sizes, real_sizes).compare(random.normal(size=60), random.normal(size=300))
        assert found.distance_low <= found.distance <= found.distance_high
        reached += found.distance_low < 0.8 * found.distance
    assert reached >= 4  # the percentiles themselves begin near the distance: resamples differ more than the samples


def test_sizes_alone_make_no_difference() -> None:
    """The number depends on the size only. So at equal sizes both sides are equal, though the sizes are not."""
    sizes, real_sizes = np.arange(100.0, 200.0), np.arange(50.0, 800.0)
    matching = Matching(sizes, real_sizes)
    matched = matching.compare(np.log(sizes), np.log(real_sizes))
    unmatched = distance(np.log(sizes), np.ones(len(sizes)), np.log(real_sizes), np.ones(len(real_sizes)))
    assert matched.distance < 0.1
    assert unmatched > 0.6


def test_without_a_cascade_of_any_real_size_there_is_nothing_to_compare() -> None:
    matching = Matching(floats(3, 4), floats(100))
    assert not len(matching)
    with pytest.raises(ValueError, match="no simulated cascade has enough real ones of its size"):
        matching.compare(floats(1, 1), floats(1))


def test_a_cascade_with_fewer_than_ten_real_ones_of_its_size_is_left_out() -> None:
    matching = Matching(floats(60, 200), np.array([60.0] * 9 + [200.0] * 10))
    assert matching.kept.tolist() == [1]
    found = matching.compare(floats(1, 2), np.arange(19.0))
    assert found.neighbours == 10
    assert found.effective == pytest.approx(10.0)


def test_a_real_cascade_that_carries_the_weight_is_told_by_the_effective_number() -> None:
    sizes = np.array([100.0] * 99 + [1000.0])
    real = np.array([100.0] * 10 + [1000.0] * 400)
    found = Matching(sizes, real).compare(sizes, real)
    assert found.neighbours == 410
    assert found.effective == pytest.approx(1 / (10 * 0.099**2 + 400 * (0.01 / 400) ** 2))


def test_cascades_of_one_author_come_and_go_together() -> None:
    """Ten authors with a level each: their 200 cascades tell no more than ten would."""
    random = np.random.default_rng(8)
    authors = np.repeat(np.arange(10), 20)
    levels, real = random.normal(size=10)[authors], random.normal(size=500)
    same = np.full(200, 50.0), np.full(500, 50.0)
    alone, together = (Matching(*same, each).compare(levels, real) for each in (None, authors))
    assert (alone.authors, together.authors) == (200, 10)
    widths = [found.simulated_high - found.simulated_low for found in (alone, together)]
    assert widths[1] > 2.0 * widths[0]
    assert together.distance == alone.distance


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


def test_few_real_cascades_have_halves_that_differ_by_much() -> None:
    random = np.random.default_rng(9)
    few, many = (
        Matching(np.full(400, 50.0), np.full(count, 50.0)).compare(np.zeros(400), random.normal(size=count))
        for count in (20, 4000)
    )
    # Two samples of 10 differ by 0.3 in the median (Massey 1951); 400 of 2,000 and another 2,000 by 0.05.
    assert few.between_halves > 0.25
    assert many.between_halves < 0.08


def test_ranks_of_ties_are_shared() -> None:
    assert rank_correlation(floats(1, 2, 2, 3), floats(10, 20, 20, 90)) == pytest.approx(1.0)
    # Ranks 1, 2.5, 2.5, 4 against 4, 1, 3, 2: covariance -3 / 4, deviations sqrt(4.5 / 4) and sqrt(5 / 4).
    assert rank_correlation(floats(1, 2, 2, 3), floats(9, 1, 5, 2)) == pytest.approx(-0.75 / (1.125 * 1.25) ** 0.5)
    assert rank_correlation(floats(1, 1), floats(1, 2)) == 0.0


def test_a_pair_of_weight_three_counts_three_times() -> None:
    one, other = floats(1, 2, 3, 4, 4), floats(2, 1, 5, 3, 9)
    weights = floats(1, 3, 2, 1, 1)
    repeated = [np.repeat(each, weights.astype(int)) for each in (one, other)]
    assert rank_correlation(one, other, weights) == pytest.approx(rank_correlation(*repeated))
