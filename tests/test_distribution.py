from __future__ import annotations

import numpy as np
import pytest

from prism.distribution import (
    effective_number,
    share_of_at_least,
    size_totals,
    spread_out,
    statistic,
    student,
)

SIZES = {1: 5, 2: 3, 20: 2}


def test_the_standard_deviation_is_that_of_a_sample() -> None:
    assert statistic([1.0, 3.0], "sd") == pytest.approx(2**0.5)
    assert statistic([7.0], "sd") == 0.0


def test_shares_and_totals_are_those_of_the_cascades_one_by_one() -> None:
    assert spread_out(SIZES).tolist() == [1.0] * 5 + [2.0] * 3 + [20.0] * 2
    assert share_of_at_least(SIZES, 2) == 0.5
    assert size_totals({"1": 5, "2": 3, "20": 2}) == {
        "cascade_size_mean": 5.1,
        "cascade_size_median": 1,
        "cascades_alone": 0.5,
        "cascades_at_least_10": 0.2,
    }
    assert set(size_totals({}).values()) == {0}


def test_the_quantile_of_student_is_that_of_tables() -> None:
    tables = {1: 12.7062, 2: 4.3027, 4: 2.7764, 9: 2.2622, 30: 2.0423, 1e9: 1.96}
    assert [student(freedom) for freedom in tables] == pytest.approx([*tables.values()], rel=0.0005)
    assert 12.7 > student(1.5) > 4.31


def test_equal_weights_count_in_full_and_a_large_one_makes_the_others_count_little() -> None:
    assert effective_number(np.ones(5)) == 5.0
    assert effective_number(np.array([1.0, 0.0, 0.0])) == 1.0
    assert effective_number(np.array([3.0, 1.0])) == 1.6
