"""The distance of a run from data, worked out by hand, and the parts of the data."""

import math

import pytest

from prism.calibration.calibration_file import Target
from prism.calibration.comparison import Comparer, Observed, holdout_targets, parted
from prism.experiment.design import Range
from prism.scorecard.cascades import Tree

NUMBERS = {
    "posts": Target(measure="posts", value=40.0, tolerance=5.0, source="a panel"),
    "engagement": Target(measure="engagement", value=0.05, tolerance=0.01, source="a panel", holdout=0.04),
}
DEPTH = {"depth": Target(shape="depth")}


def star(leaves: int) -> Tree:
    return Tree((-1, *[0] * leaves), tuple(float(minute) for minute in range(leaves + 1)))


def rows(*depths: float) -> tuple[tuple[float, ...], ...]:
    return tuple((100.0, depth, 0.5, 2.0, 10.0) for depth in depths)


def test_a_deviation_is_in_tolerances_and_of_the_holdout_where_there_is_one() -> None:
    found = Comparer(NUMBERS).deviations(Observed(numbers={"posts": 30.0, "engagement": 0.04}))
    assert found == pytest.approx({"posts": -2.0, "engagement": -1.0})
    out = holdout_targets({**NUMBERS, **DEPTH}, has_cascades=True)
    assert ([*out], out["engagement"].value) == (["engagement", "depth"], 0.04)
    assert [*holdout_targets(DEPTH, has_cascades=False)] == []


def test_a_shape_is_the_largest_gap_of_the_shares_at_equal_sizes_over_its_tolerance() -> None:
    real = rows(*[1, 2, 3, 4] * 3)
    ours = Observed(cascades=(*rows(3, 3, 4, 4, 4, 4), (5000.0, 1.0, 0.5, 2.0, 10.0)))
    # At depth 2 half of the real ones are reached and none of ours; the large cascade has no real one of its size.
    assert Comparer(DEPTH, real).deviations(ours) == {"depth": pytest.approx(0.5 / 0.25)}


def test_sizes_are_compared_from_the_smallest_real_one_on() -> None:
    of_sizes = {"size": Target(shape="size")}
    real = tuple((size, 1.0, 0.5, 2.0, 10.0) for size in (*[100.0] * 6, *[200.0] * 6))
    ours = Observed(cascades=tuple((size, 1.0, 0.5, 2.0, 10.0) for size in (3.0, 50.0, *[100.0] * 5, *[900.0] * 5)))
    comparer = Comparer(of_sizes, real)
    # Of our ten that are as large as real ones half have 100 posts, of the real ones half, too; at 200 all of those.
    assert comparer.deviations(ours) == {"size": pytest.approx(0.5 / 0.25)}
    # Ranks: five of 1/4, in the middle of the real ones of 100 posts, and five above all.
    assert comparer.statistics(ours) == pytest.approx([0.625, 0.375])


def test_runs_on_two_sides_of_the_data_are_apart_although_both_are_as_far_from_it() -> None:
    comparer = Comparer(DEPTH, rows(*[4.0] * 10))
    flat, deep = (Observed(numbers={}, cascades=rows(*[depth] * 5)) for depth in (2.0, 9.0))
    assert comparer.deviations(flat) == comparer.deviations(deep) == {"depth": 4.0}
    assert [comparer.between(deep, other) for other in (flat, deep)] == [4.0, 0.0]


def test_the_holdout_is_chosen_by_the_content_of_each_cascade() -> None:
    trees = [star(leaves) for leaves in range(60, 360)]
    real, turned = parted(trees, 1 / 3), parted(trees[::-1], 1 / 3)
    assert sorted(real.holdout) == sorted(turned.holdout)
    assert len(real.fitted) + len(real.holdout) == 300
    assert abs(len(real.holdout) - 100) < 3 * math.sqrt(300 * 2 / 9)


def test_places_of_a_range_are_values_and_back() -> None:
    log = Range(low=1.0, high=100.0, scale="log")
    assert (log.value_at(0.5), log.place_of(10.0), log.value_at(2.0)) == (10.0, 0.5, 100.0)
    whole = Range(low=2, high=4, whole=True)
    assert [whole.value_at(place) for place in (0.0, 0.32, 0.34, 0.67, 1.0)] == [2, 2, 3, 4, 4]
    assert whole.place_of(3) == 0.5
